#include "apps/bench/step_report.h"

#include "dag/step/codec.h"

#include "apps/session/precision.h"

#include "apps/bench/share.h"
#include "dag/base/median.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Minimum, median and maximum over blocks. */
typedef struct spread {
    double least, median, most;
} spread;

static spread spread_of(tutti_step_bench *b, const double values[])
{
    double sorted[TUTTI_STEP_MOST_BLOCKS];
    memcpy(sorted, values, (size_t)b->o.blocks * sizeof *sorted);
    double median = tutti_median((int)b->o.blocks, sorted);
    return (spread){sorted[0], median, sorted[b->o.blocks - 1]};
}

static double median_of(tutti_step_bench *b, const double values[])
{
    return spread_of(b, values).median;
}

/* The median over blocks of the ratio of two rows' times in the same block. */
static double ratio_of(
    tutti_step_bench *b, const tutti_step_row *above, const tutti_step_row *below)
{
    double ratio[TUTTI_STEP_MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) ratio[k] = above->step_s[k] / below->step_s[k];
    return tutti_median((int)b->o.blocks, ratio);
}

/* The time of a step's bytes at the link's rate; 0 if the rate is unknown. */
static double wire_s(tutti_step_bench *b)
{
    const double rate = b->world.link_bytes_per_s;
    return rate > 0 ? (double)b->sent_bytes / rate : 0;
}

/* What no step can beat: all of its computation, or all of its bytes at the link's rate. */
static double limit_s(tutti_step_bench *b)
{
    return fmax(median_of(b, tutti_step_rows_find(b, TUTTI_ROW_COMPUTE)->step_s), wire_s(b));
}

/* A row's time over its limit, block by block; a design is compared with the computation just before and after it. */
static spread over_limit(tutti_step_bench *b, const tutti_step_row *r)
{
    double ratio[TUTTI_STEP_MOST_BLOCKS];
    const double *compute_s = r->kind == TUTTI_ROW_DESIGN
                                  ? r->beside_s
                                  : tutti_step_rows_find(b, TUTTI_ROW_COMPUTE)->step_s;
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = r->step_s[k] / fmax(compute_s[k], wire_s(b));
    return spread_of(b, ratio);
}

/* The median share over the blocks in which it is known. */
static double hidden_of(tutti_step_bench *b, const tutti_step_row *r)
{
    double known[TUTTI_STEP_MOST_BLOCKS];
    int count = 0;
    for (int64_t k = 0; k < b->o.blocks; k++)
        if (!isnan(r->hidden[k])) known[count++] = r->hidden[k];
    return count && r->kind == TUTTI_ROW_DESIGN ? tutti_median(count, known) : NAN;
}

/* Compares the chosen configuration with the fastest fixed design, block by block. */
static void report_choice(tutti_step_bench *b, const tutti_step_row *chosen, json_t *event)
{
    char text[TUTTI_CONFIGURATION_TEXT];
    const tutti_step_row *best = NULL;
    for (int i = 0; i < b->rows; i++) {
        const tutti_step_row *r = &b->row[i];
        if (r->kind != TUTTI_ROW_DESIGN || r == chosen) continue;
        if (!best || median_of(b, r->step_s) < median_of(b, best->step_s)) best = r;
    }
    double over = ratio_of(b, chosen, best);
    tutti_configuration_text(&chosen->configuration, text);
    printf("  %s: %.3f of %s\n", text, over, best->name);
    json_object_set_new(event, "chosen", json_string(text));
    json_object_set_new(event, "over_best", json_real(over));
}

/* What a row's time depends on besides, and a grid may have had otherwise. */
static void add_options(const tutti_step_bench *b, json_t *event)
{
    json_object_set_new(event, "priority", json_string(b->o.priority));
    json_object_set_new(event, "algorithm", json_string(b->o.algorithm));
    json_object_set_new(event, "workers", json_integer(b->o.workers));
    json_object_set_new(event, "lanes",
        b->o.lanes.word ? json_string("auto") : json_integer(b->o.lanes.value));
}

/* The JSON object of a row: its ratios, and the values they come from. */
static json_t *event_of(tutti_step_bench *b, const tutti_step_row *r, double limit)
{
    static const char *const kinds[] = {[TUTTI_ROW_COMPUTE] = "compute",
        [TUTTI_ROW_COMMUNICATE] = "communicate",
        [TUTTI_ROW_DESIGN] = "design",
        [TUTTI_ROW_PEER] = "peer"};
    spread step_s = spread_of(b, r->step_s), over = over_limit(b, r);
    json_t *event = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:I}", "event",
        "step", "kind", kinds[r->kind], "name", r->name, "model", b->o.model, "wire", b->o.wire,
        "compress", b->o.compress, "precision", tutti_precision_word(b->precision), "batch",
        (json_int_t)b->o.batch, "ranks", b->world.boot.size, "link_mbit", b->o.link_mbit.value,
        "step_ms", 1e3 * step_s.median, "least_ms", 1e3 * step_s.least, "most_ms",
        1e3 * step_s.most, "limit_ms", 1e3 * limit, "sent_bytes", (json_int_t)b->sent_bytes);
    json_t *more = json_pack("{s:f, s:f, s:f, s:s, s:I, s:I, s:s, s:o}", "over_limit", over.median,
        "over_limit_least", over.least, "over_limit_most", over.most, "ratio",
        "median of paired ratios, least and largest", "count", (json_int_t)b->o.blocks, "steps",
        (json_int_t)b->o.steps.value, "unit", "ms", "samples",
        tutti_result_samples(b->o.blocks, r->step_s, 1e3));
    json_object_update(event, more);
    json_decref(more);
    add_options(b, event);
    const tutti_run_counts *c = &r->counts;
    if (r->kind == TUTTI_ROW_DESIGN || r->kind == TUTTI_ROW_COMPUTE)
        json_object_update_new(event, json_pack("{s:i, s:i, s:i, s:i, s:I}", "kernels", c->kernels,
                                          "tasks", c->tasks, "launches", c->launches, "graphs",
                                          c->graphs, "graph_bytes", (json_int_t)c->graph_bytes));
    if (r->kind == TUTTI_ROW_DESIGN)
        json_object_set_new(
            event, "compute_beside_ms", tutti_result_samples(b->o.blocks, r->beside_s, 1e3));
    return event;
}

static void report_row(
    tutti_step_bench *b, const tutti_step_row *r, double limit, const tutti_step_row *peer)
{
    spread step_s = spread_of(b, r->step_s);
    double hidden = hidden_of(b, r), over = peer ? ratio_of(b, r, peer) : 0;
    char share[16] = "-", ratio[16] = "-";
    if (r->kind == TUTTI_ROW_DESIGN) tutti_share_text(hidden, share);
    if (peer && r->kind == TUTTI_ROW_DESIGN) snprintf(ratio, sizeof ratio, "%.3f", over);
    printf("%-28s %10.2f %10.3f %9s %10s  (%.2f .. %.2f)\n", r->name, 1e3 * step_s.median,
        over_limit(b, r).median, share, ratio, 1e3 * step_s.least, 1e3 * step_s.most);
    json_t *event = event_of(b, r, limit);
    if (r->kind == TUTTI_ROW_DESIGN) json_object_set_new(event, "hidden", tutti_share_json(hidden));
    if (peer && r->kind == TUTTI_ROW_DESIGN) {
        json_object_set_new(event, "over_peer", json_real(over));
        json_object_set_new(event, "peer", json_string(peer->name));
    }
    if (!strcmp(r->name, "auto")) report_choice(b, r, event);
    tutti_result_event(b->result, event);
}

/* What the best order could gain at the observed rate: a step in program order takes the forward pass (the
 * computation before the first gradient) and everything up to the end of the sum that is needed first; no step takes
 * less than its computation, or than its bytes. */
static void report_outlook(tutti_step_bench *b)
{
    const tutti_outlook *o = &b->outlook;
    if (!o->known) return;
    double compute_s = median_of(b, tutti_step_rows_find(b, TUTTI_ROW_COMPUTE)->step_s);
    double sums_s = (double)b->traffic.bytes * o->seconds_per_byte;
    double forward_s = compute_s > o->backward_s ? compute_s - o->backward_s : 0;
    double gain = (forward_s + o->urgent_s) / (compute_s > sums_s ? compute_s : sums_s);
    if (gain < 1) gain = 1;
    printf(
        "in theory the order of sums can gain a factor of %.3f (%s); seen: gradients within %.2f "
        "ms, %.0f Mbit/s\n",
        gain, o->changes ? "it was changed" : "it was left as it is", 1e3 * o->backward_s,
        8e-6 / o->seconds_per_byte);
    json_t *event = json_pack("{s:s, s:s, s:f, s:b, s:f, s:f}", "event", "order", "model",
        b->o.model, "gain", gain, "changes", o->changes, "backward_ms", 1e3 * o->backward_s,
        "urgent_ms", 1e3 * o->urgent_s);
    tutti_result_event(b->result, event);
}

/* NULL: there is none. */
static const tutti_step_row *fastest_peer(tutti_step_bench *b)
{
    const tutti_step_row *best = NULL;
    for (int i = 0; i < b->rows; i++) {
        const tutti_step_row *r = &b->row[i];
        if (r->kind != TUTTI_ROW_PEER) continue;
        if (!best || median_of(b, r->step_s) < median_of(b, best->step_s)) best = r;
    }
    return best;
}

void tutti_step_report(tutti_step_bench *b)
{
    const double limit = limit_s(b), rate = b->world.link_bytes_per_s;
    const tutti_step_row *peer = fastest_peer(b);
    printf("%d collectives of %.2f MB in all; each rank sends %s%.2f MB per step",
        b->traffic.collectives, (double)b->traffic.bytes / 1e6, b->sent_at_least ? "at least " : "",
        (double)b->sent_bytes / 1e6);
    if (b->codec->compresses) printf(" (gradients as %s)", b->o.compress);
    if (rate > 0) printf(", %.2f ms at the rate of the link", 1e3 * (double)b->sent_bytes / rate);
    printf("\n%-28s %10s %10s %9s %10s  %s\n", "", "ms per step", "/ limit", "hidden", "/ peer",
        "(least .. most)");
    for (int i = 0; i < b->rows; i++) report_row(b, &b->row[i], limit, peer);
    printf("%-28s %10.2f\n", "limit", 1e3 * limit);
    puts("ms: medians over blocks. / limit, / peer: medians over blocks of the ratio in a block; "
         "the limit of a\n"
         "design is the computation just before and after it, or its bytes at the rate of the "
         "link; of several\n"
         "peers, the fastest counts. hidden: share of the time in flight during which a kernel ran "
         "(rank 0)");
    report_outlook(b);
}
