#include "apps/trace/report.h"

#include "apps/trace/advise.h"
#include "dag/base/text.h"

#include <inttypes.h>

enum { MOST_BUCKETS = 20, MOST_WORKERS = 64, MOST_PARTS = 40 };

static void report_steps(const tutti_study *s, FILE *out)
{
    tutti_text_print(out, "%6s %10s %10s %10s %10s %10s %8s\n", "step", "ms", "compute",
        "in flight", "moving", "exposed", "hidden");
    for (int k = 0; k <= s->steps; k++) {
        const tutti_study_step *x = k < s->steps ? &s->step[k] : &s->mean;
        if (k < s->steps)
            tutti_text_print(out, "%6" PRId64, x->step);
        else
            tutti_text_print(out, "%6s", "mean");
        tutti_text_print(out, " %10.2f %10.2f %10.2f %10.2f %10.2f %6.1f %%\n",
            x->end_ms - x->begin_ms, x->compute_ms, x->flight_ms, x->moving_ms, x->exposed_ms,
            tutti_study_hidden_pct(x));
    }
}

static void report_buckets(const tutti_study *s, FILE *out)
{
    int shown = s->buckets < MOST_BUCKETS ? s->buckets : MOST_BUCKETS;
    double rest_ms = 0;
    if (!s->buckets) return;
    tutti_text_print(out, "\n%-40s %5s %9s %9s %9s %9s %9s\n", "collective: per step, and each",
        "count", "MB", "exposed", "in flight", "queued", "late");
    for (int i = 0; i < s->buckets; i++) {
        const tutti_study_bucket *b = &s->bucket[i];
        if (i >= shown)
            rest_ms += b->exposed_ms;
        else
            tutti_text_print(out, "%-40s %5.0f %9.3f %9.2f %9.2f %9.2f %9.2f\n", b->name, b->count,
                b->bytes / 1e6, b->exposed_ms, b->flight_ms, b->queued_ms, b->late_ms);
    }
    if (s->buckets > shown) tutti_text_print(out, "%-56s %9.2f\n", "the others", rest_ms);
}

/* ---- the path ---- */

/* The end of the parts that share one line: a collective, or consecutive tasks of one rank. */
static int64_t part_end(const tutti_path *p, int64_t from)
{
    const tutti_event *e = p->part[from].event;
    int64_t to = from + 1;
    while (to < p->parts && e->kind != TUTTI_SPAN_COLLECTIVE &&
           p->part[to].event->kind != TUTTI_SPAN_COLLECTIVE && p->part[to].event->rank == e->rank)
        to++;
    return to;
}

static void report_part(const tutti_path *p, int64_t from, int64_t to, double zero_ms, FILE *out)
{
    const tutti_path_part *first = &p->part[from], *last = &p->part[to - 1];
    tutti_text_print(out, "%10.2f %10.2f  rank %d  ", first->from_ms - zero_ms,
        last->to_ms - first->from_ms, first->event->rank);
    if (to - from > 1)
        tutti_text_print(
            out, "%" PRId64 " tasks, %s to %s\n", to - from, first->event->name, last->event->name);
    else
        tutti_text_print(
            out, "%s %s\n", tutti_span_kind_name(first->event->kind), first->event->name);
}

static void report_path(const tutti_study_step *step, const tutti_path *p, FILE *out)
{
    double took_ms = step->end_ms - step->begin_ms;
    int lines = 0;
    tutti_text_print(out,
        "\ncritical path of step %" PRId64
        ", %.2f ms: computing %.2f, communicating %.2f, copying %.2f, nobody %.2f\n",
        step->step, took_ms, p->compute_ms, p->communicate_ms, p->copy_ms, p->nobody_ms);
    tutti_text_print(out, "%10s %10s\n", "at ms", "for ms");
    for (int64_t i = 0, to; i < p->parts; i = to, lines++) {
        to = part_end(p, i);
        if (lines < MOST_PARTS) report_part(p, i, to, step->begin_ms, out);
    }
    if (lines > MOST_PARTS) tutti_text_print(out, "%10s and %d more\n", "", lines - MOST_PARTS);
}

/* Whether some worker has tasks of this kind. */
static int occurs(const tutti_study *s, int kind)
{
    int i = 0;
    while (i < s->workers && s->worker[i].busy[kind] <= 0) i++;
    return i < s->workers;
}

static void report_workers(const tutti_study *s, FILE *out)
{
    tutti_text_print(out, "\n%-20s", "worker, % of time");
    for (int kind = 0; kind < TUTTI_SPAN_COLLECTIVE; kind++)
        if (occurs(s, kind)) tutti_text_print(out, " %9s", tutti_span_kind_name(kind));
    tutti_text_print(out, " %9s\n", "idle");
    for (int i = 0; i < s->workers && i < MOST_WORKERS; i++) {
        const tutti_study_worker *w = &s->worker[i];
        char name[64];
        snprintf(name, sizeof name, "rank %d worker %d", w->rank, w->worker);
        tutti_text_print(out, "%-20s", name);
        for (int kind = 0; kind < TUTTI_SPAN_COLLECTIVE; kind++)
            if (occurs(s, kind)) tutti_text_print(out, " %9.1f", 100 * w->busy[kind]);
        tutti_text_print(out, " %9.1f\n", 100 * w->idle);
    }
    if (s->workers > MOST_WORKERS)
        tutti_text_print(out, "and %d more\n", s->workers - MOST_WORKERS);
}

static void report_pipeline(const tutti_study *s, const tutti_bubble *p, FILE *out)
{
    if (p->stages < 2) return;
    tutti_text_print(out,
        "\npipeline of %d stages, %d micro-batches: passes of %.2f ms, idle for %.1f %%; equal "
        "stages would be for %.1f %%\n",
        p->stages, s->timeline->micro_batches, p->passes_ms, 100 * p->idle, 100 * p->least);
    tutti_text_print(out, "%6s %10s %10s %8s\n", "stage", "forward", "backward", "idle");
    for (int i = 0; i < p->stages; i++)
        tutti_text_print(out, "%6d %10.2f %10.2f %6.1f %%\n", i, p->stage[i].forward_ms,
            p->stage[i].backward_ms, 100 * p->stage[i].idle);
}

void tutti_report_text(const tutti_study *s, const tutti_study_step *typical,
    const tutti_path *path, const tutti_bubble *bubble, FILE *out)
{
    const tutti_timeline *t = s->timeline;
    char advice[512];
    tutti_text_print(out,
        "%s: %s on %d ranks, design %s, %d lane%s; complete steps %" PRId64 " to %" PRId64 "\n",
        t->path, t->model, t->ranks, t->design, t->lanes, t->lanes == 1 ? "" : "s", t->first_step,
        t->last_step);
    if (t->tasks)
        tutti_text_print(out, "a step of rank 0: %" PRId64 " kernels in %" PRId64 " tasks",
            t->kernels, t->tasks);
    if (t->launches)
        tutti_text_print(out,
            ", %" PRId64 " launches on its GPU, %" PRId64 " CUDA graphs of %.1f MiB", t->launches,
            t->graphs, (double)t->graph_bytes / 0x1p20);
    if (t->tasks) fputc('\n', out);
    if (t->dropped)
        tutti_text_print(out,
            "%" PRId64 " spans were dropped: later steps are incomplete (record fewer)\n",
            t->dropped);
    fputc('\n', out);
    report_steps(s, out);
    report_buckets(s, out);
    report_path(typical, path, out);
    report_workers(s, out);
    report_pipeline(s, bubble, out);
    tutti_trace_advise(s, bubble, advice, sizeof advice);
    tutti_text_print(out, "\n%s\n", advice);
}
