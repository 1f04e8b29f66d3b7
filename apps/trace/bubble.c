#include "apps/trace/bubble.h"

#include "apps/trace/busy.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

typedef struct span {
    double begin_ms, end_ms;
} span;

static int passes(tutti_span_kind kind)
{
    return kind == TUTTI_SPAN_FORWARD || kind == TUTTI_SPAN_BACKWARD;
}

/* What prepares a step's images needs no weights, and may run while the step before computes. */
static void part_steps(span window[], int64_t steps, int64_t replicas)
{
    for (int64_t i = replicas; i < steps * replicas; i++)
        window[i].begin_ms = fmax(window[i].begin_ms, window[i - replicas].end_ms);
}

/* window[k * replicas + r]: the passes of step k in replica r; and what the stages' tasks took. */
static void find_windows(const tutti_study *s, tutti_bubble *p, span window[])
{
    const tutti_timeline *t = s->timeline;
    int64_t replicas = t->staged / p->stages;
    for (int64_t i = 0; i < s->steps * replicas; i++) {
        window[i].begin_ms = INFINITY;
        window[i].end_ms = -INFINITY;
    }
    for (int64_t i = 0; i < t->events; i++) {
        const tutti_event *e = &t->event[i];
        int64_t k = e->step - s->step[0].step;
        if (!passes(e->kind) || e->rank >= t->staged || k < 0 || k >= s->steps) continue;
        span *w = &window[k * replicas + e->rank / p->stages];
        tutti_bubble_stage *stage = &p->stage[e->rank % p->stages];
        w->begin_ms = fmin(w->begin_ms, e->begin_ms);
        w->end_ms = fmax(w->end_ms, e->end_ms);
        *(e->kind == TUTTI_SPAN_FORWARD ? &stage->forward_ms : &stage->backward_ms) +=
            (e->end_ms - e->begin_ms) / (double)(s->steps * replicas);
    }
    part_steps(window, s->steps, replicas);
}

static tutti_status find_idle(const tutti_study *s, const span window[], tutti_bubble *p)
{
    const tutti_timeline *t = s->timeline;
    int64_t replicas = t->staged / p->stages, counted = 0;
    double all_ms = 0;
    for (int r = 0; r < t->staged; r++) {
        tutti_busy busy;
        tutti_status status = tutti_busy_find(t, r, tutti_span_computes, &busy);
        for (int k = 0; k < s->steps && !status; k++) {
            const span *w = &window[k * replicas + r / p->stages];
            double took_ms = w->end_ms - w->begin_ms;
            if (!(took_ms > 0) || isinf(took_ms)) continue;
            counted++;
            all_ms += took_ms;
            p->stage[r % p->stages].idle +=
                (1 - tutti_busy_within(&busy, w->begin_ms, w->end_ms) / took_ms) /
                (double)(s->steps * replicas);
        }
        tutti_busy_free(&busy);
        if (status) return status;
    }
    p->passes_ms = counted ? all_ms / (double)counted : 0;
    return TUTTI_OK;
}

tutti_status tutti_bubble_open(const tutti_study *s, tutti_bubble *p)
{
    const tutti_timeline *t = s->timeline;
    *p = (tutti_bubble){.stages = t->stages};
    if (p->stages < 2) return TUTTI_OK;
    span *window = malloc((size_t)s->steps * (size_t)(t->staged / p->stages) * sizeof *window);
    p->stage = calloc((size_t)p->stages, sizeof *p->stage);
    if (!window || !p->stage) {
        free(window);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to study a pipeline");
    }
    find_windows(s, p, window);
    tutti_status status = find_idle(s, window, p);
    free(window);
    for (int i = 0; i < p->stages; i++) p->idle += p->stage[i].idle / p->stages;
    p->least = (p->stages - 1.0) / (t->micro_batches + p->stages - 1.0);
    return status;
}

void tutti_bubble_close(tutti_bubble *bubble)
{
    free(bubble->stage);
    *bubble = (tutti_bubble){0};
}

double tutti_bubble_computes_ms(const tutti_bubble_stage *stage)
{
    return stage->forward_ms + stage->backward_ms;
}

int tutti_bubble_slowest(const tutti_bubble *p)
{
    int slowest = 0;
    for (int i = 1; i < p->stages; i++)
        if (tutti_bubble_computes_ms(&p->stage[i]) > tutti_bubble_computes_ms(&p->stage[slowest]))
            slowest = i;
    return slowest;
}
