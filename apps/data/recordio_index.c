#include "apps/data/recordio_index.h"

#include <errno.h>
#include <stdlib.h>

tutti_status tutti_recordio_index_next(tutti_lines *lines, int64_t *offset)
{
    char *line, *rest;
    tutti_status status = tutti_lines_next(lines, &line);
    *offset = -1;
    if (status || !line) return status;
    char *blank = tutti_lines_last_blank(line);
    errno = 0;
    long long at = blank ? strtoll(blank, &rest, 10) : -1;
    if (at < 0 || errno || rest == blank || *rest)
        return tutti_lines_fail(lines,
            "is not a key, a tab and an offset; remove the file, which is not needed to train");
    *offset = at;
    return TUTTI_OK;
}
