#include "apps/tools/info_links.h"

#include "apps/trees/predict.h"
#include "collectives/links/topology_text.h"
#include "collectives/priced.h"
#include "collectives/rules_text.h"
#include "collectives/trees/trees.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Schedules of all ranks are in memory at once, and some take time like the square of their number to build; trees
 * are packed in no time for few ranks. */
enum { MOST_RANKS = 1024, MOST_PACKED = 16 };

tutti_status tutti_info_topology(const char *spec)
{
    tutti_topology *t;
    tutti_status status = tutti_topology_open(spec, &t);
    if (status) return status;
    status = tutti_topology_print(t, stdout);
    tutti_topology_free(t);
    return status;
}

/* The ranks that are the first of their points: rank[], whose length is returned. seen: [points], all 0. */
static int list_first_ranks(const tutti_topology *t, int *rank, int *seen)
{
    int n = 0;
    for (int r = 0; r < t->ranks; r++)
        if (!seen[t->rank_point[r]]++) rank[n++] = r;
    return n;
}

tutti_status tutti_info_routes(const char *spec)
{
    tutti_topology *t;
    tutti_status status = tutti_topology_open(spec, &t);
    if (status) return status;
    const size_t points = (size_t)t->points;
    int64_t *latency_ps = malloc(points * sizeof *latency_ps);
    int *links = calloc(2 * points + (size_t)t->ranks, sizeof *links);
    int *link = links ? links + points : NULL, *rank = links ? link + points : NULL;
    if (!latency_ps || !links)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the routes of %d points", t->points);
    const int n = status ? 0 : list_first_ranks(t, rank, link);
    for (int from = 0; !status && from < t->points; from++) {
        if (t->point[from].is == TUTTI_POINT_DEVICE) continue;
        status = tutti_topology_distances(t, from, latency_ps, links);
        for (int i = 0; !status && i < n; i++) {
            const int to = t->rank_point[rank[i]];
            if (links[to] <= 0) continue;
            const int hops = tutti_topology_walk_back(t, latency_ps, links, to, rank[i], link);
            printf("%s to %s via %s latency %gus\n", t->point[from].name, t->point[to].name,
                t->point[t->link[link[hops - 1]].to].name, 1e-6 * (double)latency_ps[to]);
        }
    }
    free(latency_ps);
    free(links);
    tutti_topology_free(t);
    return status;
}

/* The trees of tutti-trees, in a column of their own; NULL: there are too many ranks, or nothing limits them. */
static tutti_status pack_trees(const tutti_topology *t, tutti_coll_kind kind, tutti_forest **f)
{
    const tutti_trees_options options = {.allreduce = kind == TUTTI_ALLREDUCE};
    tutti_trees_report report;
    *f = NULL;
    if (t->ranks > MOST_PACKED || !tutti_trees_are_limited(t)) return TUTTI_OK;
    return tutti_trees_of(t, &options, f, &report);
}

/* *fastest becomes the price of a column if it is less. */
static void print_price(const tutti_sched_price *p, tutti_sched_price *fastest)
{
    printf(" %18.3f", 1e3 * p->time_s);
    fflush(stdout);
    if (fastest->time_s < 0 || p->time_s < fastest->time_s) *fastest = *p;
}

static tutti_status print_line(const tutti_topology *t, tutti_coll_kind kind,
    const tutti_algorithm *const column[], int n, const tutti_forest *f, int64_t bytes)
{
    tutti_sched_price p, fastest = {.time_s = -1};
    tutti_status status = TUTTI_OK;
    int64_t segment;
    printf("%10lld", (long long)bytes);
    for (int c = 0; !status && c < n; c++) {
        status = tutti_predict_algorithm(t, kind, column[c], bytes / 4, &p);
        if (!status) print_price(&p, &fastest);
    }
    if (!status && f) {
        status = tutti_predict_forest(t, kind, f, bytes / 4, &p, &segment);
        if (!status) print_price(&p, &fastest);
    }
    if (!status) printf("   %3.0f %%\n", 100 * fastest.share);
    return status;
}

static tutti_status print_prices(const tutti_topology *t, tutti_coll_kind kind)
{
    enum { COLUMNS = 16, LEAST = 1 << 10, MOST = 1 << 26 };
    const tutti_algorithm *column[COLUMNS];
    int n = tutti_algorithm_candidates(kind, column, COLUMNS);
    tutti_forest *f;
    tutti_status status = pack_trees(t, kind, &f);
    if (status) return status;
    printf("\n%s, ms\n%10s", tutti_coll_kind_name(kind), "bytes");
    for (int c = 0; c < n; c++) printf(" %18s", column[c]->name);
    if (f) printf(" %18s", "packed-trees");
    printf("   busiest link of the fastest\n");
    for (int64_t bytes = LEAST; !status && bytes <= MOST; bytes *= 4)
        status = print_line(t, kind, column, n, f, bytes);
    tutti_forest_free(f);
    return status;
}

tutti_status tutti_info_prices(const char *spec)
{
    static const tutti_coll_kind kinds[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};
    tutti_topology *t;
    tutti_status status = tutti_topology_open(spec, &t);
    if (status) return status;
    if (t->ranks > MOST_RANKS) {
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--prices %s: it has %d ranks; prices are of %d at most", spec, t->ranks, MOST_RANKS);
        tutti_topology_free(t);
        return status;
    }
    printf("%d ranks, %d links; vectors of float32, all in time over the links of %s\n", t->ranks,
        t->links / 2, spec);
    for (size_t k = 0; !status && k < sizeof kinds / sizeof *kinds; k++)
        status = print_prices(t, kinds[k]);
    tutti_topology_free(t);
    return status;
}

/* The name of what is chosen: of several algorithms that have one schedule for a kind, the first. */
static const char *name_choice(tutti_coll_kind kind, const tutti_choice *choice)
{
    enum { CANDIDATES = 32 };
    const tutti_algorithm *candidate[CANDIDATES];
    const int n = tutti_algorithm_candidates(kind, candidate, CANDIDATES);
    for (int i = 0; i < n; i++)
        if (candidate[i]->build[kind] == choice->build) return candidate[i]->name;
    return choice->algorithm->name;
}

/* What rules choose for float32. */
static void print_choices(const tutti_rules *rules, tutti_coll_kind kind, int ranks)
{
    enum { LEAST = 4, MOST = 1 << 28 };
    printf("%s\n", tutti_coll_kind_name(kind));
    for (int64_t bytes = LEAST; bytes <= MOST; bytes *= 4) {
        printf("%12lld", (long long)bytes);
        for (int near = 0; near < 2; near++) {
            const tutti_choice_key key = {.kind = kind,
                .P = ranks,
                .near = near,
                .count = bytes / 4,
                .element = 4,
                .rules = rules};
            const tutti_choice choice = tutti_coll_choose(tutti_algorithm_find(NULL), &key);
            char name[64];
            snprintf(name, sizeof name, choice.radix ? "%s:%d" : "%s", name_choice(kind, &choice),
                choice.radix);
            printf("  %-20s %10lld", name, (long long)choice.segment * 4);
        }
        putchar('\n');
    }
}

tutti_status tutti_info_rules(const char *spec, int ranks)
{
    static const tutti_coll_kind kinds[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};
    tutti_rules *file = NULL;
    tutti_status status = strcmp(spec, "built-in") != 0 ? tutti_rules_open(spec, &file) : TUTTI_OK;
    if (status) return status;
    if (!ranks) status = tutti_rules_print(file ? file : &tutti_rules_built_in, stdout);
    if (ranks)
        printf("%d ranks, vectors of float32\n%12s  %-20s %10s  %-20s %10s\n", ranks, "bytes",
            "over a network", "segment", "in one machine", "segment");
    for (size_t k = 0; ranks && k < sizeof kinds / sizeof *kinds; k++)
        print_choices(file, kinds[k], ranks);
    for (int near = 0; ranks && near < 2; near++)
        if (tutti_rules_chunk(file, ranks, near))
            printf("chunks %s: %lld bytes\n", near ? "in one machine" : "over a network",
                (long long)tutti_rules_chunk(file, ranks, near));
    tutti_rules_free(file);
    return status;
}
