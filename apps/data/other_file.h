/* What a file is that decode.h cannot read, by its first bytes, and what to do with it. [P] */
#ifndef TUTTI_OTHER_FILE_H
#define TUTTI_OTHER_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The end of a sentence that begins with the file's name: "is a WebP picture; convert it...". NULL:
 * the bytes begin as a JPEG does, which is damaged if it cannot be read. */
const char *tutti_other_file_advice(const uint8_t *bytes, size_t count);

/* Whether the ending of a file's name (without the dot) is that of a picture that cannot be read. */
int tutti_other_file_is_picture(const char *ending);

#endif
