#include "apps/train/shards.h"

#include "apps/data/assign.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

static tutti_status call(tutti_trainer *s, const char *name, const tutti_coll_args *args)
{
    return tutti_exchange_call(s->session.exchange, name, args);
}

/* Makes list[] that of every rank; list[rank] is this rank's own already. */
static tutti_status share_lists(tutti_trainer *s, tutti_bytes list[])
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < s->session.placement.ranks && !status; r++) {
        int64_t count = (int64_t)list[r].count;
        status = tutti_exchange_broadcast(
            s->session.exchange, "the size of a rank's list of shards", TUTTI_I64, r, 1, &count);
        if (status) return status;
        if (r != s->session.placement.rank)
            status = tutti_bytes_append(&list[r], NULL, (size_t)count);
        status = tutti_exchange_agree(s->session.exchange, status, NULL);
        if (!status && count)
            status = tutti_exchange_broadcast(
                s->session.exchange, "a rank's list of shards", TUTTI_U8, r, count, list[r].bytes);
    }
    return status;
}

tutti_status tutti_shards_assign(
    void *trainer, tutti_status mine, const char *folder, tutti_names *names)
{
    tutti_trainer *s = trainer;
    const int ranks = s->session.placement.ranks, rank = s->session.placement.rank;
    tutti_bytes *list = calloc((size_t)ranks, sizeof *list);
    int without = -1;
    int64_t shards;
    if (!list) mine = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the lists of %d ranks", ranks);
    if (!mine) mine = tutti_shard_list(folder, names, &list[rank]);
    tutti_status status = tutti_exchange_agree(s->session.exchange, mine, NULL);
    if (!status) status = share_lists(s, list);
    if (!status) status = tutti_assign_shards(list, ranks, rank, names, &without, &shards);
    if (!status && without >= 0)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--shards local: %s: of %" PRId64 " shards on the disks of %d ranks none is left for "
            "rank %d: pack smaller ones (tutti-pack --shard-mb), or use --shards shared",
            folder, shards, ranks, without);
    for (int r = 0; list && r < ranks; r++) tutti_bytes_free(&list[r]);
    free(list);
    return status;
}

tutti_status tutti_shards_add_up(tutti_trainer *s)
{
    int64_t sum[2] = {s->train.count, s->test.count},
            most[3] = {s->train.classes, s->test.classes, -s->train.count};
    tutti_status status = call(s, "the numbers of images",
        &(tutti_coll_args){
            .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I64, .op = TUTTI_SUM, .count = 2, .recv = sum});
    if (!status)
        status = call(s, "the numbers of classes",
            &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
                .dtype = TUTTI_I64,
                .op = TUTTI_MAX,
                .count = 3,
                .recv = most});
    if (status) return status;
    if (most[1] > most[0])
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: an image of val*.tar has label %" PRId64
            ", but train*.tar has only labels up to %" PRId64,
            s->options->data.folder, most[1] - 1, most[0] - 1);
    s->train.classes = s->test.classes = (int)most[0];
    s->train_images = sum[0];
    s->test_images = sum[1];
    s->least_images = -most[2];
    return TUTTI_OK;
}
