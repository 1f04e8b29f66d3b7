/* execute_many: kernels of one row are given to its `many` together, all others to fn in their order. */
#include "dag/run/binding.h"

#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "tests/support/testing.h"

#include <string.h>

enum { NODES = 600 };
static int alone, together, largest, wrong, fails;
static char names[NODES], buffers[NODES], stream;

/* The argument of node i is names + i, its buffers are {buffers + i}. */
static tutti_status one(const void *args, void *const buf[], void *queue)
{
    alone++;
    wrong += (char *)buf[0] - buffers != (const char *)args - names || queue != &stream;
    return fails ? TUTTI_ERR_KERNEL : TUTTI_OK;
}

static tutti_status many(int count, void *const args[], void *const *const buf[], void *queue)
{
    for (int i = 0; i < count; i++) one(args[i], buf[i], queue);
    alone -= count;
    together += count;
    largest = count > largest ? count : largest;
    return fails ? TUTTI_ERR_KERNEL : TUTTI_OK;
}

static const tutti_kernel has_many = {.op = &tutti_op_narrow, .fn = one, .many = many},
                          has_none = {.op = &tutti_op_widen, .fn = one};

/* Kernels of `rows`, in turns. Returns the status. */
static tutti_status execute(int count, int rows, const tutti_kernel *const row[])
{
    static const tutti_kernel *kernel[NODES];
    static void *args[NODES], *buf[NODES][1], *const *bufs[NODES];
    static int nodes[NODES];
    const int desc = 0;
    tutti_graph *graph;
    int t;
    ck_assert_ok(tutti_graph_new(&graph));
    ck_assert_ok(
        tutti_graph_tensor(graph, "t", TUTTI_ROLE_INPUT, TUTTI_F32, tutti_shape_of(1), &t));
    const tutti_access access = {t, TUTTI_READ};
    for (int i = 0; i < NODES; i++) {
        char name[16];
        int n;
        snprintf(name, sizeof name, "node%d", i);
        ck_assert_ok(
            tutti_graph_kernel(graph, name, &tutti_op_narrow, &desc, sizeof desc, 1, &access, &n));
        kernel[i] = row[i % rows];
        args[i] = names + i;
    }
    for (int i = 0; i < count; i++) { /* from the last one on */
        nodes[i] = NODES - 1 - i;
        buf[i][0] = buffers + nodes[i];
        bufs[i] = buf[i];
    }
    const tutti_binding binding = {.graph = graph, .nodes = NODES, .kernel = kernel, .args = args};
    alone = together = largest = wrong = 0;
    const tutti_status status = tutti_binding_execute_many(&binding, count, nodes, bufs, &stream);
    tutti_graph_free(graph);
    ck_assert_int_eq(wrong, 0);
    return status;
}

START_TEST(one_row_together)
{
    for (int count = 2; count <= NODES; count += 299) {
        ck_assert_ok(execute(count, 1, (const tutti_kernel *[]){&has_many}));
        ck_assert_int_eq(together, count);
        ck_assert_int_eq(alone, 0);
    }
    ck_assert_int_gt(largest, 100);
}
END_TEST

START_TEST(others_one_by_one)
{
    ck_assert_ok(execute(NODES, 1, (const tutti_kernel *[]){&has_none}));
    ck_assert_int_eq(alone, NODES);
    ck_assert_ok(execute(NODES, 2, (const tutti_kernel *[]){&has_many, &has_none}));
    ck_assert_int_eq(alone, NODES);
    ck_assert_ok(execute(1, 1, (const tutti_kernel *[]){&has_many}));
    ck_assert_int_eq(alone, 1);
    ck_assert_ok(execute(0, 1, (const tutti_kernel *[]){&has_many}));
    ck_assert_int_eq(alone + together, 0);
}
END_TEST

START_TEST(a_failure_names_a_node)
{
    fails = 1;
    ck_assert_int_eq(execute(NODES, 1, (const tutti_kernel *[]){&has_many}), TUTTI_ERR_KERNEL);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "'node599' and"));
    ck_assert_int_lt(together, NODES);
    ck_assert_int_eq(execute(NODES, 1, (const tutti_kernel *[]){&has_none}), TUTTI_ERR_KERNEL);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "'node599'"));
    ck_assert_int_eq(alone, 1);
    fails = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binding");
    TCase *tests = testing_case(suite, "binding");
    tcase_add_test(tests, one_row_together);
    tcase_add_test(tests, others_one_by_one);
    tcase_add_test(tests, a_failure_names_a_node);
    return testing_run(suite);
}
