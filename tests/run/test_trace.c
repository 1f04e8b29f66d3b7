/* The trace: bounded, complete when read, one writer per track; what the runners record. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/kernel.h"
#include "dag/run/run.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { ROOM = 64, WORKERS = 4, COUNT = 5 };

static tutti_span span_of(int64_t step, double begin_s)
{
    return (tutti_span){.name = "span",
        .kind = TUTTI_SPAN_FORWARD,
        .step = step,
        .begin_s = begin_s,
        .end_s = begin_s + 1};
}

START_TEST(off_records_nothing)
{
    tutti_trace *trace;
    int64_t lost;
    ck_assert_ok(tutti_trace_open(1, 0, ROOM, &trace));
    ck_assert(!tutti_trace_on(trace) && !tutti_trace_on(NULL));
    ck_assert_double_eq(tutti_trace_now(trace), 0);
    ck_assert_double_eq(tutti_trace_now(NULL), 0);
    tutti_trace_task(trace, 0, TUTTI_SPAN_FORWARD, "none", 1, tutti_trace_now(trace));
    tutti_trace_main(NULL, TUTTI_SPAN_WAIT, "none", tutti_trace_now(NULL));
    tutti_trace_set_step(NULL, 3);
    ck_assert_int_eq(tutti_trace_step(NULL), 0);
    tutti_trace_switch(trace, 1);
    double begun_s = tutti_trace_now(trace);
    ck_assert_double_gt(begun_s, 0);
    tutti_trace_switch(trace, 0); /* spans that have begun are still recorded */
    tutti_trace_task(trace, 0, TUTTI_SPAN_SUM, "one", 7, begun_s);
    ck_assert_int_eq(tutti_trace_count(trace, TUTTI_TRACK_WORKER), 1);
    ck_assert_int_eq(tutti_trace_count(trace, TUTTI_TRACK_MAIN), 0);
    const tutti_span *one = tutti_trace_get(trace, TUTTI_TRACK_WORKER, 0);
    ck_assert_str_eq(one->name, "one");
    ck_assert_int_eq(one->step, 7);
    ck_assert_double_ge(one->end_s, one->begin_s);
    ck_assert_int_eq(tutti_trace_dropped(trace, &lost), 0);
    tutti_trace_close(trace);
    tutti_trace_close(NULL);
}
END_TEST

START_TEST(a_full_track_counts_what_it_drops)
{
    tutti_trace *trace;
    int64_t lost;
    ck_assert_ok(tutti_trace_open(2, 0, ROOM, &trace));
    for (int i = 0; i < ROOM + 10; i++) {
        tutti_span span = span_of(i < ROOM ? 5 : 0, 1 + i); /* in no step: no step is lost */
        tutti_trace_add(trace, TUTTI_TRACK_WORKER, &span);
    }
    ck_assert_int_eq(tutti_trace_count(trace, TUTTI_TRACK_WORKER), ROOM);
    ck_assert_int_eq(tutti_trace_dropped(trace, &lost), 10);
    ck_assert_int_eq(lost, 0);
    tutti_span span = span_of(9, 1);
    tutti_trace_add(trace, TUTTI_TRACK_WORKER, &span);
    span = span_of(8, 1);
    tutti_trace_add(trace, TUTTI_TRACK_WORKER, &span);
    ck_assert_int_eq(tutti_trace_dropped(trace, &lost), 12);
    ck_assert_int_eq(lost, 8);
    tutti_trace_add(trace, TUTTI_TRACK_WORKER + 1, &span); /* another track has room */
    ck_assert_int_eq(tutti_trace_count(trace, TUTTI_TRACK_WORKER + 1), 1);
    ck_assert_double_eq(tutti_trace_get(trace, TUTTI_TRACK_WORKER, ROOM - 1)->begin_s, ROOM);
    tutti_trace_close(trace);
}
END_TEST

/* ---- threads ---- */

typedef struct writer {
    tutti_trace *trace;
    int worker;
} writer;

static void *write_spans(void *arg)
{
    const writer *w = arg;
    for (int64_t i = 0; i < 2 * ROOM; i++) {
        tutti_span span = span_of(w->worker, (double)(i + 1));
        span.sequence = i * WORKERS + w->worker;
        tutti_trace_add(w->trace, TUTTI_TRACK_WORKER + w->worker, &span);
    }
    return NULL;
}

/* While threads write, a reader sees only complete spans. */
START_TEST(each_thread_has_its_track)
{
    tutti_trace *trace;
    writer w[WORKERS];
    pthread_t thread[WORKERS];
    int64_t seen = 0, lost;
    ck_assert_ok(tutti_trace_open(WORKERS, 0, ROOM, &trace));
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (writer){trace, i};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, write_spans, &w[i]), 0);
    }
    while (seen < WORKERS * ROOM) {
        seen = 0;
        for (int i = 0; i < WORKERS; i++) {
            int64_t count = tutti_trace_count(trace, TUTTI_TRACK_WORKER + i);
            seen += count;
            for (int64_t k = 0; k < count; k++) {
                const tutti_span *span = tutti_trace_get(trace, TUTTI_TRACK_WORKER + i, k);
                ck_assert_int_eq(span->sequence, k * WORKERS + i);
            }
        }
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(thread[i], NULL);
    ck_assert_int_eq(tutti_trace_dropped(trace, &lost), WORKERS * ROOM);
    tutti_trace_close(trace);
}
END_TEST

/* ---- runners ---- */

static int tensor(tutti_graph *g, const char *name)
{
    int t;
    ck_assert_ok(
        tutti_graph_tensor(g, name, TUTTI_ROLE_INPUT, TUTTI_F32, tutti_shape_of(COUNT), &t));
    return t;
}

/* y += x as a sum node, then summed over ranks, which ends at once. */
static tutti_graph *make_graph(void)
{
    tutti_graph *g;
    int mark;
    ck_assert_ok(tutti_graph_new(&g));
    int x = tensor(g, "x"), y = tensor(g, "y");
    tutti_sum_desc desc = {.count = COUNT, .inputs = 1};
    tutti_access access[] = {{x, TUTTI_READ}, {y, TUTTI_WRITE}};
    ck_assert_ok(tutti_graph_kernel(g, "adds", &tutti_op_sum, &desc, sizeof desc, 2, access, NULL));
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = y}, &mark));
    ck_assert_ok(tutti_graph_set_collective(g, mark, "", 1));
    return g;
}

static int64_t reserve(void *ctx, const tutti_node *node)
{
    (void)node;
    return (*(int64_t *)ctx)++;
}

static void start(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
    tutti_token *token)
{
    (void)ctx, (void)node, (void)sequence, (void)buf;
    tutti_token_finish(token, TUTTI_OK);
}

static void count_kinds(const tutti_trace *trace, int64_t step, int kinds[TUTTI_SPAN_KINDS])
{
    memset(kinds, 0, TUTTI_SPAN_KINDS * sizeof *kinds);
    for (int w = 0; w < tutti_trace_workers(trace); w++) {
        double free_s = 0;
        for (int64_t i = 0; i < tutti_trace_count(trace, TUTTI_TRACK_WORKER + w); i++) {
            const tutti_span *span = tutti_trace_get(trace, TUTTI_TRACK_WORKER + w, i);
            ck_assert_double_ge(span->begin_s, free_s); /* a worker does one thing at a time */
            ck_assert_double_ge(span->end_s, span->begin_s);
            free_s = span->end_s;
            kinds[span->kind] += span->step == step;
            if (span->kind == TUTTI_SPAN_SUM) ck_assert_str_eq(span->name, "adds");
            if (span->kind == TUTTI_SPAN_COPY)
                ck_assert(!strcmp(span->name, "x") || !strcmp(span->name, "y"));
        }
    }
}

START_TEST(every_runner_records)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g = make_graph();
    tutti_trace *trace;
    tutti_run *run;
    int64_t next = 0;
    int kinds[TUTTI_SPAN_KINDS];
    float in[COUNT] = {1, 2, 3, 4, 5}, out[COUNT];
    ck_assert_ok(tutti_trace_open(2, 0, ROOM, &trace));
    tutti_run_options options = {
        .workers = 2, .hooks = {.ctx = &next, .reserve = reserve, .start = start}, .trace = trace};
    ck_assert_ok(runner->open(g, &options, &run));
    for (int64_t step = 1; step <= 3; step++) { /* the second is recorded */
        tutti_trace_switch(trace, step == 2);
        tutti_trace_set_step(trace, step);
        ck_assert_ok(runner->feed(run, 0, in, sizeof in, NULL, NULL));
        ck_assert_ok(runner->submit(run, 0));
        ck_assert_ok(runner->fetch(run, 1, out, sizeof out));
        ck_assert_ok(runner->wait(run, 0, runner->point(run), 20));
    }
    runner->close(run);
    ck_assert_float_eq(out[4], 5);
    count_kinds(trace, 2, kinds);
    ck_assert_int_eq(kinds[TUTTI_SPAN_SUM], 1);
    ck_assert_int_eq(kinds[TUTTI_SPAN_START], 1);
    ck_assert_int_eq(kinds[TUTTI_SPAN_COPY], 2);
    ck_assert_int_eq(tutti_trace_count(trace, TUTTI_TRACK_WORKER) +
                         tutti_trace_count(trace, TUTTI_TRACK_WORKER + 1),
        4);
    tutti_trace_close(trace);
    tutti_graph_free(g);
}
END_TEST

START_TEST(kinds_have_names)
{
    const tutti_node backward = {.kind = TUTTI_NODE_KERNEL, .op = &tutti_op_conv_bwd_weights};
    ck_assert_str_eq(tutti_span_kind_name(tutti_span_kind_of(&backward)), "backward");
    const tutti_node sum = {.kind = TUTTI_NODE_KERNEL, .op = &tutti_op_sum};
    ck_assert_str_eq(tutti_span_kind_name(tutti_span_kind_of(&sum)), "sum");
    for (int kind = 0; kind < TUTTI_SPAN_KINDS; kind++)
        ck_assert_ptr_nonnull(tutti_span_kind_name(kind));
    ck_assert_ptr_null(tutti_span_kind_name(-1));
    ck_assert_ptr_null(tutti_span_kind_name(TUTTI_SPAN_KINDS));
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    int runners = 0;
    while (tutti_runners[runners]) runners++;
    Suite *suite = suite_create("trace");
    TCase *tcase = testing_case(suite, "trace");
    tcase_add_test(tcase, off_records_nothing);
    tcase_add_test(tcase, a_full_track_counts_what_it_drops);
    tcase_add_test(tcase, each_thread_has_its_track);
    tcase_add_loop_test(tcase, every_runner_records, 0, runners);
    tcase_add_test(tcase, kinds_have_names);
    return testing_run(suite);
}
