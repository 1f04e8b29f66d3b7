/* Ranks as threads of this process: a collective is a board on which each rank shows its pointer, between
 * two barriers. */
#include "apps/svm/world.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct notice {
    const void *send;
    const int64_t *counts;
} notice;

typedef struct board {
    tutti_svm_world_options options;
    tutti_svm_main *main_of;
    void *ctx;
    int ranks;
    pthread_mutex_t mutex; /* protects what follows */
    pthread_cond_t all_here;
    int waiting, broken;
    unsigned round;
    notice *shown; /* [ranks]: written by its rank before a barrier, read by all after it */
} board;

typedef struct local {
    tutti_svm_world world; /* first */
    board *board;
    tutti_status status;
} local;

static tutti_status fail_wait(const local *l)
{
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "rank %d waited in vain for the other %d ranks of this process", l->world.rank,
        l->board->ranks - 1);
}

/* Under the mutex: one more rank is here. Returns the round that is over when all are. */
static unsigned arrive(board *b)
{
    const unsigned round = b->round;
    if (++b->waiting == b->ranks) {
        b->waiting = 0;
        b->round++;
        pthread_cond_broadcast(&b->all_here);
    }
    return round;
}

/* All ranks come, or none passes, then or later: so none reads what another one that has given up may free. TIMEOUT:
 * a rank has ended, or has not come in time. */
static tutti_status wait_for_all(local *l)
{
    board *b = l->board;
    const struct timespec until = tutti_clock_after(b->options.timeout_s);
    int rc = 0;
    pthread_mutex_lock(&b->mutex);
    const unsigned round = b->broken ? b->round : arrive(b);
    while (round == b->round && !b->broken && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&b->all_here, &b->mutex, &until);
    const int came = round != b->round;
    if (!came) {
        b->broken = 1;
        pthread_cond_broadcast(&b->all_here);
    }
    pthread_mutex_unlock(&b->mutex);
    return came ? TUTTI_OK : fail_wait(l);
}

/* All have come, and are about to have read what the others show: no rank gives up here. */
static void wait_for_readers(local *l)
{
    board *b = l->board;
    pthread_mutex_lock(&b->mutex);
    const unsigned round = arrive(b);
    while (round == b->round) pthread_cond_wait(&b->all_here, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
}

/* What all ranks show is there; wait_for_readers afterwards, when it has been read. */
static tutti_status show(local *l, const void *send, const int64_t *counts)
{
    l->board->shown[l->world.rank] = (notice){send, counts};
    return wait_for_all(l);
}

static char *copy(char *to, const void *from, int64_t bytes)
{
    if (bytes) memcpy(to, from, (size_t)bytes);
    return to + bytes;
}

static tutti_status gather(
    tutti_svm_world *world, const void *send, const int64_t *counts, void *receive)
{
    local *l = (local *)world;
    tutti_status status = show(l, send, counts);
    char *at = receive;
    for (int r = 0; r < world->size && !status; r++)
        at = copy(at, l->board->shown[r].send, counts[r]);
    if (!status) wait_for_readers(l);
    return status;
}

static tutti_status exchange(tutti_svm_world *world, const void *send, const int64_t *send_counts,
    void *receive, const int64_t *receive_counts)
{
    local *l = (local *)world;
    tutti_status status = show(l, send, send_counts);
    char *at = receive;
    for (int r = 0; r < world->size && !status; r++) {
        const notice *n = &l->board->shown[r];
        const char *from = n->send;
        if (!receive_counts[r]) continue;
        for (int q = 0; q < world->rank; q++) from += n->counts[q];
        at = copy(at, from, receive_counts[r]);
    }
    if (!status) wait_for_readers(l);
    return status;
}

static const tutti_svm_world_ops ops = {.gather = gather, .exchange = exchange};

static void *run_rank(void *arg)
{
    local *l = arg;
    l->status = l->board->main_of(&l->world, l->board->ctx);
    if (l->status) {
        pthread_mutex_lock(&l->board->mutex);
        l->board->broken = 1;
        pthread_cond_broadcast(&l->board->all_here);
        pthread_mutex_unlock(&l->board->mutex);
    }
    return NULL;
}

tutti_status tutti_svm_world_local(
    const tutti_svm_world_options *options, int ranks, tutti_svm_main *main_of, void *ctx)
{
    board b = {.options = *options, .main_of = main_of, .ctx = ctx, .ranks = ranks};
    local *l = calloc((size_t)ranks, sizeof *l);
    pthread_t *thread = calloc((size_t)ranks, sizeof *thread);
    int64_t *counts = calloc(2 * (size_t)ranks * (size_t)ranks, sizeof *counts);
    b.shown = calloc((size_t)ranks, sizeof *b.shown);
    tutti_status status = TUTTI_OK;
    int started = 0;
    if (!l || !thread || !counts || !b.shown || tutti_clock_cond_init(&b.all_here)) {
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", ranks);
        goto done;
    }
    pthread_mutex_init(&b.mutex, NULL);
    for (int r = 0; r < ranks; r++)
        l[r] = (local){.world = {.ops = &ops,
                           .rank = r,
                           .size = ranks,
                           .workers = 1,
                           .combine = options->combine,
                           .counts = counts + 2 * r * ranks},
            .board = &b};
    for (; started + 1 < ranks && !status; started++)
        if (pthread_create(&thread[started], NULL, run_rank, &l[started + 1]))
            status = tutti_fail(
                TUTTI_ERR_NOMEM, "only %d of %d threads could be started", started, ranks);
    if (status) { /* those that run wait for this one */
        pthread_mutex_lock(&b.mutex);
        b.broken = 1;
        pthread_cond_broadcast(&b.all_here);
        pthread_mutex_unlock(&b.mutex);
        l[0].status = status;
    } else {
        run_rank(&l[0]);
    }
    for (int r = 0; r < started; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < ranks && !status; r++)
        if (l[r].status && l[r].status != TUTTI_ERR_TIMEOUT) status = l[r].status;
    for (int r = 0; r < ranks && !status; r++) status = l[r].status;
    pthread_cond_destroy(&b.all_here);
    pthread_mutex_destroy(&b.mutex);
done:
    free(l);
    free(thread);
    free(counts);
    free(b.shown);
    return status;
}
