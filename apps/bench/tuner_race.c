#include "apps/bench/tuner.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_ROUNDS = 10000 };

/* Roots take turns: a root that sends the next vector before the last one has arrived would hide how long that
 * takes. */
static tutti_status run_round(
    tutti_tuner *b, tutti_tuner_contestant *c, const tutti_tuner_cell *at, int64_t round)
{
    enum { MOST_CHUNKS = TUTTI_COMM_DEPTH };
    tutti_coll_request *request[MOST_CHUNKS] = {NULL};
    const int64_t count = at->bytes / 4, each = c->chunk ? c->chunk / 4 : count;
    tutti_status status = TUTTI_OK;
    int n = 0;
    if (c->way)
        return tutti_library_run(c->way, at->kind, b->data, count, (int)(round % tutti_tuner_P(b)));
    for (int64_t done = 0; done < count && !status; done += each, n++) {
        const tutti_coll_args args = {.kind = at->kind,
            .dtype = TUTTI_F32,
            .op = TUTTI_SUM,
            .root = (int)(round % tutti_tuner_P(b)),
            .count = count - done < each ? count - done : each,
            .recv = b->data + done};
        status = tutti_coll_post(c->comm, 0, &args, &request[n]);
    }
    for (int i = 0; i < n && !status; i++)
        status = tutti_world_spin(c->comm, request[i], b->o.timeout_s);
    for (int i = 0; i < n; i++) tutti_coll_free(request[i]);
    return status;
}

/* Small integers, whose sums are exact in any order. */
static float value_of(int rank, int64_t i)
{
    return (float)((i * 7 + rank * 3) % 64);
}

static float wanted(const tutti_tuner *b, tutti_coll_kind kind, int64_t i)
{
    float sum = 0;
    if (kind == TUTTI_BROADCAST) return value_of(0, i);
    for (int r = 0; r < tutti_tuner_P(b); r++) sum += value_of(r, i);
    return sum;
}

tutti_status tutti_tuner_verify(
    tutti_tuner *b, tutti_tuner_contestant *c, const tutti_tuner_cell *at)
{
    const int64_t count = at->bytes / 4;
    const int rank = b->ranks->boot.rank;
    for (int64_t i = 0; i < count; i++) b->data[i] = value_of(rank, i);
    tutti_status status = run_round(b, c, at, 0);
    int has_result = at->kind != TUTTI_REDUCE || rank == 0;
    for (int64_t i = 0; has_result && i < count && !status; i++)
        if (b->data[i] != wanted(b, at->kind, i))
            status = tutti_fail(TUTTI_ERR_INTERNAL,
                "%s %s: element %" PRId64 " of %" PRId64 " is %g, not %g",
                tutti_coll_kind_name(at->kind),
                c->way              ? c->way->name
                : c->rule.algorithm ? c->rule.algorithm->name
                                    : "",
                i, count, (double)b->data[i], (double)wanted(b, at->kind, i));
    memset(b->data, 0, (size_t)at->bytes); /* sums of sums stay what they are */
    return tutti_world_agree(b->ranks, status);
}

/* Seconds for a round on the slowest rank. */
static tutti_status time_rounds(tutti_tuner *b, tutti_tuner_contestant *c,
    const tutti_tuner_cell *at, int64_t rounds, double *seconds)
{
    tutti_status status = tutti_world_barrier(b->ranks);
    double begun = tutti_clock_s();
    for (int64_t i = 0; i < rounds && !status; i++) status = run_round(b, c, at, i);
    *seconds = tutti_clock_s() - begun;
    return status ? status : tutti_world_max(b->ranks, 1, seconds);
}

tutti_status tutti_tuner_plan(tutti_tuner *b, tutti_tuner_contestant *c, const tutti_tuner_cell *at)
{
    double seconds = 0;
    tutti_status status = TUTTI_OK;
    for (c->rounds = 1; !status; c->rounds *= 2) {
        status = time_rounds(b, c, at, c->rounds, &seconds);
        if (seconds >= b->o.block_s / 4 || c->rounds >= MOST_ROUNDS) break;
    }
    double rounds = (double)c->rounds * b->o.block_s / seconds;
    c->rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : (int64_t)rounds;
    return status;
}

tutti_status tutti_tuner_race(tutti_tuner *b, const tutti_tuner_cell *at, int n, tutti_race *race)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < n && !status; i++) {
        status = tutti_tuner_verify(b, &b->contestant[i], at);
        if (!status) status = tutti_tuner_plan(b, &b->contestant[i], at);
    }
    tutti_race_begin(race, n);
    for (int turn = 0; !status && turn >= 0; turn = tutti_race_next(race)) { /* one alone, too */
        tutti_tuner_contestant *c = &b->contestant[turn];
        double seconds;
        status = time_rounds(b, c, at, c->rounds, &seconds);
        if (!status) tutti_race_time(race, seconds / (double)c->rounds);
    }
    return status;
}

int tutti_tuner_fastest(const tutti_race *race)
{
    int best = tutti_race_winner(race);
    for (int c = 0; c < race->candidates; c++)
        if (!race->out[c] && tutti_race_median(race, c) < tutti_race_median(race, best)) best = c;
    return best;
}

tutti_status tutti_tuner_compare(tutti_tuner *b, const tutti_tuner_cell *at,
    tutti_tuner_contestant *one, tutti_tuner_contestant *other, double *ratio)
{
    double of[TUTTI_RACE_ROUNDS];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_RACE_ROUNDS && !status; i++) {
        double one_s = 0, other_s = 0;
        status = time_rounds(b, one, at, one->rounds, &one_s);
        if (!status) status = time_rounds(b, other, at, other->rounds, &other_s);
        of[i] = one_s / (double)one->rounds / (other_s / (double)other->rounds);
    }
    if (!status) *ratio = tutti_median(TUTTI_RACE_ROUNDS, of);
    return status;
}
