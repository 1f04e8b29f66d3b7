#include "apps/train/replica.h"

#include "apps/session/weights.h"
#include "apps/train/hash.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- this rank's hashes ---- */

/* Of the whole list of weights; what another stage has keeps 0, and so does what is
 * divided until hash_blocks. */
typedef struct hashes {
    const tutti_training_session *session;
    uint64_t *hash;
    int next;
} hashes;

static tutti_status hash_tensor(void *ctx, const tutti_tensor *tensor, void *data)
{
    hashes *h = ctx;
    while (tutti_weights_tensor(h->session, h->next) < 0) h->next++;
    h->hash[h->next++] = tutti_hash_block(data, tensor->bytes);
    return TUTTI_OK;
}

/* This rank's blocks of divided tensors. */
static tutti_status hash_blocks(const tutti_training_session *s, int tensors, uint64_t hash[])
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tensors && !status; i++) {
        const int block = tutti_weights_block(s, i);
        void *data;
        if (block < 0) continue;
        const size_t bytes = tutti_graph_get_tensor(s->graph, block)->bytes;
        status = s->runner->acquire(s->run, block, TUTTI_READ, bytes, &data);
        if (status) return status;
        hash[i] = tutti_hash_block(data, bytes);
        s->runner->release(s->run, block);
    }
    return status;
}

/* ---- comparing ---- */

static tutti_status gather(
    const tutti_trainer *s, int64_t count, const uint64_t mine[], uint64_t all[])
{
    return tutti_exchange_call(s->session.exchange, "the weights' hashes",
        &(tutti_coll_args){.kind = TUTTI_ALLGATHER,
            .dtype = TUTTI_I64,
            .count = count,
            .out_of_place = 1,
            .send = mine,
            .recv = all});
}

/* The ranks that are compared: those that are servers and nothing else have other tensors. */
static int compared(const tutti_training_session *session)
{
    return session->placement.working_ranks;
}

/* Every how many ranks there is one with the same tensors; of divided layers, with the same blocks. */
static int period_of(const tutti_training_session *session, int divided)
{
    const tutti_placement *p = &session->placement;
    return session->whole ? p->stages * (divided ? p->blocks : 1) : 1;
}

/* Whether ranks that have the same tensors have the same hash: of rank r the one at r * every. */
static int all_equal(int ranks, int period, int every, const uint64_t hash[])
{
    for (int r = period; r < ranks; r++)
        if (hash[r * every] != hash[r % period * every]) return 0;
    return 1;
}

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

/* "ranks 0, 2 and 3 have 0011223344556677". */
static void append_group(
    char *text, size_t size, const tutti_replica_ranks *of, const uint64_t hash[], uint64_t wanted)
{
    enum { NAMED = 8 };
    int have = 0, said = 0;
    for (int r = of->first; r < of->end; r += of->every) have += hash[r] == wanted;
    append(text, size, "%s", have == 1 ? "rank " : "ranks ");
    for (int r = of->first; r < of->end && said < NAMED; r += of->every) {
        if (hash[r] != wanted) continue;
        const char *before = said == 0 ? "" : said == have - 1 ? " and " : ", ";
        append(text, size, "%s%d", before, r);
        said++;
    }
    if (have > said) append(text, size, " and %d more", have - said);
    append(text, size, " %s %016" PRIx64, have == 1 ? "has" : "have", wanted);
}

/* Whether rank r is the first with its hash. */
static int is_first(const tutti_replica_ranks *of, const uint64_t hash[], int r)
{
    for (int i = of->first; i < r; i += of->every)
        if (hash[i] == hash[r]) return 0;
    return 1;
}

char *tutti_replica_describe(
    const tutti_replica_ranks *of, const uint64_t hash[], char *text, size_t size)
{
    enum { NAMED = 3 };
    int groups = 0;
    text[0] = '\0';
    for (int r = of->first; r < of->end; r += of->every) {
        if (!is_first(of, hash, r) || ++groups > NAMED) continue;
        append(text, size, "%s", groups == 1 ? "" : ", ");
        append_group(text, size, of, hash, hash[r]);
    }
    if (groups > NAMED) append(text, size, ", and %d more hashes", groups - NAMED);
    return text;
}

/* Names the first tensor that differs; all: one row of `tensors` hashes per rank. */
static tutti_status name_difference(
    const tutti_trainer *s, int64_t step, int tensors, const uint64_t all[], uint64_t column[])
{
    int first = -1, differing = 0;
    for (int i = tensors - 1; i >= 0; i--) {
        for (int r = 0; r < s->session.placement.ranks; r++)
            column[r] = all[(size_t)r * tensors + i];
        if (all_equal(compared(&s->session),
                period_of(&s->session, tutti_weights_is_divided(&s->session, i)), 1, column))
            continue;
        first = i;
        differing++;
    }
    if (first < 0)
        return tutti_fail(TUTTI_ERR_INTERNAL, "the ranks' hashes differ but their tensors do not");
    if (s->session.placement.rank != 0) return TUTTI_ERR_MISMATCH;
    char who[1024];
    const tutti_replica_ranks of = {.first = tutti_weights_stage(&s->session, first),
        .end = compared(&s->session),
        .every = period_of(&s->session, tutti_weights_is_divided(&s->session, first))};
    for (int r = 0; r < s->session.placement.ranks; r++)
        column[r] = all[(size_t)r * tensors + first];
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "after step %" PRId64 " the ranks no longer hold the same weights: \"%s\" is the first of "
        "%d tensors that differ: %s. Memory or messages of a rank were damaged: --resume from an "
        "earlier checkpoint, and check that rank's host if it happens again",
        step, tutti_weights_get(&s->session, first)->name, differing,
        tutti_replica_describe(&of, column, who, sizeof who));
}

static tutti_status find_difference(const tutti_trainer *s, int64_t step, const uint64_t mine[])
{
    int tensors = tutti_weights_count(&s->session);
    uint64_t *all = malloc(
        tutti_mem_product((size_t)s->session.placement.ranks * sizeof *all, (size_t)tensors));
    uint64_t *column = malloc((size_t)s->session.placement.ranks * sizeof *column);
    tutti_status status =
        all && column ? TUTTI_OK
                      : tutti_fail(TUTTI_ERR_NOMEM, "no memory to find the tensor that differs");
    if (!status) status = gather(s, tensors, mine, all);
    if (!status) status = name_difference(s, step, tensors, all, column);
    free(all);
    free(column);
    return status;
}

/* Two hashes of each rank: without the blocks of divided tensors, which fewer ranks share, and with. */
static tutti_status compare(const tutti_trainer *s, int64_t step, uint64_t mine[], uint64_t all[])
{
    enum { HASHES = 2 };
    const tutti_training_session *on = &s->session;
    const int tensors = tutti_weights_count(on);
    const size_t bytes = (size_t)tensors * sizeof *mine;
    uint64_t own[HASHES];
    hashes h = {.session = on, .hash = mine};
    tutti_status status = tutti_weights_walk(on, tensors, TUTTI_READ, hash_tensor, &h);
    own[0] = tutti_hash_block(mine, bytes);
    if (!status) status = hash_blocks(on, tensors, mine);
    own[1] = tutti_hash_block(mine, bytes);
    if (!status) status = gather(s, HASHES, own, all);
    if (status) return status;
    const int ranks = compared(on);
    return all_equal(ranks, period_of(on, 0), HASHES, all) &&
                   all_equal(ranks, period_of(on, on->placement.blocks > 1), HASHES, all + 1)
               ? TUTTI_OK
               : find_difference(s, step, mine);
}

tutti_status tutti_replica_check(const tutti_trainer *s, int64_t step)
{
    if (s->session.placement.ranks == 1) return TUTTI_OK;
    size_t tensors = (size_t)tutti_weights_count(&s->session);
    uint64_t *mine = calloc(tensors, sizeof *mine),
             *all = malloc((size_t)s->session.placement.ranks * 2 * sizeof *all);
    tutti_status status = mine && all
                              ? compare(s, step, mine, all)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare the ranks");
    free(mine);
    free(all);
    return status;
}
