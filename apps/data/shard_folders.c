#include "apps/data/shard_folders.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More contradictions than one in this many images: folders are no classes. */
enum { FEW = 4, NAME = 1024 };

tutti_status tutti_shard_folders_add(
    tutti_shard_folders *f, const char *key, int32_t label, int32_t shard, int64_t offset)
{
    char folder[NAME];
    const char *slash = strrchr(key, '/');
    if (!slash) return TUTTI_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - key), key);
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 1024;
        tutti_shard_place *more = realloc(f->list, room * sizeof *more);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %zu images", room);
        f->list = more;
        f->room = room;
    }
    f->list[f->count++] = (tutti_shard_place){tutti_rng_stream(folder), offset, shard, label};
    return TUTTI_OK;
}

static int by_folder(const void *a, const void *b)
{
    const tutti_shard_place *x = a, *y = b;
    if (x->folder != y->folder) return x->folder < y->folder ? -1 : 1;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_label(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The label of most images of the folder that begins at `first`; *end: where the next one begins. */
static int32_t label_of_folder(const tutti_shard_folders *f, size_t first, size_t *end)
{
    const tutti_shard_place *p = f->list;
    size_t at = first, most = 0;
    int32_t label = p[first].label;
    while (at < f->count && p[at].folder == p[first].folder) {
        size_t from = at;
        while (at < f->count && p[at].folder == p[first].folder && p[at].label == p[from].label)
            at++;
        if (at - from > most) label = p[from].label;
        if (at - from > most) most = at - from;
    }
    *end = at;
    return label;
}

/* Whether no two folders have the same label. */
static int are_classes(int32_t *labels, size_t count)
{
    qsort(labels, count, sizeof *labels, by_label);
    for (size_t i = 1; i < count; i++)
        if (labels[i] == labels[i - 1]) return 0;
    return count > 1;
}

int64_t tutti_shard_folders_find(tutti_shard_folders *f, tutti_shard_place *one)
{
    size_t folders = 0, wrong = 0;
    int32_t *labels = calloc(f->count + 1, sizeof *labels);
    if (!labels) return 0; /* only a warning would be lost */
    if (f->count) qsort(f->list, f->count, sizeof *f->list, by_folder);
    for (size_t first = 0, end; first < f->count; first = end) {
        int32_t label = labels[folders++] = label_of_folder(f, first, &end);
        for (size_t i = first; i < end; i++)
            if (f->list[i].label != label && !wrong++) *one = f->list[i];
    }
    int found = wrong * FEW <= f->count && are_classes(labels, folders);
    free(labels);
    return found ? (int64_t)wrong : 0;
}

void tutti_shard_folders_free(tutti_shard_folders *f)
{
    free(f->list);
    *f = (tutti_shard_folders){0};
}
