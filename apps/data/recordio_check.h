/* Reads a file of recordio.c completely, with its index if there is one: every record, every label,
 * every image, and that the index has each record once. */
#ifndef TUTTI_RECORDIO_CHECK_H
#define TUTTI_RECORDIO_CHECK_H

#include "apps/data/shard_tally.h"

/* index: its path; a file that is not there is not looked at. *indexed: whether it was. FORMAT
 * (logged), with the file, the offset and what is wrong; IO, NOMEM. [A] */
tutti_status tutti_recordio_check(
    const tutti_data_file *file, const char *index, int *indexed, tutti_shard_tally *tally);

#endif
