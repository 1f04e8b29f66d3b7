#include "apps/bench/timeslices.h"

#include "dag/base/clock.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/kernel.h"

enum { SIDE = 128, SUMMED = 256 /* elements: 1 KiB */, AHEAD = 2 };

/* x, w and y of the products, and the tensor that is summed over ranks. */
typedef struct operands {
    int x, w, y, sum;
} operands;

static tutti_status add_tensors(tutti_graph *graph, operands *t)
{
    static const char *const names[] = {"x", "w", "y", "sum"};
    int *const tensor[] = {&t->x, &t->w, &t->y, &t->sum};
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 4 && !status; i++)
        status =
            tutti_graph_tensor(graph, names[i], i < 3 ? TUTTI_ROLE_SCRATCH : TUTTI_ROLE_GRADIENT,
                TUTTI_F32, i < 3 ? tutti_shape_of(SIDE, SIDE) : tutti_shape_of(SUMMED), tensor[i]);
    return status;
}

/* Copies the first rows of `from` to `to`: a step begins with the previous sum, and sums its own result. */
static tutti_status add_copy(tutti_graph *graph, const char *name, int from, int to)
{
    const tutti_sum_desc desc = {.count = SUMMED, .inputs = 1};
    const tutti_access access[] = {{from, TUTTI_READ}, {to, TUTTI_WRITE}};
    return tutti_graph_kernel(graph, name, &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

static tutti_status add_step(
    tutti_graph *graph, const operands *t, int products, int summed, int *section)
{
    const tutti_dense_desc desc = {.N = SIDE, .C = SIDE, .K = SIDE};
    const tutti_access access[] = {{t->x, TUTTI_READ}, {t->w, TUTTI_READ}, {t->y, TUTTI_WRITE}};
    tutti_status status = tutti_graph_section(graph, summed ? "together" : "alone", section);
    if (!status) status = add_copy(graph, "begin", t->sum, t->x);
    for (int i = 0; i < products && !status; i++)
        status = tutti_graph_kernel(
            graph, "product", &tutti_op_dense, &desc, sizeof desc, 3, access, NULL);
    if (!status) status = add_copy(graph, "end", t->y, t->sum);
    if (!status && summed) status = tutti_graph_mark(graph, &(tutti_mark){.tensor = t->sum}, NULL);
    return status;
}

tutti_status tutti_timeslices_start(
    tutti_training_session *session, int products, tutti_timeslices *timeslices)
{
    operands t;
    tutti_status status = tutti_training_session_blank(session);
    if (!status) status = add_tensors(session->graph, &t);
    if (!status) status = add_step(session->graph, &t, products, 0, &timeslices->alone);
    if (!status) status = add_step(session->graph, &t, products, 1, &timeslices->together);
    if (!status) status = tutti_training_session_apply(session);
    return status ? status : tutti_training_session_start(session);
}

tutti_status tutti_timeslices_run(
    tutti_training_session *session, int section, int64_t steps, double timeout_s, double *seconds)
{
    const tutti_runner *runner = session->runner;
    tutti_status status = TUTTI_OK;
    int64_t point[AHEAD] = {0};
    double begun = tutti_clock_s();
    for (int64_t i = 0; i < steps + AHEAD && !status; i++) {
        if (i >= AHEAD) status = runner->wait(session->run, 0, point[i % AHEAD], timeout_s);
        if (i >= steps || status) continue;
        status = runner->submit(session->run, section);
        point[i % AHEAD] = runner->point(session->run);
    }
    *seconds = tutti_clock_s() - begun;
    return status;
}
