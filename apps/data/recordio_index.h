/* The index of a record file: a line "KEY<tab>OFFSET" for each record, in the order of images. [A] */
#ifndef TUTTI_RECORDIO_INDEX_H
#define TUTTI_RECORDIO_INDEX_H

#include "dag/base/lines.h"

/* The offset of the next line; -1 at the end of the file. FORMAT (logged). */
tutti_status tutti_recordio_index_next(tutti_lines *lines, int64_t *offset);

#endif
