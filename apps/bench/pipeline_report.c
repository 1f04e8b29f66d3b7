#include "apps/bench/pipeline_rows.h"

#include "dag/base/median.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double median_of(const tutti_pipeline_bench *b, const double values[])
{
    double sorted[TUTTI_PIPELINE_MOST_BLOCKS];
    memcpy(sorted, values, (size_t)b->o.blocks * sizeof *sorted);
    return tutti_median((int)b->o.blocks, sorted);
}

/* The median over blocks of the ratio of two rows' images per second. */
static double speedup(
    const tutti_pipeline_bench *b, const tutti_pipeline_row *r, const tutti_pipeline_row *base)
{
    double ratio[TUTTI_PIPELINE_MOST_BLOCKS];
    if (!base) return NAN;
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = (double)r->images / r->step_s[k] / ((double)base->images / base->step_s[k]);
    return tutti_median((int)b->o.blocks, ratio);
}

/* "1.234", or "-" where there is nothing to tell. */
static const char *figure(double value, const char *format, char text[16])
{
    if (isnan(value)) return "-";
    snprintf(text, 16, format, value);
    return text;
}

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static void report_row(tutti_pipeline_bench *b, tutti_pipeline_row *r)
{
    static const char *const kinds[] = {[TUTTI_PIPELINE_WHOLE] = "whole",
        [TUTTI_PIPELINE_STAGES] = "stages",
        [TUTTI_PIPELINE_PARALLEL] = "parallel",
        [TUTTI_PIPELINE_PEER] = "peer"};
    char text[5][16], layout[TUTTI_LAYOUT_TEXT];
    int own = r->kind != TUTTI_PIPELINE_PEER;
    double step_s = median_of(b, r->step_s), idle = own ? median_of(b, r->idle) : NAN;
    double over_whole = speedup(b, r, tutti_pipeline_find(b, TUTTI_PIPELINE_WHOLE));
    double over_parallel = speedup(b, r, tutti_pipeline_find(b, TUTTI_PIPELINE_PARALLEL));
    double over_peer = speedup(b, r, tutti_pipeline_find(b, TUTTI_PIPELINE_PEER));
    printf("%-34s %10.2f %10.1f %7s %9s %8s %8s %8s\n", r->name, 1e3 * step_s,
        (double)r->images / step_s, figure(100 * idle, "%.1f", text[0]),
        figure(r->activation_bytes / 1e6, "%.2f", text[1]), figure(over_whole, "%.3f", text[2]),
        figure(over_parallel, "%.3f", text[3]), figure(over_peer, "%.3f", text[4]));
    json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:I, s:f, s:f}",
        "event", "pipeline", "kind", kinds[r->kind], "name", r->name, "model", b->o.model, "layout",
        tutti_layout_print(&b->placement, layout), "pipeline", b->o.pipeline, "batch",
        (json_int_t)b->o.batch, "micro_batches", (json_int_t)b->o.micro_batches, "ranks",
        b->world.boot.size, "images", (json_int_t)r->images, "step_ms", 1e3 * step_s,
        "images_per_s", (double)r->images / step_s);
    json_object_set_new(event, "link_mbit", json_real(tutti_conf_real_or(b->o.link_mbit, 0)));
    json_object_set_new(event, "idle_pct", number(100 * idle));
    json_object_set_new(event, "activation_bytes", number(r->activation_bytes));
    json_object_set_new(event, "over_whole", number(over_whole));
    json_object_set_new(event, "over_parallel", number(over_parallel));
    json_object_set_new(event, "over_peer", number(over_peer));
    json_object_set_new(event, "steps", json_integer(b->o.steps.value));
    json_object_set_new(event, "count", json_integer(b->o.blocks));
    json_object_set_new(event, "unit", json_string("ms"));
    json_object_set_new(event, "samples", tutti_result_samples(b->o.blocks, r->step_s, 1e3));
    tutti_result_event(b->result, event);
}

void tutti_pipeline_report(tutti_pipeline_bench *b)
{
    int stages = b->placement.stages;
    double least = (stages - 1.0) / ((double)b->o.micro_batches + stages - 1);
    printf("%-34s %10s %10s %7s %9s %8s %8s %8s\n", "", "ms a step", "images/s", "idle %",
        "activ. MB", "/ whole", "/ par.", "/ peer");
    for (int i = 0; i < b->rows; i++) report_row(b, &b->row[i]);
    if (stages > 1) {
        printf("equal stages would be idle for %.1f %% of a step's passes\n", 100 * least);
        tutti_result_number(b->result, "idle with equal stages", "%", 100 * least);
    }
    puts(
        "idle: share of a step in which a rank runs no kernel, the ranks' mean. activ.: bytes that "
        "forward passes\nleave for backward passes, and gradients of values, on the rank that "
        "needs "
        "most. / whole, / par., / peer:\nimages per second over those of the whole net on one "
        "rank, "
        "of data parallelism, of the first peer: medians\nover blocks of the ratio in a block");
}
