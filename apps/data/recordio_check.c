#include "apps/data/recordio_check.h"

#include "apps/data/recordio_index.h"
#include "apps/data/recordio_read.h"
#include "dag/base/log.h"

#include <stdlib.h>

typedef struct place {
    int64_t offset;
    int64_t listed; /* in the index */
} place;

typedef struct places {
    place *list;
    size_t count, room;
} places;

static tutti_status note(places *all, int64_t offset)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 1024;
        place *more = realloc(all->list, room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %zu records", room);
        all->list = more;
        all->room = room;
    }
    all->list[all->count++] = (place){.offset = offset};
    return TUTTI_OK;
}

static int by_offset(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static tutti_status take_line(const tutti_lines *lines, int64_t offset, places *all)
{
    place wanted = {.offset = offset};
    place *at =
        all->count ? bsearch(&wanted, all->list, all->count, sizeof *all->list, by_offset) : NULL;
    if (!at) return tutti_lines_fail(lines, "no record begins at its offset");
    if (at->listed++) return tutti_lines_fail(lines, "its record was listed before");
    return TUTTI_OK;
}

static tutti_status check_index(const tutti_data_file *file, const char *index, places *all)
{
    tutti_lines lines;
    int64_t offset;
    tutti_status status = tutti_lines_open(index, &lines);
    if (status) return status;
    while (!(status = tutti_recordio_index_next(&lines, &offset)) && offset >= 0)
        if ((status = take_line(&lines, offset, all))) break;
    tutti_lines_close(&lines);
    for (size_t i = 0; i < all->count && !status; i++)
        if (!all->list[i].listed)
            status =
                tutti_fail(TUTTI_ERR_FORMAT, "%s: has no line for the record at byte %lld of %s",
                    index, (long long)all->list[i].offset, file->path);
    return status;
}

/* Takes the record at *at, which is moved on. */
static tutti_status take_record(const tutti_data_file *file, int64_t *at, tutti_shard_tally *tally)
{
    tutti_recordio_record record;
    int32_t label = 0;
    int is_image = 0;
    tutti_status status = tutti_recordio_find(file, *at, &record);
    if (!status) status = tutti_recordio_label(file, &record, &label, &is_image);
    if (status) return status;
    *at = record.next;
    tally->others += !is_image;
    if (!is_image) return TUTTI_OK;
    status = tutti_recordio_load(file, &record, &tally->sample);
    return status ? status : tutti_shard_take(tally, file, record.at, label);
}

tutti_status tutti_recordio_check(
    const tutti_data_file *file, const char *index, int *indexed, tutti_shard_tally *tally)
{
    places all = {0};
    char head;
    tutti_status status = TUTTI_OK;
    for (int64_t at = 0; at < file->bytes && !status;) {
        status = note(&all, at);
        if (!status) status = take_record(file, &at, tally);
    }
    *indexed = tutti_data_file_peek(index, &head, 1) >= 0;
    if (!status && *indexed) status = check_index(file, index, &all);
    free(all.list);
    return status;
}
