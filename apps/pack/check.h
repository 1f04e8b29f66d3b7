/* tutti-pack --check: reads a shard completely. */
#ifndef TUTTI_PACK_CHECK_H
#define TUTTI_PACK_CHECK_H

#include "dag/base/status.h"

/* Prints a line about a shard (tar, .rec or .idx) in which nothing is wrong. Otherwise FORMAT or IO
 * (logged), with the file, the offset and what is wrong. [M] */
tutti_status tutti_pack_check(const char *path);

#endif
