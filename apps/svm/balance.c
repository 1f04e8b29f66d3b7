/* Active samples move between ranks, so that all have as much to do; and their multipliers come home. */
#include "apps/svm/solve_parts.h"

#include <string.h>

/* The rank that gets the i-th active sample of this rank. */
typedef int64_t owner_rule(const tutti_svm_solver *solver, int64_t i, int64_t before);

static int64_t home_of(const tutti_svm_solver *s, int64_t i, int64_t before)
{
    int64_t r = 0;
    (void)before;
    while (s->active.id[i] >= s->begin[r + 1]) r++;
    return r;
}

static int64_t fair_owner(const tutti_svm_solver *s, int64_t i, int64_t before)
{
    const int64_t ranks = s->problem.world->size;
    return (before + i) / ((s->progress.active + ranks - 1) / ranks);
}

/* Sends every active sample where the rule says; *moved: those that this rank gets, in the order of ids. */
static tutti_status send_active(tutti_svm_solver *s, owner_rule *owner, tutti_svm_samples *moved)
{
    tutti_svm_world *world = s->problem.world;
    const tutti_svm_samples *a = &s->active;
    const int64_t size = world->size, count = a->rows.count;
    int64_t *sends = tutti_svm_new(size * (2 + size), sizeof *sends), *receives = sends + size;
    int64_t *all = receives + size, sent = 0, received = 0, before, sum;
    char *send = NULL, *receive = NULL;
    tutti_status status = sends ? tutti_svm_place(world, count, &before, &sum) : TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < count && !status; i++) {
        const int64_t bytes = (int64_t)tutti_svm_samples_bytes(a, i);
        sends[owner(s, i, before)] += bytes;
        sent += bytes;
    }
    if (!status) status = tutti_svm_gather(world, sends, size * (int64_t)sizeof *sends, all);
    for (int64_t r = 0; r < size && !status; r++)
        received += receives[r] = all[r * size + world->rank];
    if (!status) {
        send = tutti_svm_new(sent, 1);
        receive = tutti_svm_new(received, 1);
        if (!send || !receive) status = TUTTI_ERR_NOMEM;
    }
    char *to = send;
    for (int64_t i = 0; i < count && !status; i++) to = tutti_svm_samples_write(a, i, to);
    if (!status) status = tutti_svm_exchange(world, send, sends, receive, receives);
    for (const char *at = receive; !status && at < receive + received;) {
        at = tutti_svm_samples_read(moved, at);
        if (!at) status = TUTTI_ERR_NOMEM;
    }
    free(sends);
    free(send);
    free(receive);
    return status;
}

tutti_status tutti_svm_bring_home(tutti_svm_solver *s)
{
    tutti_svm_samples moved = {.rows.floats = s->home.rows.floats};
    tutti_status status = send_active(s, home_of, &moved);
    if (!status) memset(s->out, 1, (size_t)s->home.rows.count);
    for (int64_t k = 0; k < moved.rows.count && !status; k++) {
        const int64_t i = moved.id[k] - s->begin[s->problem.world->rank];
        s->out[i] = 0;
        s->home.alpha[i] = moved.alpha[k];
        s->home.f[i] = moved.f[k];
    }
    tutti_svm_samples_free(&moved);
    return status;
}

tutti_status tutti_svm_balance(tutti_svm_solver *s)
{
    tutti_svm_samples moved = {.rows.floats = s->home.rows.floats};
    tutti_status status = send_active(s, fair_owner, &moved);
    if (!status) {
        tutti_svm_samples_free(&s->active);
        s->active = moved;
        tutti_svm_engine_renew(s->engine, moved.rows.count);
    } else {
        tutti_svm_samples_free(&moved);
    }
    return status;
}
