#include "apps/bench/verdict.h"

#include "apps/bench/share.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const double COMM_BOUND = 1.05, COMPUTE_BOUND = 1.15, HIDDEN = 0.90, PEER = 1.00,
                    PEER_MEAN = 0.70, CONCURRENT = 1.05, DESIGNS = 1.03, AUTO = 1.03;

typedef struct tally {
    /* below: rows below their limit; medians: rows whose ratios are of medians. */
    int misses, numbers, below, medians;
    double log_sum, log_limit; /* of step / peer with the best design of a cell; of limit / peer */
    int cells;                 /* with a peer */
} tally;

/* "1.034 ok" or "1.210 MISS" into text. */
static const char *check_value(tally *t, char text[24], double value, int holds)
{
    t->numbers++;
    t->misses += !holds;
    snprintf(text, 24, "%.3f %s", value, holds ? "ok" : "MISS");
    return text;
}

/* Step over limit. No step can beat its limit: if one does in every block, limit and step were not measured under the
 * same conditions, which counts as a miss. */
static void judge_limit(tally *t, const tutti_grid_row *r, double most, char text[24])
{
    double over = r->count ? r->over_limit : r->step_ms / r->limit_ms;
    int below = r->count > 1 && r->over_limit_most < 1;
    t->medians += !r->count;
    t->below += below;
    check_value(t, text, over, over <= most && !below);
    if (below) snprintf(text, 24, "%.3f BELOW", over);
}

static double error_of(const tutti_grid_row *r)
{
    return (r->most_ms - r->least_ms) / 2;
}

/* (compute + communicate - step) / what could be hidden; its error combines those of the three times. */
static double hidden_share(
    const tutti_grid_row *compute, const tutti_grid_row *wire, const tutti_grid_row *step)
{
    double hideable = fmin(compute->step_ms, wire->step_ms);
    double error = hypot(hypot(error_of(compute), error_of(wire)), error_of(step));
    if (!(hideable > 0)) return NAN;
    return tutti_share_of(
        (compute->step_ms + wire->step_ms - step->step_ms) / hideable, error / hideable);
}

static void judge_design(tally *t, const tutti_grid_rows *rows, const tutti_grid_row *r)
{
    const tutti_grid_row *compute = tutti_grid_rows_find(rows, r, "compute", NULL),
                         *wire = tutti_grid_rows_find(rows, r, "communicate", NULL);
    char limit[24], share[24] = "unknown", peer[24] = "-", title[TUTTI_GRID_TITLE];
    if (!compute || !wire) return;
    judge_limit(t, r, r->limit_ms > compute->step_ms ? COMM_BOUND : COMPUTE_BOUND, limit);
    double hidden = hidden_share(compute, wire, r);
    if (!isnan(hidden)) check_value(t, share, hidden, hidden >= HIDDEN);
    if (r->over_peer > 0) check_value(t, peer, r->over_peer, r->over_peer <= PEER);
    printf("%-15s %5d %5d %9.0f %-12s %10.2f %10.2f %10.2f  %-11s %-11s %-11s\n",
        tutti_grid_row_title(r, title), r->batch, r->ranks, r->link_mbit, r->name, compute->step_ms,
        wire->step_ms, r->step_ms, limit, share, peer);
}

static void print_value(
    tally *t, const char *what, const tutti_grid_row *cell, double value, double most)
{
    char text[24], title[TUTTI_GRID_TITLE];
    check_value(t, text, value, value <= most);
    printf("%s, %s b%d on %d hosts at %.0f Mbit/s: %s (at most %.2f)\n", what,
        tutti_grid_row_title(cell, title), cell->batch, cell->ranks, cell->link_mbit, text, most);
}

/* Compares the designs of one cell, which is represented by its first design row. */
static void judge_cell(tally *t, const tutti_grid_rows *rows, const tutti_grid_row *first)
{
    const tutti_grid_row *compute = tutti_grid_rows_find(rows, first, "compute", NULL),
                         *funneled = tutti_grid_rows_find(rows, first, "design", "funneled"),
                         *concurrent = tutti_grid_rows_find(rows, first, "design", "concurrent"),
                         *chosen = tutti_grid_rows_find(rows, first, "design", "auto"),
                         *peer = tutti_grid_rows_find(rows, first, "peer", NULL);
    double best = INFINITY, worst = 0, best_peer = INFINITY;
    for (int i = 0; i < rows->count; i++) {
        const tutti_grid_row *r = &rows->row[i];
        if (strcmp(r->kind, "design") != 0 || r == chosen ||
            tutti_grid_rows_find(rows, r, "design", NULL) != first)
            continue;
        best = fmin(best, r->step_ms);
        worst = fmax(worst, r->step_ms);
        if (r->over_peer > 0) best_peer = fmin(best_peer, r->over_peer);
    }
    if (peer && isfinite(best_peer)) {
        t->log_sum += log(best_peer);
        t->log_limit += log(first->limit_ms / peer->step_ms);
        t->cells++;
    }
    if (funneled && concurrent)
        print_value(
            t, "concurrent / funneled", first, concurrent->step_ms / funneled->step_ms, CONCURRENT);
    if (chosen) print_value(t, "auto / best fixed choice", first, chosen->over_best, AUTO);
    if (compute && first->limit_ms <= compute->step_ms && worst > best)
        print_value(t, "slowest / fastest design", first, worst / best, DESIGNS);
}

/* Says so if the rows do not all have one value: a text of the row at this offset, where the file has it. */
static void report_several(const tutti_grid_rows *rows, const char *what, size_t at)
{
    const char *first = NULL;
    int several = 0;
    for (int i = 0; i < rows->count; i++) {
        const char *value = (const char *)&rows->row[i] + at;
        if (*value && !first) first = value;
        several |= *value && strcmp(value, first) != 0;
    }
    if (!several) return;
    printf("Not all rows have the same %s:", what);
    for (int i = 0; i < rows->count; i++) {
        const char *value = (const char *)&rows->row[i] + at;
        int seen = !*value;
        for (int k = 0; k < i && !seen; k++)
            seen = !strcmp(value, (const char *)&rows->row[k] + at);
        if (!seen) printf("%s%s", value == first ? " " : ", ", value);
    }
    puts(".");
}

static void report_unlike(const tutti_grid_rows *rows)
{
    static const struct {
        const char *what;
        size_t at;
    } alike[] = {{"commit", offsetof(tutti_grid_row, commit)},
        {"--priority", offsetof(tutti_grid_row, priority)},
        {"--lanes", offsetof(tutti_grid_row, lanes)},
        {"--workers", offsetof(tutti_grid_row, workers)},
        {"--algorithm", offsetof(tutti_grid_row, algorithm)}};
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        report_several(rows, alike[i].what, alike[i].at);
}

int tutti_verdict_print(const tutti_grid_rows *rows)
{
    tally t = {0};
    printf("%-15s %5s %5s %9s %-12s %10s %10s %10s  %-11s %-11s %-11s\n", "model", "batch", "hosts",
        "Mbit/s", "design", "compute ms", "comm ms", "step ms", "step/limit", "hidden",
        "step/peer");
    for (int i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].kind, "design") == 0) judge_design(&t, rows, &rows->row[i]);
    puts("");
    for (int i = 0; i < rows->count; i++) {
        const tutti_grid_row *r = &rows->row[i];
        if (tutti_grid_rows_find(rows, r, "design", NULL) == r) judge_cell(&t, rows, r);
    }
    if (t.cells > 0) {
        char text[24];
        double mean = exp(t.log_sum / t.cells);
        printf("step / peer, geometric mean over %d cells: %s (at most %.2f)\n", t.cells,
            check_value(&t, text, mean, mean <= PEER_MEAN), PEER_MEAN);
        printf("limit / peer, geometric mean: %.3f (a step cannot be below its limit)\n",
            exp(t.log_limit / t.cells));
    }
    puts("step/limit, step/peer: medians over blocks of the ratio in a block. hidden: a share, "
         "from medians; unknown where\nthe blocks differ too much.");
    if (t.medians > 0)
        printf("%d row%s no ratios by block in the file: step/limit is a ratio of medians there.\n",
            t.medians, t.medians == 1 ? " has" : "s have");
    report_unlike(rows);
    if (t.below > 0)
        printf("BELOW: %d row%s the limit in every block, which no step can: measure again.\n",
            t.below, t.below == 1 ? " beats" : "s beat");
    printf("%d numbers, %d miss\n", t.numbers, t.misses);
    return t.misses;
}
