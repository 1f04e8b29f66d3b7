#include "apps/data/bad_images.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

tutti_status tutti_bad_images_add(tutti_bad_images *bad, int64_t image, const char *fault)
{
    for (int64_t i = 0; i < bad->count; i++)
        if (bad->images[i] == image) return TUTTI_OK;
    if (bad->count >= bad->limit)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s; %" PRId64 " damaged images were left out already: repair the data set, or raise "
            "--bad-limit",
            fault, bad->count);
    int64_t *more = realloc(bad->images, ((size_t)bad->count + 1) * sizeof *more);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of damaged images");
    bad->images = more;
    bad->images[bad->count++] = image;
    tutti_log(TUTTI_LOG_WARN, "left out (%" PRId64 " of at most %" PRId64 "): %s", bad->count,
        bad->limit, fault);
    return TUTTI_OK;
}

tutti_status tutti_bad_images_refuse(const char *fault)
{
    return tutti_fail(TUTTI_ERR_FORMAT,
        "%s; repair or remove it, or give --bad-images skip, which leaves such images out", fault);
}

void tutti_bad_images_free(tutti_bad_images *bad)
{
    free(bad->images);
    *bad = (tutti_bad_images){0};
}
