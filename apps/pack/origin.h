/* The source of a run as a number, so that a run that continues knows whether it is still the same:
 * the names, sizes and times of all files in the folder itself and below its train, val and test, or,
 * where each of its folders is a class, below all of them.
 */
#ifndef TUTTI_PACK_ORIGIN_H
#define TUTTI_PACK_ORIGIN_H

#include "apps/train/hash.h"
#include "dag/base/status.h"

/* by_class: each folder in it is a class. IO (logged) if a folder cannot be listed; NOMEM. [A] */
tutti_status tutti_pack_origin(const char *folder, int by_class, char text[TUTTI_HASH_TEXT]);

#endif
