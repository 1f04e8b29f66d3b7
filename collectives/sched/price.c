#include "collectives/sched/price.h"

#include "collectives/sched/walk.h"
#include "dag/base/log.h"

#include <stdlib.h>

/* The times at which a rank's ports and arithmetic are free again, and its totals so far. */
typedef struct account {
    double send_s, recv_s, reduce_s;
    int64_t sent_bytes, reduced_bytes;
    double *ready_s; /* [n] when everything a step waits for has ended */
} account;

typedef struct pricing {
    const tutti_sched *const *ranks;
    const tutti_sched_cost *cost;
    size_t element, wide; /* bytes */
    account *rank;
    double end_s;
} pricing;

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

static void finish_step(pricing *b, int rank, int step, double end_s)
{
    const tutti_sched *s = b->ranks[rank];
    double *ready_s = b->rank[rank].ready_s;
    for (int k = s->first[step]; k < s->first[step + 1]; k++)
        ready_s[s->after[k]] = max_of(ready_s[s->after[k]], end_s);
    b->end_s = max_of(b->end_s, end_s);
}

static int is_conversion(const tutti_sched_step *step)
{
    return step->kind == TUTTI_STEP_COPY &&
           (step->src.space == TUTTI_SPACE_WIDE) != (step->dst.space == TUTTI_SPACE_WIDE);
}

static void visit_event(void *ctx, const tutti_sched_event *e)
{
    pricing *b = ctx;
    account *mine = &b->rank[e->rank];
    const tutti_sched_step *step = &b->ranks[e->rank]->step[e->step];
    int64_t bytes = step->count * (int64_t)b->element;
    double start_s = mine->ready_s[e->step];
    if (e->peer >= 0) {
        account *other = &b->rank[e->peer];
        start_s = max_of(
            max_of(start_s, other->ready_s[e->peer_step]), max_of(mine->send_s, other->recv_s));
        double end_s = start_s + b->cost->alpha_s + b->cost->beta_s_per_byte * (double)bytes;
        mine->send_s = other->recv_s = end_s;
        mine->sent_bytes += bytes;
        finish_step(b, e->rank, e->step, end_s);
        finish_step(b, e->peer, e->peer_step, end_s);
    } else if (step->kind == TUTTI_STEP_REDUCE || is_conversion(step)) {
        mine->reduce_s =
            max_of(start_s, mine->reduce_s) + b->cost->gamma_s_per_byte * (double)bytes;
        if (step->kind == TUTTI_STEP_REDUCE) mine->reduced_bytes += bytes;
        finish_step(b, e->rank, e->step, mine->reduce_s);
    } else {
        finish_step(b, e->rank, e->step, start_s);
    }
}

static int count_steps(const tutti_sched *const ranks[], int P, int *const *level)
{
    int most = 0;
    for (int r = 0; r < P; r++)
        for (int i = 0; i < ranks[r]->n; i++)
            if (level[r][i] > most) most = level[r][i];
    return most;
}

static void sum_up(const pricing *b, int P, tutti_sched_price *price)
{
    for (int r = 0; r < P; r++) {
        const account *a = &b->rank[r];
        int64_t scratch_bytes = b->ranks[r]->scratch_count * (int64_t)b->element +
                                b->ranks[r]->wide_count * (int64_t)b->wide;
        if (a->sent_bytes > price->sent_bytes) price->sent_bytes = a->sent_bytes;
        if (a->reduced_bytes > price->reduced_bytes) price->reduced_bytes = a->reduced_bytes;
        if (scratch_bytes > price->scratch_bytes) price->scratch_bytes = scratch_bytes;
    }
    price->time_s = b->end_s;
}

tutti_status tutti_sched_price_of(const tutti_sched *const ranks[], int P, size_t element,
    size_t wide, const tutti_sched_cost *cost, tutti_sched_price *price)
{
    tutti_sched_price p = {0};
    int **level;
    if (P < 1) return tutti_fail(TUTTI_ERR_INVAL, "no ranks to price");
    tutti_status status = tutti_sched_levels(ranks, P, &level);
    if (status) return status;
    p.steps = count_steps(ranks, P, level);
    free(level);
    pricing b = {.ranks = ranks, .cost = cost, .element = element, .wide = wide};
    b.rank = calloc((size_t)P, sizeof *b.rank);
    int ok = b.rank != NULL;
    for (int r = 0; ok && r < P; r++) {
        b.rank[r].ready_s = calloc((size_t)ranks[r]->n + 1, sizeof(double));
        ok = b.rank[r].ready_s != NULL;
    }
    status = ok ? tutti_sched_walk(ranks, P, 0, visit_event, &b)
                : tutti_fail(TUTTI_ERR_NOMEM, "no memory to price the schedules of %d ranks", P);
    if (!status) {
        sum_up(&b, P, &p);
        *price = p;
    }
    for (int r = 0; b.rank && r < P; r++) free(b.rank[r].ready_s);
    free(b.rank);
    return status;
}
