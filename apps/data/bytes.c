#include "apps/data/bytes.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

tutti_status tutti_bytes_append(tutti_bytes *to, const void *data, size_t count)
{
    if (count > to->room - to->count) {
        size_t room = 2 * to->room > to->count + count ? 2 * to->room : to->count + count;
        uint8_t *more = realloc(to->bytes, room);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %zu bytes", room);
        to->bytes = more;
        to->room = room;
    }
    if (count && data)
        memcpy(to->bytes + to->count, data, count);
    else if (count)
        memset(to->bytes + to->count, 0, count);
    to->count += count;
    return TUTTI_OK;
}

void tutti_bytes_free(tutti_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (tutti_bytes){0};
}
