/* dag/run: a step like the last allocates nothing for its nodes, as kernels or as a region. What StarPU allocates for
 * its tasks does not count: this program has a malloc of its own, which counts the calls from its own code. */
#include "dag/kernels/arith.h"
#include "dag/run/starpu.h"
#include "tests/support/testing.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { COUNT = 5, NODES = 40, STEPS = 20 };
static const double patience_s = 20;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern const char __executable_start, etext;
static atomic_int allocations;

static void count(const void *caller)
{
    const char *at = caller;
    if (at >= &__executable_start && at < &etext) atomic_fetch_add(&allocations, 1);
}

void *malloc(size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_calloc(items, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}

/* A chain of sums on three tensors. */
static void build(tutti_graph *g)
{
    static const char *const names[] = {"a", "b", "c"};
    int t[3];
    for (int i = 0; i < 3; i++)
        ck_assert_ok(tutti_graph_tensor(
            g, names[i], TUTTI_ROLE_STATE, TUTTI_F32, tutti_shape_of(COUNT), &t[i]));
    for (int i = 0; i < NODES; i++) {
        const tutti_sum_desc desc = {.count = COUNT, .inputs = 2};
        const tutti_access access[] = {
            {t[i % 3], TUTTI_READ}, {t[(i + 1) % 3], TUTTI_READ}, {t[(i + 2) % 3], TUTTI_WRITE}};
        ck_assert_ok(
            tutti_graph_kernel(g, "sum", &tutti_op_sum, &desc, sizeof desc, 3, access, NULL));
    }
}

/* How often the steps allocate. */
static int run_steps(double region_s)
{
    const tutti_runner *runner = &tutti_runner_starpu;
    const tutti_run_options options = {.workers = 1, .region_s = region_s};
    tutti_graph *g;
    tutti_run *run;
    ck_assert_ok(tutti_graph_new(&g));
    build(g);
    const int before = atomic_load(&allocations);
    ck_assert_ok(runner->open(g, &options, &run));
    const int opened = atomic_load(&allocations);
    ck_assert_int_gt(opened, before);
    for (int i = 0; i < STEPS; i++) {
        ck_assert_ok(runner->submit(run, 0));
        ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    }
    const int made = atomic_load(&allocations) - opened;
    runner->close(run);
    tutti_graph_free(g);
    return made;
}

/* One for each node of the first step, and not again. */
START_TEST(steps_allocate_nothing_for_kernels)
{
    ck_assert_int_lt(run_steps(-1), 2 * NODES);
}
END_TEST

START_TEST(steps_allocate_nothing_for_regions)
{
    ck_assert_int_lt(run_steps(1), STEPS); /* one or two regions */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allocations");
    TCase *tests = testing_case(suite, "allocations");
    tcase_add_test(tests, steps_allocate_nothing_for_kernels);
    tcase_add_test(tests, steps_allocate_nothing_for_regions);
    return testing_run(suite);
}
