/* dag/graph/region.h: which kernels become one task, and what the check refuses. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/graph/edges.h"
#include "dag/graph/region.h"
#include "tests/support/testing.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

/* A graph under construction. Every kernel is expected to take a second. */
typedef struct drawing {
    tutti_graph *graph;
    tutti_regions regions;
    double node_s[MOST];
} drawing;

static void begin(drawing *d)
{
    *d = (drawing){0};
    ck_assert_ok(tutti_graph_new(&d->graph));
    for (int n = 0; n < MOST; n++) d->node_s[n] = 1;
}

static void end(drawing *d)
{
    tutti_regions_free(&d->regions);
    tutti_graph_free(d->graph);
}

static int tensor(drawing *d, const char *name, tutti_role role)
{
    int t = tutti_graph_find(d->graph, name);
    if (t < 0)
        ck_assert_ok(tutti_graph_tensor(d->graph, name, role, TUTTI_F32, tutti_shape_of(4), &t));
    return t;
}

/* The role by the first letter: x input, w parameter, g gradient, others scratch. */
static tutti_role role_of(char letter)
{
    return letter == 'x'   ? TUTTI_ROLE_INPUT
           : letter == 'w' ? TUTTI_ROLE_PARAMETER
           : letter == 'g' ? TUTTI_ROLE_GRADIENT
                           : TUTTI_ROLE_SCRATCH;
}

/* kernel(d, "f1", "x w1", "y1"): what it reads, and what it writes; a name in both is read and written. */
static int kernel(drawing *d, const char *name, const char *reads, const char *writes)
{
    tutti_access access[8];
    int count = 0, n;
    char text[2][128];
    snprintf(text[0], sizeof text[0], "%s", reads);
    snprintf(text[1], sizeof text[1], "%s", writes);
    for (int w = 0; w < 2; w++)
        for (char *rest, *word = strtok_r(text[w], " ", &rest); word;
             word = strtok_r(NULL, " ", &rest)) {
            const int t = tensor(d, word, role_of(*word));
            int at = 0;
            while (at < count && access[at].tensor != t) at++;
            if (at < count)
                access[at].mode = TUTTI_READWRITE;
            else
                access[count++] = (tutti_access){t, w ? TUTTI_WRITE : TUTTI_READ};
        }
    ck_assert_ok(tutti_graph_kernel(d->graph, name, NULL, NULL, 0, count, access, &n));
    return n;
}

static int sum(drawing *d, const char *first, const char *second)
{
    int mark[2], last = 0;
    const char *const names[] = {first, second};
    for (int i = 0; i < 2 && names[i]; i++)
        ck_assert_ok(tutti_graph_mark(d->graph,
            &(tutti_mark){.tensor = tensor(d, names[i], role_of(*names[i]))}, &mark[last = i]));
    if (second) ck_assert_ok(tutti_graph_fuse(d->graph, 2, mark));
    ck_assert_ok(tutti_graph_set_collective(d->graph, mark[last], "", 1));
    return mark[last];
}

static void find(drawing *d, double longest_s, int workers)
{
    const tutti_region_rule rule = {longest_s, workers};
    tutti_regions_free(&d->regions);
    ck_assert_ok(tutti_regions_find(d->graph, d->node_s, &rule, &d->regions));
    ck_assert_ok(tutti_regions_check(d->graph, &d->regions, workers));
}

/* The regions as text: "f1..f3 b2..b1". */
static const char *found(const drawing *d)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (int r = 0; r < d->regions.regions; r++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%s", used ? " " : "", d->regions.region[r].name);
    return text;
}

/* Two dense layers, forward and backward; sums of the gradients, one for both or one for each. */
static void draw_layers(drawing *d, int sums)
{
    begin(d);
    kernel(d, "f1", "x w1", "a1");
    kernel(d, "f2", "a1 w2", "a2");
    kernel(d, "loss", "a2", "e2");
    kernel(d, "wgrad2", "a1 e2", "g2");
    if (sums == 2) sum(d, "g2", NULL);
    kernel(d, "dgrad2", "e2 w2", "e1");
    kernel(d, "wgrad1", "x e1", "g1");
    if (sums == 2) sum(d, "g1", NULL);
    if (sums == 1) sum(d, "g2", "g1");
    kernel(d, "update2", "w2 g2", "w2");
    kernel(d, "update1", "w1 g1", "w1");
}

START_TEST(a_step_of_one_rank_is_one_region)
{
    drawing d;
    draw_layers(&d, 0);
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "f1..update1");
    ck_assert_int_eq(d.regions.region[0].nodes, 8);
    ck_assert(d.regions.region[0].expected_s > 7.5);
    find(&d, 3, 1);
    ck_assert_str_eq(found(&d), "f1..loss wgrad2..wgrad1 update2..update1");
    find(&d, 0, 1);
    ck_assert_str_eq(found(&d), "");
    end(&d);
}
END_TEST

START_TEST(a_region_says_what_it_does_to_tensors)
{
    drawing d;
    begin(&d);
    kernel(&d, "one", "x", "a");
    kernel(&d, "two", "a w", "w");
    kernel(&d, "three", "w", "a");
    kernel(&d, "four", "x b", "c");
    kernel(&d, "five", "c", "b");
    find(&d, 100, 1);
    const tutti_region *r = &d.regions.region[0];
    static const tutti_mode wanted[] = {
        TUTTI_READ, TUTTI_WRITE, TUTTI_READWRITE, TUTTI_READWRITE, TUTTI_WRITE};
    ck_assert_int_eq(r->accesses, 5); /* x, a, w, b, c */
    for (int a = 0; a < 5; a++) ck_assert_int_eq(r->access[a].mode, wanted[a]);
    end(&d);
}
END_TEST

START_TEST(no_sum_starts_later)
{
    drawing d;
    draw_layers(&d, 2);
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "f2..wgrad2 dgrad2..wgrad1");
    end(&d);
    draw_layers(&d, 1); /* which waits for the gradient of the first layer anyway */
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "f1..wgrad1 update2..update1");
    end(&d);
}
END_TEST

/* Parameters of a store of keys come one by one, and a gradient that no node reads goes there when it is
 * whole. */
START_TEST(a_store_of_keys_is_outside)
{
    drawing d;
    begin(&d);
    kernel(&d, "f1", "x w1", "a1");
    kernel(&d, "f2", "a1 w2", "a2");
    kernel(&d, "loss", "a2", "e2");
    kernel(&d, "wgrad2", "a1 e2", "g2");
    kernel(&d, "dgrad2", "e2 w2", "e1");
    kernel(&d, "wgrad1", "x e1", "g1");
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "f2..wgrad2 dgrad2..wgrad1");
    end(&d);
}
END_TEST

/* What is fed comes together: who waits for some of it may wait for the rest. */
START_TEST(nodes_of_a_region_wait_for_the_same)
{
    drawing d;
    begin(&d);
    kernel(&d, "narrow", "a", "b");
    kernel(&d, "first", "x1 b", "c");
    kernel(&d, "second", "x2 c", "e");
    sum(&d, "c", NULL);
    kernel(&d, "third", "e", "h");
    kernel(&d, "fourth", "c h", "i");
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "first..second");
    end(&d);
}
END_TEST

/* The ranks may agree to sum b first, for which nothing of a is needed: so "other" does not wait for the sum of a. */
START_TEST(no_sum_waits_for_another_one_more)
{
    drawing d;
    begin(&d);
    kernel(&d, "one", "x", "a");
    sum(&d, "a", NULL);
    kernel(&d, "after", "x a", "c");
    kernel(&d, "other", "x", "b");
    kernel(&d, "another", "x b", "b");
    sum(&d, "b", NULL);
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "other..another");
    end(&d);
}
END_TEST

/* With two workers, what could run at the same time stays apart. */
START_TEST(several_workers_share_what_is_no_chain)
{
    drawing d;
    begin(&d);
    kernel(&d, "stem", "x", "a");
    kernel(&d, "left", "a", "b");
    kernel(&d, "more_left", "b", "c");
    kernel(&d, "right", "a", "e");
    kernel(&d, "more_right", "e", "f");
    kernel(&d, "join", "c f", "h");
    find(&d, 100, 2);
    ck_assert_str_eq(found(&d), "stem..more_left right..more_right");
    find(&d, 100, 1);
    ck_assert_str_eq(found(&d), "stem..join");
    end(&d);
}
END_TEST

/* With two workers another one may compute what the sum waits for while this one is in a region. */
START_TEST(several_workers_delay_no_sum)
{
    drawing d;
    begin(&d);
    kernel(&d, "stem", "x", "a");
    kernel(&d, "chain", "a", "b");
    kernel(&d, "tail", "b", "c");
    kernel(&d, "branch", "a", "g1");
    sum(&d, "g1", NULL);
    find(&d, 100, 2);
    ck_assert_str_eq(found(&d), "chain..tail"); /* "branch" can begin once "stem" has ended */
    end(&d);
}
END_TEST

/* ---- large sections ---- */

/* A chain of kernels that ends with "first" and "second", which also reads what its first kernel wrote. */
static void draw_chain(drawing *d, int kernels)
{
    char name[16], reads[16] = "far", writes[16];
    begin(d);
    kernel(d, "k", "x", "far");
    for (int k = 1; k < kernels; k++) {
        snprintf(name, sizeof name, "k%d", k);
        snprintf(writes, sizeof writes, "c%d", k % 2);
        kernel(d, name, reads, writes);
        memcpy(reads, writes, sizeof reads);
    }
    kernel(d, "first", reads, "p");
    kernel(d, "second", "p far", "q");
}

/* Everything that a node follows is known in sections of up to 46,000 nodes, and in larger ones what is near. */
START_TEST(large_sections_take_bounded_memory)
{
    static const int kernels[] = {40000, 50000};
    drawing d;
    draw_chain(&d, kernels[_i]);
    double *node_s = calloc((size_t)kernels[_i] + 2, sizeof *node_s);
    ck_assert_ptr_nonnull(node_s);
    for (int n = 0; n < kernels[_i] + 2; n++) node_s[n] = n < kernels[_i] - 2 ? 10 : 1;
    const tutti_region_rule rule = {4, 2};
    ck_assert_ok(tutti_regions_find(d.graph, node_s, &rule, &d.regions));
    ck_assert_ok(tutti_regions_check(d.graph, &d.regions, 2));
    char wanted[64];
    snprintf(wanted, sizeof wanted, "k%d..%s", kernels[_i] - 2, _i ? "first" : "second");
    ck_assert_str_eq(found(&d), wanted);
    free(node_s);
    end(&d);
}
END_TEST

/* ---- random graphs ---- */

static uint64_t draws;
static int below(uint64_t seed, int most)
{
    return (int)tutti_rng_below(seed, 1, draws++, (uint64_t)most);
}

static void draw_random(drawing *d, uint64_t seed)
{
    static const char letters[] = "xwgabcde";
    begin(d);
    const int nodes = 5 + below(seed, 40);
    for (int n = 0; n < nodes; n++) {
        char name[16], reads[64] = "", writes[16];
        snprintf(name, sizeof name, "n%d", n);
        snprintf(writes, sizeof writes, "%c%d", letters[1 + below(seed, 7)], below(seed, 3));
        if (below(seed, 6) == 0) {
            sum(d, writes, NULL);
            continue;
        }
        for (int i = below(seed, 3); i >= 0; i--) {
            char word[8];
            snprintf(word, sizeof word, " %c%d", letters[below(seed, 8)], below(seed, 3));
            if (!strstr(reads, word)) strcat(reads, word);
        }
        kernel(d, name, reads, writes);
        d->node_s[tutti_graph_nodes(d->graph) - 1] = 1 + below(seed, 3);
    }
}

/* Nodes as a runner with regions submits them: those of a region at the place of its first one. */
static int order_of(const drawing *d, int order[])
{
    int count = 0;
    for (int n = 0; n < tutti_graph_nodes(d->graph); n++) {
        const int r = d->regions.of[n];
        const tutti_region *region = r < 0 ? NULL : &d->regions.region[r];
        if (!tutti_node_runs(tutti_graph_get_node(d->graph, n))) continue;
        if (!region) order[count++] = n;
        for (int i = 0; region && region->node[0] == n && i < region->nodes; i++)
            order[count++] = region->node[i];
    }
    return count;
}

typedef struct places {
    int at[MOST];
    int wrong;
} places;

static void compare(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    places *p = ctx;
    (void)edge;
    p->wrong |= from != to && p->at[from] > p->at[to];
}

/* Every edge of the graph leads forward in the order that regions make: so it is one of the orders that the graph
 * allows, and the tasks make no circle. */
static void check_order(const drawing *d)
{
    int order[MOST];
    places p = {.wrong = 0};
    tutti_edges *edges;
    const int count = order_of(d, order);
    for (int i = 0; i < count; i++) p.at[order[i]] = i;
    ck_assert_ok(tutti_edges_new(tutti_graph_tensors(d->graph), &edges));
    for (int n = 0; n < tutti_graph_nodes(d->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(d->graph, n);
        if (tutti_node_runs(node))
            ck_assert_ok(tutti_edges_add(edges, n, node->accesses, node->access, compare, &p));
    }
    tutti_edges_free(edges);
    ck_assert(!p.wrong);
}

START_TEST(random_graphs_keep_their_order)
{
    const uint64_t seed = testing_seed(1);
    int regions = 0;
    for (uint64_t i = 0; i < 400; i++) {
        drawing d;
        draw_random(&d, seed + i);
        for (int workers = 1; workers <= 2; workers++) {
            find(&d, 1 + below(seed + i, 12), workers);
            regions += d.regions.regions;
            check_order(&d);
        }
        end(&d);
    }
    ck_assert_int_gt(regions, 400);
}
END_TEST

/* ---- the check ---- */

/* A region of these nodes is refused. */
static void refused(drawing *d, int workers, int count, const int nodes[])
{
    int of[MOST];
    tutti_region region = {.name = "made", .nodes = count, .node = nodes};
    const tutti_regions made = {
        .regions = 1, .region = &region, .nodes = tutti_graph_nodes(d->graph), .of = of};
    for (int n = 0; n < made.nodes; n++) of[n] = -1;
    for (int i = 0; i < count; i++) of[nodes[i]] = 0;
    ck_assert_int_eq(tutti_regions_check(d->graph, &made, workers), TUTTI_ERR_INTERNAL);
}

#define REFUSED(workers, ...)                                                                      \
    refused(&d, workers, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

START_TEST(wrong_regions_are_refused)
{
    drawing d;
    tutti_log_set_level(TUTTI_LOG_NONE);
    draw_layers(&d, 2);     /* f1 f2 loss wgrad2 [sum] dgrad2 wgrad1 [sum] update2 update1 */
    REFUSED(1, 0, 1);       /* f2 waits for another sum of the step before */
    REFUSED(1, 1, 2, 3, 5); /* a node more behind the last one that the sum waits for */
    REFUSED(1, 5, 6, 8);    /* update2 follows a sum that is outside */
    REFUSED(1, 8, 9);       /* update1 waits for another sum */
    REFUSED(1, 1, 3);       /* wgrad2 follows loss, outside */
    REFUSED(1, 2, 1);       /* out of order */
    REFUSED(1, 3, 4);       /* a sum is no kernel */
    REFUSED(2, 5, 8);
    tutti_log_set_level(TUTTI_LOG_ERROR);
    end(&d);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("region");
    TCase *found_case = testing_case(suite, "find"), *checked = testing_case(suite, "check");
    tcase_add_test(found_case, a_step_of_one_rank_is_one_region);
    tcase_add_test(found_case, a_region_says_what_it_does_to_tensors);
    tcase_add_test(found_case, no_sum_starts_later);
    tcase_add_test(found_case, a_store_of_keys_is_outside);
    tcase_add_test(found_case, nodes_of_a_region_wait_for_the_same);
    tcase_add_test(found_case, no_sum_waits_for_another_one_more);
    tcase_add_test(found_case, several_workers_share_what_is_no_chain);
    tcase_add_test(found_case, several_workers_delay_no_sum);
    tcase_add_loop_test(found_case, large_sections_take_bounded_memory, 0, 2);
    tcase_add_test(found_case, random_graphs_keep_their_order);
    tcase_add_test(checked, wrong_regions_are_refused);
    return testing_run(suite);
}
