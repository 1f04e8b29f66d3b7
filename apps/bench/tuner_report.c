#include "apps/bench/tuner.h"

#include <inttypes.h>
#include <stdio.h>

void tutti_tuner_print_head(const tutti_tuner *b)
{
    printf("%-14s %5s %12s  %-20s %9s %12s %9s %9s %9s%s\n", "", "ranks", "bytes", "algorithm",
        "segment", "us", "/ best", "auto", b->priced ? "priced" : "",
        b->o.library ? " / library / its best" : "");
    fflush(stdout);
}

static void print_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %9.3f", ratio);
    else
        printf(" %9s", "-");
}

void tutti_tuner_report_cell(const tutti_tuner *b, const tutti_tuner_cell *at)
{
    char name[64];
    if (!b->result) return;
    snprintf(name, sizeof name, at->rule.radix ? "%s:%d" : "%s", at->rule.algorithm->name,
        at->rule.radix);
    printf("%-14s %5d %12" PRId64 "  %-20s %9" PRId64 " %12.1f", tutti_coll_kind_name(at->kind),
        at->ranks, at->bytes, name, at->rule.segment, at->us);
    print_ratio(at->over);
    print_ratio(at->over_auto);
    if (b->priced) print_ratio(at->over_priced);
    if (at->over_library > 0)
        printf("%*s %9.3f  %9.3f  %s", b->priced ? 0 : 10, "", at->over_own, at->over_library,
            at->library);
    putchar('\n');
    fflush(stdout);
    tutti_result_event(b->result,
        json_pack(
            "{s:s, s:s, s:i, s:I, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:i, s:s, s:o}",
            "event", "rule", "kind", tutti_coll_kind_name(at->kind), "ranks", at->ranks, "bytes",
            (json_int_t)at->bytes, "algorithm", name, "segment", (json_int_t)at->rule.segment, "us",
            at->us, "over_best", at->over, "auto_over_best", at->over_auto, "priced_over_best",
            at->over_priced, "over_library_choice", at->over_own, "over_library", at->over_library,
            "library", at->library, "count", at->samples, "unit", "us", "samples",
            tutti_result_samples(at->samples, at->sample_s, 1e6)));
}

void tutti_tuner_report_all(const tutti_tuner *b, const char *what, size_t ratio_at)
{
    const double near_best = 1.05;
    int known = 0, within = 0;
    double worst = 1;
    for (int i = 0; i < b->cells; i++) {
        double ratio = *(const double *)((const char *)&b->cell[i] + ratio_at);
        if (ratio <= 0) continue;
        known++;
        within += ratio <= near_best;
        if (ratio > worst) worst = ratio;
    }
    if (!known) return;
    printf("%-8s %4d of %4d within 5 %% of the best (%.0f %%), the worst %.2f times it\n", what,
        within, known, 100.0 * within / known, worst);
    tutti_result_event(
        b->result, json_pack("{s:s, s:s, s:i, s:i, s:f}", "event", "rules", "what", what, "cells",
                       known, "within_5_pct", within, "worst", worst));
}
