/* The source of a run as a number, so that a run that continues knows whether it is still the same:
 * the names, sizes and times of all files in the folder itself and below its train, val and test.
 */
#ifndef TUTTI_PACK_ORIGIN_H
#define TUTTI_PACK_ORIGIN_H

#include "apps/train/hash.h"
#include "dag/base/status.h"

/* IO (logged) if a folder cannot be listed; NOMEM. [A] */
tutti_status tutti_pack_origin(const char *folder, char text[TUTTI_HASH_TEXT]);

#endif
