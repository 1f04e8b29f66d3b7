/* designs/sim: steps in virtual time, of a program that can be reckoned by hand. */
#include "collectives/links/topology_text.h"
#include "dag/kernels/act.h"
#include "designs/sim/sim.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, LAYERS = 4, COUNT = 250000, STEPS = 6, WARM = 2 };

/* Each rank has LAYERS kernels in a row, from the last layer to the first. Each writes a gradient, which is summed
 * over all ranks and then read by an update, before which the next step's kernel cannot write it. */
typedef struct net {
    tutti_graph *graph[MOST];
    double kernel_s;
    int lacks; /* a rank without the sum of layer 0; -1: none */
    int placed; /* ranks whose graph has been placed */
} net;

static int add_tensor(tutti_graph *g, const char *what, int i)
{
    char name[32];
    int tensor;
    snprintf(name, sizeof name, "%s%d", what, i);
    ck_assert_ok(
        tutti_graph_tensor(g, name, TUTTI_ROLE_STATE, TUTTI_F32, tutti_shape_of(COUNT), &tensor));
    return tensor;
}

static void add_kernel(
    tutti_graph *g, const char *what, int i, int accesses, const tutti_access access[])
{
    const tutti_relu_desc relu = {.count = COUNT};
    char name[32];
    int node;
    snprintf(name, sizeof name, "%s%d", what, i);
    ck_assert_ok(
        tutti_graph_kernel(g, name, &tutti_op_relu, &relu, sizeof relu, accesses, access, &node));
}

static tutti_status build(void *ctx, int rank, tutti_exchange *exchange, tutti_graph **graph)
{
    (void)exchange;
    net *n = ctx;
    tutti_graph *g;
    int section, node, gradient[LAYERS];
    ck_assert_ok(tutti_graph_new(&g));
    ck_assert_ok(tutti_graph_section(g, "train", &section));
    int before = add_tensor(g, "x", LAYERS);
    for (int l = LAYERS - 1; l >= 0; l--) {
        const int x = add_tensor(g, "x", l);
        gradient[l] = add_tensor(g, "d.x", l);
        const tutti_access access[] = {
            {before, TUTTI_READ}, {x, TUTTI_WRITE}, {gradient[l], TUTTI_WRITE}};
        add_kernel(g, "layer", l, 3, access);
        const tutti_mark mark = {.tensor = gradient[l]};
        if (l || rank != n->lacks) ck_assert_ok(tutti_graph_mark(g, &mark, &node));
        before = x;
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        const tutti_access access = {gradient[l], TUTTI_READWRITE};
        add_kernel(g, "update", l, 1, &access);
    }
    n->graph[rank] = *graph = g;
    return TUTTI_OK;
}

static double node_s(void *ctx, int rank, const tutti_graph *graph, int node)
{
    const net *n = ctx;
    (void)rank;
    return strncmp(tutti_graph_get_node(graph, node)->name, "layer", 5) == 0 ? n->kernel_s : 0;
}

/* A simulation of P ranks on a star; its steps, if it ends. */
static tutti_status simulate(net *n, int P, const char *star, tutti_sim_options *o,
    double step_s[STEPS], tutti_sim_result *result)
{
    tutti_topology *t;
    const tutti_sim_program program = {.ctx = n, .build = build, .node_s = node_s};
    memset(n->graph, 0, sizeof n->graph);
    ck_assert_ok(tutti_topology_open(star, &t));
    o->topology = t;
    o->ranks = P;
    o->steps = STEPS;
    if (!o->warm) o->warm = WARM;
    const tutti_status status = tutti_sim_run(o, &program, step_s, result);
    for (int r = 0; r < P; r++) tutti_graph_free(n->graph[r]);
    tutti_topology_free(t);
    return status;
}

static tutti_sim_options options_of(const tutti_design *design)
{
    return (tutti_sim_options){.exchange = {.design = design, .unsafe = 1, .algorithm = "ring"}};
}

static int is_near(double x, double wanted, double share)
{
    return fabs(x - wanted) <= share * wanted;
}

/* Where links cost nothing, a step is its kernels; where kernels hide all sums, too; where they are short, a step is
 * what the links take: 2 (P - 1) / P of the bytes of all sums, each way. */
START_TEST(steps_are_the_formulas)
{
    const tutti_design *design = tutti_designs[_i];
    for (int P = 1; P <= MOST; P *= 2) {
        tutti_sim_options o = options_of(design);
        tutti_sim_result r;
        double step_s[STEPS];
        net n = {.kernel_s = 0.01, .lacks = -1};
        const double links_s = LAYERS * 2.0 * (P - 1) / P * COUNT * 4 / 125e6;
        ck_assert_ok(simulate(&n, P, "star:8,1000GB/s", &o, step_s, &r));
        ck_assert_msg(
            is_near(r.step_s, LAYERS * n.kernel_s, tutti_design_overlaps(design) ? 0.01 : 0.05),
            "%s, %d ranks, free links: %g s", design->name, P, r.step_s);
        if (!tutti_design_overlaps(design)) continue;
        n.kernel_s = 0.03;
        ck_assert_ok(simulate(&n, P, "star:8,1Gbit/s", &o, step_s, &r));
        ck_assert_msg(is_near(r.step_s, LAYERS * n.kernel_s, 0.01),
            "%s, %d ranks, long kernels: %g s", design->name, P, r.step_s);
        ck_assert(is_near(r.compute_s, LAYERS * n.kernel_s, 1e-9));
        n.kernel_s = 0.0001;
        ck_assert_ok(simulate(&n, P, "star:8,1Gbit/s", &o, step_s, &r));
        ck_assert_msg(P == 1 || is_near(r.step_s, links_s, 0.03),
            "%s, %d ranks, short kernels: %g s, not %g", design->name, P, r.step_s, links_s);
        ck_assert(is_near(r.total_s, step_s[STEPS - 1], 1e-9));
    }
}
END_TEST

/* Two stages of kernels that take as long: rank 0 has a kernel for each micro-batch and sends what it wrote; rank 1
 * receives it for its own. */
enum { PARTS = 4 };

static tutti_status build_stage(void *ctx, int rank, tutti_exchange *exchange, tutti_graph **graph)
{
    net *n = ctx;
    tutti_graph *g;
    int section, node;
    (void)exchange;
    ck_assert_ok(tutti_graph_new(&g));
    ck_assert_ok(tutti_graph_section(g, "train", &section));
    const int x = add_tensor(g, "x", 0);
    for (int m = 0; m < PARTS; m++) {
        const int y = add_tensor(g, "y", m);
        const tutti_access access[] = {{rank ? y : x, TUTTI_READ}, {rank ? x : y, TUTTI_WRITE}};
        const tutti_mark mark = {
            .verb = rank ? TUTTI_MARK_RECV : TUTTI_MARK_SEND, .tensor = y, .peer = !rank};
        if (rank) ck_assert_ok(tutti_graph_mark(g, &mark, &node));
        add_kernel(g, "layer", m, 2, access);
        if (!rank) ck_assert_ok(tutti_graph_mark(g, &mark, &node));
    }
    n->graph[rank] = *graph = g;
    return TUTTI_OK;
}

static tutti_status count_placed(void *ctx, int rank)
{
    (void)rank;
    ((net *)ctx)->placed++;
    return TUTTI_OK;
}

/* A message takes COUNT * 4 / 125e6 = 8 ms. Kernels of 10 ms hide all but the first; kernels of 2 ms are hidden. */
START_TEST(pipelines_are_the_formulas)
{
    static const double message_s = COUNT * 4 / 125e6;
    for (int hides = 0; hides < 2; hides++) {
        tutti_sim_options o = options_of(tutti_design_find("funneled"));
        tutti_sim_result r;
        tutti_topology *t;
        double step_s[STEPS];
        net n = {.kernel_s = hides ? 0.010 : 0.002};
        const tutti_sim_program program = {
            .ctx = &n, .build = build_stage, .finalize = count_placed, .node_s = node_s};
        const double wanted_s = hides ? n.kernel_s + message_s + PARTS * n.kernel_s
                                      : n.kernel_s + PARTS * message_s + n.kernel_s;
        ck_assert_ok(tutti_topology_open("star:2,1Gbit/s", &t));
        o.topology = t;
        o.ranks = 2;
        o.steps = 1;
        o.exchange.messages = 1;
        ck_assert_ok(tutti_sim_run(&o, &program, step_s, &r));
        ck_assert_msg(is_near(step_s[0], wanted_s, 0.01), "%s: %g s, not %g",
            hides ? "long kernels" : "short kernels", step_s[0], wanted_s);
        ck_assert_int_eq(n.placed, 2);
        for (int i = 0; i < 2; i++) tutti_graph_free(n.graph[i]);
        tutti_topology_free(t);
    }
}
END_TEST

/* The same options, the same bits; noise is the same in all designs, and another with another seed. */
START_TEST(runs_repeat)
{
    double step_s[3][STEPS];
    tutti_sim_result r[3], other;
    for (int i = 0; i < 3; i++) {
        net n = {.kernel_s = 0.01, .lacks = -1};
        tutti_sim_options o = options_of(tutti_design_find(i < 2 ? "funneled" : "concurrent"));
        o.noise = 0.3;
        o.seed = 7;
        ck_assert_ok(simulate(&n, 4, "star:4,1Gbit/s", &o, step_s[i], &r[i]));
        o.seed = 8;
        if (!i) ck_assert_ok(simulate(&n, 4, "star:4,1Gbit/s", &o, NULL, &other));
    }
    ck_assert(memcmp(step_s[0], step_s[1], sizeof *step_s) == 0 && r[0].events == r[1].events);
    ck_assert(is_near(r[0].compute_s, r[2].compute_s, 1e-9));
    ck_assert(!is_near(r[0].compute_s, other.compute_s, 1e-3));
    ck_assert(r[0].step_s > r[0].compute_s); /* the slowest rank counts */
}
END_TEST

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of an even number of steps that count, the median is the mean of the two in the middle. */
START_TEST(the_median_step_is_the_result)
{
    for (int warm = 1; warm < STEPS; warm++) {
        double end_s[STEPS], took_s[STEPS];
        const int counted = STEPS - warm, middle = warm + counted / 2;
        net n = {.kernel_s = 0.01, .lacks = -1};
        tutti_sim_options o = options_of(tutti_design_find("funneled"));
        tutti_sim_result r;
        o.noise = 0.3;
        o.seed = 7;
        o.warm = warm;
        ck_assert_ok(simulate(&n, 4, "star:4,1Gbit/s", &o, end_s, &r));
        for (int i = 1; i < STEPS; i++) took_s[i] = end_s[i] - end_s[i - 1];
        qsort(took_s + warm, (size_t)counted, sizeof *took_s, by_size);
        const double wanted_s =
            counted % 2 ? took_s[middle] : (took_s[middle - 1] + took_s[middle]) / 2;
        ck_assert_msg(is_near(r.step_s, wanted_s, 1e-12), "of %d steps: %g s, not %g", counted,
            r.step_s, wanted_s);
    }
}
END_TEST

/* A pass that does only what messages need finds what a whole one finds. */
START_TEST(passes_do_not_matter)
{
    double step_s[2][STEPS];
    tutti_sim_result r[2];
    for (int i = 0; i < 2; i++) {
        net n = {.kernel_s = 0.002, .lacks = -1};
        tutti_sim_options o = options_of(tutti_designs[_i / TUTTI_VERIFY_MODES]);
        o.exchange.verify = (tutti_verify_mode)(_i % TUTTI_VERIFY_MODES);
        o.exchange.chunk_bytes = COUNT;
        o.noise = 0.3;
        o.seed = 7;
        o.whole_passes = i;
        ck_assert_ok(simulate(&n, 4, "star:4,1Gbit/s", &o, step_s[i], &r[i]));
    }
    ck_assert(memcmp(step_s[0], step_s[1], sizeof *step_s) == 0);
    ck_assert(r[0].events == r[1].events && r[0].messages == r[1].messages);
}
END_TEST

/* A rank that lacks a sum: what ranks compare tells it; if they do not, the others wait for ever, which is told. */
START_TEST(mistakes)
{
    net n = {.kernel_s = 0.01, .lacks = 2};
    tutti_sim_options o = options_of(tutti_design_find("funneled"));
    tutti_sim_result r;
    ck_assert_int_eq(simulate(&n, 4, "star:4,1Gbit/s", &o, NULL, &r), TUTTI_ERR_TIMEOUT);
    ck_assert_msg(strstr(tutti_last_error(), "3 of 4 ranks have not ended") != NULL, "%s",
        tutti_last_error());
    o.exchange.verify = TUTTI_VERIFY_ON;
    ck_assert_int_eq(simulate(&n, 4, "star:4,1Gbit/s", &o, NULL, &r), TUTTI_ERR_MISMATCH);
    ck_assert_msg(
        strstr(tutti_last_error(), "collectives differ") != NULL, "%s", tutti_last_error());
    o.exchange.verify = TUTTI_VERIFY_OFF;
    n.lacks = -1;
    o.exchange.topology = "star:9"; /* of other ranks: each closes the transport that it was given */
    ck_assert_int_eq(simulate(&n, 4, "star:4,1Gbit/s", &o, NULL, &r), TUTTI_ERR_USAGE);
    o.exchange.topology = NULL;
    ck_assert_int_eq(simulate(&n, 5, "star:4,1Gbit/s", &o, NULL, &r), TUTTI_ERR_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *tcase = testing_case(suite, "sim");
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    tcase_add_loop_test(tcase, steps_are_the_formulas, 0, designs);
    tcase_add_test(tcase, pipelines_are_the_formulas);
    tcase_add_test(tcase, runs_repeat);
    tcase_add_test(tcase, the_median_step_is_the_result);
    tcase_add_loop_test(tcase, passes_do_not_matter, 0, designs * TUTTI_VERIFY_MODES);
    tcase_add_test(tcase, mistakes);
    return testing_run(suite);
}
