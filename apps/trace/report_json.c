#include "apps/trace/report.h"
#include "apps/trace/advise.h"
#include "dag/base/log.h"
#include "dag/base/text.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *steps_of(const tutti_study *s)
{
    json_t *list = json_array();
    for (int k = 0; k < s->steps; k++) {
        const tutti_study_step *x = &s->step[k];
        json_array_append_new(
            list, json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "step", (json_int_t)x->step,
                      "ms", x->end_ms - x->begin_ms, "compute_ms", x->compute_ms, "flight_ms",
                      x->flight_ms, "moving_ms", x->moving_ms, "exposed_ms", x->exposed_ms,
                      "hidden_pct", tutti_study_hidden_pct(x), "bytes", (json_int_t)x->bytes));
    }
    return list;
}

static json_t *collectives_of(const tutti_study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->buckets; i++) {
        const tutti_study_bucket *b = &s->bucket[i];
        json_array_append_new(
            list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "name", b->name, "count",
                      b->count, "bytes", b->bytes, "exposed_ms", b->exposed_ms, "flight_ms",
                      b->flight_ms, "queued_ms", b->queued_ms, "late_ms", b->late_ms));
    }
    return list;
}

static json_t *workers_of(const tutti_study *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->workers; i++) {
        const tutti_study_worker *w = &s->worker[i];
        json_t *worker = json_pack(
            "{s:i, s:i, s:f}", "rank", w->rank, "worker", w->worker, "idle_pct", 100 * w->idle);
        for (int kind = 0; kind < TUTTI_SPAN_COLLECTIVE; kind++) {
            char name[32];
            snprintf(name, sizeof name, "%s_pct", tutti_span_kind_name(kind));
            json_object_set_new(worker, name, json_real(100 * w->busy[kind]));
        }
        json_array_append_new(list, worker);
    }
    return list;
}

static json_t *ranks_of(const tutti_study *s)
{
    json_t *list = json_array();
    for (int r = 0; r < s->timeline->ranks; r++)
        json_array_append_new(
            list, json_pack("{s:i, s:f, s:f, s:f}", "rank", r, "behind_ms", s->rank[r].behind_ms,
                      "last_pct", 100 * s->rank[r].last, "compute_ms", s->rank[r].compute_ms));
    return list;
}

static json_t *path_of(const tutti_study_step *step, const tutti_path *p)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < p->parts; i++) {
        const tutti_event *e = p->part[i].event;
        json_array_append_new(list,
            json_pack("{s:i, s:s, s:s, s:f, s:f}", "rank", e->rank, "kind",
                tutti_span_kind_name(e->kind), "name", e->name, "at_ms",
                p->part[i].from_ms - step->begin_ms, "ms", p->part[i].to_ms - p->part[i].from_ms));
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "step", (json_int_t)step->step, "ms",
        step->end_ms - step->begin_ms, "compute_ms", p->compute_ms, "communicate_ms",
        p->communicate_ms, "copy_ms", p->copy_ms, "nobody_ms", p->nobody_ms, "parts", list);
}

static json_t *pipeline_of(const tutti_study *s, const tutti_bubble *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->stages; i++)
        json_array_append_new(list,
            json_pack("{s:i, s:f, s:f, s:f}", "stage", i, "forward_ms", p->stage[i].forward_ms,
                "backward_ms", p->stage[i].backward_ms, "idle_pct", 100 * p->stage[i].idle));
    return json_pack("{s:i, s:i, s:f, s:f, s:f, s:o}", "stages", p->stages, "micro_batches",
        s->timeline->micro_batches, "passes_ms", p->passes_ms, "bubble_pct", 100 * p->idle,
        "least_bubble_pct", 100 * p->least, "by_stage", list);
}

tutti_status tutti_report_json(const tutti_study *s, const tutti_study_step *typical,
    const tutti_path *path, const tutti_bubble *bubble, FILE *out)
{
    const tutti_timeline *t = s->timeline;
    char advice[512];
    tutti_trace_advise(s, bubble, advice, sizeof advice);
    char *shown = tutti_text_shown(t->path); /* JSON is UTF-8 */
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:o, s:o, s:o, s:o, s:o}",
        "trace", shown ? shown : "", "model", t->model, "design", t->design, "ranks", t->ranks,
        "lanes", t->lanes, "first_step", (json_int_t)t->first_step, "last_step",
        (json_int_t)t->last_step, "spans_dropped", (json_int_t)t->dropped, "step_ms",
        s->mean.end_ms, "exposed_ms", s->mean.exposed_ms, "hidden_pct",
        tutti_study_hidden_pct(&s->mean), "advice", advice, "steps", steps_of(s), "collectives",
        collectives_of(s), "critical_path", path_of(typical, path), "workers", workers_of(s),
        "by_rank", ranks_of(s));
    free(shown);
    if (all && t->tasks)
        json_object_update_new(
            all, json_pack("{s:I, s:I, s:I, s:I, s:I}", "kernels", (json_int_t)t->kernels, "tasks",
                     (json_int_t)t->tasks, "launches", (json_int_t)t->launches, "graphs",
                     (json_int_t)t->graphs, "graph_bytes", (json_int_t)t->graph_bytes));
    if (all && bubble->stages > 1) json_object_set_new(all, "pipeline", pipeline_of(s, bubble));
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "%s: cannot be written as JSON", t->path);
    int failed =
        json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) || fputc('\n', out) == EOF;
    json_decref(all);
    return failed ? tutti_fail(TUTTI_ERR_IO, "%s: its JSON could not be written", t->path)
                  : TUTTI_OK;
}
