/* Files that are not safetensors: what their first bytes say they are, and what to do. [P] */
#ifndef TUTTI_TRAIN_FOREIGN_H
#define TUTTI_TRAIN_FOREIGN_H

#include <stddef.h>

enum { TUTTI_FOREIGN_BYTES = 64 };

/* "a file of torch.save, ...: convert it ..."; NULL: nothing that is known. At most
 * TUTTI_FOREIGN_BYTES are looked at. */
const char *tutti_foreign_find(const void *first, size_t bytes);

/* What to do with a file of torch.save: as a sentence with the lines of Python that convert it. */
extern const char tutti_foreign_torch[];

#endif
