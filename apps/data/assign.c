#include "apps/data/assign.h"

#include "apps/data/file.h"
#include "apps/data/listed.h"
#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

tutti_status tutti_shard_list(const char *folder, const tutti_names *names, tutti_bytes *list)
{
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < names->count && !status; i++) {
        char head, *path = tutti_path_format("%s/%s", folder, names->names[i]);
        int64_t bytes = path ? tutti_data_file_peek(path, &head, 1) : 0;
        /* a separator below all that names are made of, so that the order stays that of names */
        char *text = tutti_path_format("%s\1%lld", names->names[i], (long long)bytes);
        status = path && text
                     ? tutti_listed_put_text(list, text)
                     : tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to list its shards", folder);
        free(path);
        free(text);
    }
    return status;
}

typedef struct hand {
    tutti_listed left;
    const char *next; /* NULL: no more */
    int64_t assigned;
} hand;

/* The first name that is left on any rank; NULL: none. */
static const char *find_first(const hand hands[], int ranks)
{
    const char *first = NULL;
    for (int r = 0; r < ranks; r++)
        if (hands[r].next && (!first || strcmp(hands[r].next, first) < 0)) first = hands[r].next;
    return first;
}

/* Deals the shard, and moves on all ranks that have it. Returns who gets it. */
static int assign_one(hand hands[], int ranks, const char *shard)
{
    int taker = -1;
    for (int r = 0; r < ranks; r++) {
        if (!hands[r].next || strcmp(hands[r].next, shard) != 0) continue;
        if (taker < 0 || hands[r].assigned < hands[taker].assigned) taker = r;
        hands[r].next = tutti_listed_text(&hands[r].left);
    }
    hands[taker].assigned++;
    return taker;
}

tutti_status tutti_assign_shards(const tutti_bytes list[], int ranks, int rank, tutti_names *names,
    int *without, int64_t *shards)
{
    hand *hands = calloc((size_t)ranks, sizeof *hands);
    if (!hands) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to assign shards to %d ranks", ranks);
    for (int r = 0; r < ranks; r++) {
        const char *begin = (const char *)list[r].bytes;
        hands[r].left = (tutti_listed){begin, begin ? begin + list[r].count : begin};
        hands[r].next = tutti_listed_text(&hands[r].left);
    }
    size_t seen = 0, kept = 0;
    *shards = 0;
    for (const char *shard; (shard = find_first(hands, ranks)); ++*shards) {
        int mine = hands[rank].next && strcmp(hands[rank].next, shard) == 0;
        int taker = assign_one(hands, ranks, shard);
        if (!mine) continue;
        if (taker == rank)
            names->names[kept++] = names->names[seen];
        else
            free(names->names[seen]);
        seen++;
    }
    names->count = kept;
    *without = -1;
    for (int r = ranks - 1; r >= 0; r--)
        if (!hands[r].assigned) *without = r;
    free(hands);
    return TUTTI_OK;
}
