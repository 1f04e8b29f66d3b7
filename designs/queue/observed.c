#include "designs/queue/observed.h"

#include "dag/base/log.h"
#include "dag/base/median.h"

#include <stdlib.h>

tutti_status tutti_observed_open(tutti_observed *observed, int pieces, int slots)
{
    *observed = (tutti_observed){.pieces = pieces, .slots = slots, .base = -1};
    observed->ready_s =
        calloc(TUTTI_OBSERVED_STEPS * (size_t)pieces + 1, sizeof *observed->ready_s);
    observed->at_s = calloc((size_t)pieces + 1, sizeof *observed->at_s);
    if (observed->ready_s && observed->at_s) return TUTTI_OK;
    tutti_observed_close(observed);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory to observe %d collectives", pieces);
}

void tutti_observed_close(tutti_observed *observed)
{
    free(observed->ready_s);
    free(observed->at_s);
    *observed = (tutti_observed){.base = -1};
}

void tutti_observed_ready(tutti_observed *o, int64_t base, int64_t index, double now_s)
{
    if (base > o->base) {
        o->base = base;
        o->first_s = now_s;
        o->busy_s = 0;
        o->bytes = 0;
        o->in_flight = o->ended = 0;
    }
    if (base == o->base && index < o->pieces) o->at_s[index] = now_s - o->first_s;
}

void tutti_observed_start(tutti_observed *o, int64_t base, double now_s)
{
    if (base == o->base && o->in_flight++ == 0) o->busy_since_s = now_s;
}

static void record_step(tutti_observed *o)
{
    if (o->whole++ == 0 || !o->bytes) return;
    double rate = o->busy_s / (double)o->bytes;
    if (!o->steps || rate < o->seconds_per_byte) o->seconds_per_byte = rate;
    double *row = &o->ready_s[o->steps++ % TUTTI_OBSERVED_STEPS * o->pieces];
    for (int p = 0; p < o->pieces; p++) row[p] = o->at_s[p];
}

void tutti_observed_end(tutti_observed *o, int64_t base, int64_t bytes, double now_s)
{
    if (base != o->base) return;
    if (--o->in_flight == 0) o->busy_s += now_s - o->busy_since_s;
    o->bytes += bytes;
    if (++o->ended == o->slots) record_step(o);
}

double tutti_observed_ready_s(const tutti_observed *o, int piece)
{
    double seen[TUTTI_OBSERVED_STEPS];
    int steps = o->steps < TUTTI_OBSERVED_STEPS ? o->steps : TUTTI_OBSERVED_STEPS;
    for (int s = 0; s < steps; s++) seen[s] = o->ready_s[s * o->pieces + piece];
    return tutti_median(steps, seen);
}
