/* Text as JSON, for the files that the library itself writes (apps have a JSON library). [A] */
#ifndef TUTTI_JSON_H
#define TUTTI_JSON_H

#include <stdio.h>

/* "text" with quotes; quotes, backslashes and control characters are escaped, and what is not ASCII
 * becomes '?', so that the file is UTF-8 whatever the text holds. NULL is written as null. */
void tutti_json_string(FILE *out, const char *text);

#endif
