#include "apps/trace/advise.h"

#include "designs/design.h"

#include <stdio.h>

/* From this share of a step on, a time counts as large. */
static const double much = 0.05;

/* The rank that most collectives wait for; NULL: none. */
static const tutti_study_rank *find_straggler(const tutti_study *s, double took_ms)
{
    static const double most = 0.7;
    const tutti_study_rank *worst = NULL;
    for (int r = 0; r < s->timeline->ranks && s->timeline->ranks > 1; r++) {
        const tutti_study_rank *x = &s->rank[r];
        if (x->last >= most && x->behind_ms >= much * took_ms &&
            (!worst || x->behind_ms > worst->behind_ms))
            worst = x;
    }
    return worst;
}

static void advise_straggler(
    const tutti_study *s, const tutti_study_rank *late, char *text, size_t size)
{
    int ranks = s->timeline->ranks;
    double others_ms = 0;
    for (int r = 0; r < ranks; r++)
        if (&s->rank[r] != late) others_ms += s->rank[r].compute_ms / (ranks - 1);
    snprintf(text, size,
        "one straggling rank: rank %d starts its collectives %.2f ms after the others, which wait "
        "for it; it computes for %.2f ms per step, they for %.2f: see what else runs there "
        "(tutti-doctor)",
        (int)(late - s->rank), late->behind_ms, late->compute_ms, others_ms);
}

/* Why a bucket is exposed, and what helps: the largest of the causes. A bucket whose gradient is computed last has
 * nothing left to hide behind, however soon it starts; one that waits for a busy link or for another rank was
 * computed in time. */
static void explain(const tutti_study_bucket *b, char *text, size_t size)
{
    double uncovered_ms = b->flight_ms - b->late_ms - b->left_ms; /* had it started at once */
    double behind_ms = b->linked_ms, idle_ms = b->queued_ms - b->linked_ms;
    if (uncovered_ms >= b->queued_ms && uncovered_ms >= b->late_ms)
        snprintf(text, size,
            "it is computed late: when it is ready, %.2f ms of computing are left to hide its %.2f "
            "ms in flight: a smaller --bucket-mb or --chunk-mb lets its first part start earlier",
            b->left_ms, b->flight_ms);
    else if (b->late_ms > b->queued_ms)
        snprintf(text, size,
            "another rank is late: of its %.2f ms in flight it waits %.2f for a rank that has not "
            "started it: see which rank computes longer (columns of the ranks)",
            b->flight_ms, b->late_ms);
    else if (behind_ms >= idle_ms)
        snprintf(text, size,
            "it is queued: ready for %.2f ms before it starts, %.2f of them while the link is busy "
            "with others: --design concurrent, or a smaller --chunk-mb, lets it overtake them",
            b->queued_ms, behind_ms);
    else
        snprintf(text, size,
            "it is held back: ready for %.2f ms before it starts, %.2f of them while nothing is in "
            "flight: one before it in the order is not ready (--priority on), or the communication "
            "thread has no core of its own (--comm-core)",
            b->queued_ms, idle_ms);
}

static void advise_bucket(const tutti_study *s, char *text, size_t size)
{
    const tutti_study_bucket *b = &s->bucket[0];
    char why[400] = "this design hides nothing: --design funneled";
    const tutti_design *design = tutti_design_find(s->timeline->design);
    if (!design || !design->start->main_drives) explain(b, why, sizeof why);
    snprintf(text, size, "bucket %s is exposed by %.2f ms per step, out of %.2f ms in all: %s",
        b->name, b->exposed_ms, s->mean.exposed_ms, why);
}

static double mean_idle(const tutti_study *s)
{
    double idle = 0;
    for (int i = 0; i < s->workers; i++) idle += s->worker[i].idle / s->workers;
    return idle;
}

static void advise_pipeline(const tutti_study *s, const tutti_bubble *p, char *text, size_t size)
{
    static const double uneven = 1.15, waits = 1.15; /* from here on it is told */
    int slowest = tutti_bubble_slowest(p);
    double most_ms = tutti_bubble_computes_ms(&p->stage[slowest]), mean_ms = 0;
    for (int i = 0; i < p->stages; i++)
        mean_ms += tutti_bubble_computes_ms(&p->stage[i]) / p->stages;
    if (most_ms > uneven * mean_ms)
        snprintf(text, size,
            "uneven stages: stage %d computes for %.2f ms of a step, all stages for %.2f on "
            "average: "
            "give it fewer layers (--stage-layers)",
            slowest, most_ms, mean_ms);
    else if (p->idle > waits * p->least)
        snprintf(text, size,
            "stages wait for messages: they are idle for %.1f %% of the passes, and equal stages "
            "would be for %.1f: --pipeline eager has more on its way, and a faster link or fewer cut "
            "values (--stage-layers) help, too",
            100 * p->idle, 100 * p->least);
    else
        snprintf(text, size,
            "bound by filling and draining the pipeline: stages are idle for %.1f %% of the passes "
            "with %d micro-batches: more of them (--micro-batches) make that shorter",
            100 * p->idle, s->timeline->micro_batches);
}

void tutti_trace_advise(const tutti_study *s, const tutti_bubble *bubble, char *text, size_t size)
{
    double took_ms = s->mean.end_ms;
    const tutti_study_rank *late = find_straggler(s, took_ms);
    if (bubble->stages > 1)
        advise_pipeline(s, bubble, text, size);
    else if (late)
        advise_straggler(s, late, text, size);
    else if (s->mean.exposed_ms < much * took_ms)
        snprintf(text, size,
            "compute bound: %.0f %% of the communication is hidden, and workers are busy for %.0f "
            "%% "
            "of a step: only faster computation makes it shorter",
            tutti_study_hidden_pct(&s->mean), 100 * (1 - mean_idle(s)));
    else if (s->mean.moving_ms >= s->mean.compute_ms)
        snprintf(text, size,
            "communication bound at this rate: %.2f MB of sums are moving for %.2f ms of a step of "
            "%.2f ms, %.0f MB/s; computing takes %.2f ms: a faster link or a larger --batch helps",
            (double)s->mean.bytes / 1e6, s->mean.moving_ms, took_ms,
            (double)s->mean.bytes / 1e3 / s->mean.moving_ms, s->mean.compute_ms);
    else
        advise_bucket(s, text, size);
}
