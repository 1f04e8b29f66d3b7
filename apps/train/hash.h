/* 64-bit hash (XXH3, seed 0) of a sequence of memory blocks, as if they were one. [A], one thread
 * per hash. Source: Y. Collet, https://github.com/Cyan4973/xxHash. */
#ifndef TUTTI_TRAIN_HASH_H
#define TUTTI_TRAIN_HASH_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_hash tutti_hash;

enum { TUTTI_HASH_TEXT = 17 }; /* 16 hex digits and the terminator */

tutti_status tutti_hash_new(tutti_hash **hash);
void tutti_hash_add(tutti_hash *hash, const void *data, size_t bytes);
/* The hash of all added blocks, as 16 lower-case hex digits; returns text. */
char *tutti_hash_text(const tutti_hash *hash, char text[TUTTI_HASH_TEXT]);
/* The hash of one block. [P] */
uint64_t tutti_hash_block(const void *data, size_t bytes);
void tutti_hash_free(tutti_hash *hash);

#endif
