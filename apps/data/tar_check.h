/* Reads a shard of webdataset.c completely, as somebody does who wants to know whether it is whole:
 * every entry, every label, every image, and what follows the mark of the end. */
#ifndef TUTTI_TAR_CHECK_H
#define TUTTI_TAR_CHECK_H

#include "apps/data/shard_tally.h"

/* FORMAT (logged), with the file, the offset and what is wrong; IO, NOMEM. [A] */
tutti_status tutti_tar_check(const tutti_data_file *file, tutti_shard_tally *tally);

#endif
