/* designs: the stall inspector among ranks as threads that stall, or are only late. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

START_TEST(times_ascend)
{
    static const struct {
        double warn_s, dump_s, abort_s;
        tutti_status status;
    } rows[] = {{5, 10, 60, TUTTI_OK}, {0, 0, 0, TUTTI_OK}, {5, 0, 60, TUTTI_OK},
        {0, 0, 1, TUTTI_OK}, {5, 5, 60, TUTTI_ERR_USAGE}, {10, 5, 60, TUTTI_ERR_USAGE},
        {70, 0, 60, TUTTI_ERR_USAGE}, {0, 61, 60, TUTTI_ERR_USAGE}, {-1, 0, 0, TUTTI_ERR_USAGE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tutti_watch_options o = {
            .warn_s = rows[i].warn_s, .dump_s = rows[i].dump_s, .abort_s = rows[i].abort_s};
        ck_assert_int_eq(tutti_watch_check(&o), rows[i].status);
    }
}
END_TEST

/* ---- ranks as threads that stall ---- */

enum { RANKS = 2, TENSORS = 3, LENGTH = 1000 };

/* What rank 1 does that rank 0 does not. */
typedef enum trouble_kind {
    NO_TROUBLE,
    LATE_TASK,   /* a task before the first collective takes long */
    MANY_TASKS,  /* as long, but in many tasks */
    BOTH_LATE,   /* rank 0, too: nothing is in flight meanwhile */
    STAYS_OUT,   /* its program takes long before it submits */
    LOSES_TOKEN, /* the token of the first collective's task never finishes */
} trouble_kind;

typedef struct stall_job {
    tutti_loop_world *world;
    const char *design;
    int rank;
    trouble_kind trouble;
    double late_s;
    tutti_watch_options watch;
    tutti_run_hooks hooks; /* the exchange's */
    tutti_status status;
    float result;
} stall_job;

static const double piece_s = 0.05;

static void take_time(void *arg)
{
    tutti_clock_sleep(*(const double *)arg);
}

/* Two tensors per collective: g = s + s; sum of g. */
static tutti_status build_stall_graph(tutti_graph *g, int source[TENSORS], int sum[TENSORS])
{
    tutti_status status = TUTTI_OK;
    const tutti_sum_desc desc = {.count = LENGTH, .inputs = 1};
    for (int i = 0; i < TENSORS && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "source%d", i);
        status = tutti_graph_tensor(
            g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(LENGTH), &source[i]);
        snprintf(name, sizeof name, "sum%d", i);
        if (!status)
            status = tutti_graph_tensor(
                g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(LENGTH), &sum[i]);
        const tutti_access access[] = {{source[i], TUTTI_READ}, {sum[i], TUTTI_WRITE}};
        snprintf(name, sizeof name, "copy%d", i);
        if (!status)
            status =
                tutti_graph_kernel(g, name, &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
        if (!status) status = tutti_graph_mark(g, &(tutti_mark){.tensor = sum[i]}, NULL);
    }
    return status;
}

static int64_t pass_reserve(void *ctx, const tutti_node *node)
{
    stall_job *job = ctx;
    return job->hooks.reserve(job->hooks.ctx, node);
}

static void forget(tutti_token *token, tutti_status status)
{
    (void)token;
    (void)status;
}

static void lossy_start(void *ctx, const tutti_node *node, int64_t sequence,
    const tutti_buffer buf[], tutti_token *token)
{
    static tutti_token nobody = {.finish = forget};
    stall_job *job = ctx;
    int lost = job->trouble == LOSES_TOKEN && job->rank == 1 && node->place.index == 0;
    job->hooks.start(job->hooks.ctx, node, sequence, buf, lost ? &nobody : token);
}

static tutti_status pass_main(void *ctx)
{
    stall_job *job = ctx;
    return job->hooks.main(job->hooks.ctx);
}

static void pass_waits(void *ctx, int begins)
{
    stall_job *job = ctx;
    job->hooks.waits(job->hooks.ctx, begins);
}

static void pass_observe(void *ctx, tutti_ledger *ledger, int whole)
{
    stall_job *job = ctx;
    job->hooks.observe(job->hooks.ctx, ledger, whole);
}

/* The tasks that make the first collective late. */
static tutti_status feed_slowly(
    stall_job *job, const tutti_runner *runner, tutti_run *run, int tensor)
{
    static const float data[LENGTH];
    int pieces = job->trouble == MANY_TASKS ? (int)(job->late_s / piece_s) : 1;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < pieces && !status; i++)
        status = runner->feed(run, tensor, data, sizeof data, take_time,
            pieces > 1 ? (void *)&piece_s : (void *)&job->late_s);
    return status;
}

static tutti_status run_stalling(stall_job *job, tutti_exchange *exchange, tutti_graph *graph,
    const int source[TENSORS], const int sum[TENSORS])
{
    const tutti_runner *runner = tutti_runner_find("inline");
    job->hooks = tutti_exchange_hooks(exchange);
    tutti_run_options options = {.hooks = {.ctx = job,
                                     .reserve = pass_reserve,
                                     .start = lossy_start,
                                     .main = job->hooks.main ? pass_main : NULL,
                                     .observe = pass_observe,
                                     .waits = pass_waits}};
    tutti_run *run = NULL;
    tutti_status status = tutti_exchange_apply(exchange, graph);
    if (!status) status = runner->open(graph, &options, &run);
    if (status) return status;
    float data[LENGTH] = {1};
    for (int i = 0; i < TENSORS && !status; i++)
        status = tutti_run_write(runner, run, source[i], data, sizeof data);
    int troubled = job->rank == 1 || job->trouble == BOTH_LATE;
    int slow = job->trouble == LATE_TASK || job->trouble == MANY_TASKS || job->trouble == BOTH_LATE;
    if (troubled && job->trouble == STAYS_OUT) tutti_clock_sleep(job->late_s);
    if (troubled && slow) status = feed_slowly(job, runner, run, source[0]);
    int steps = job->trouble == LOSES_TOKEN ? 2 : 1; /* the second waits for the lost one */
    for (int i = 0; i < steps && !status; i++) status = runner->submit(run, 0);
    if (!status) status = runner->wait(run, 0, runner->point(run), 30);
    if (!status) status = tutti_run_read(runner, run, sum[0], data, sizeof data);
    if (!status) job->result = data[0];
    tutti_clock_sleep(2 * piece_s); /* for the inspector to see that it goes on */
    runner->close(run);
    return status;
}

static void *run_stall_rank(void *arg)
{
    stall_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_graph *graph = NULL;
    int source[TENSORS], sum[TENSORS];
    tutti_exchange_options options = {.design = tutti_design_find(job->design),
        .algorithm = "ring",
        .timeout_s = 30,
        .lanes = 1,
        .watch = job->watch};
    tutti_status status = tutti_transport_loop(job->world, job->rank, 2, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    if (!status) status = tutti_graph_new(&graph);
    if (!status) status = build_stall_graph(graph, source, sum);
    if (!status) status = run_stalling(job, exchange, graph, source, sum);
    job->status = status;
    if (status) return NULL; /* operations in flight may still use all this */
    tutti_graph_free(graph);
    tutti_exchange_close(exchange);
    return NULL;
}

/* What such a rank leaves behind is not a leak: it may still be in use. AddressSanitizer calls this. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* What the ranks wrote on stderr. */
typedef struct story {
    tutti_status status[RANKS];
    char text[16384];
} story;

static int redirect(FILE *to)
{
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    ck_assert_int_ge(before, 0);
    ck_assert_int_ge(dup2(fileno(to), STDERR_FILENO), 0);
    return before;
}

static void run_story(const char *design, trouble_kind trouble, double late_s,
    const tutti_watch_options *watch, story *told)
{
    tutti_loop_world *world;
    pthread_t thread[RANKS];
    stall_job job[RANKS];
    FILE *log = tmpfile();
    ck_assert_ptr_nonnull(log);
    ck_assert_ok(tutti_loop_world_new(RANKS, NULL, &world));
    int before = redirect(log);
    for (int r = 0; r < RANKS; r++) {
        job[r] = (stall_job){.world = world,
            .design = design,
            .rank = r,
            .trouble = trouble,
            .late_s = late_s,
            .watch = *watch};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_stall_rank, &job[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(log);
    told->text[fread(told->text, 1, sizeof told->text - 1, log)] = '\0';
    fclose(log);
    int failed = 0;
    for (int r = 0; r < RANKS; r++) failed |= (told->status[r] = job[r].status) != TUTTI_OK;
    if (!failed) tutti_loop_world_free(world);
}

static int told(const story *s, const char *words)
{
    return strstr(s->text, words) != NULL;
}

/* The i-th design that overlaps; NULL after the last. */
static const char *threaded(int i)
{
    for (int d = 0; tutti_designs[d]; d++)
        if (tutti_design_overlaps(tutti_designs[d]) && i-- == 0) return tutti_designs[d]->name;
    return NULL;
}

START_TEST(a_late_task_is_named_and_waited_for)
{
    const tutti_watch_options watch = {.on = 1, .warn_s = 0.3, .abort_s = 5};
    story s;
    run_story(threaded(_i), LATE_TASK, 1, &watch, &s);
    ck_assert_int_eq(s.status[0], TUTTI_OK);
    ck_assert_int_eq(s.status[1], TUTTI_OK);
    ck_assert_msg(
        told(&s, "for collective #0 \"sum0.sum\": rank 1 has not reached it; blocked by task "
                 "\"copy0\", which waits for task \"source0\", running for"),
        "%s", s.text);
    ck_assert_msg(told(&s, "continues after"), "%s", s.text);
    ck_assert_msg(!told(&s, "error"), "%s", s.text);
}
END_TEST

START_TEST(a_rank_whose_tasks_go_on_is_late)
{
    const tutti_watch_options watch = {.on = 1, .warn_s = 0.8, .dump_s = 2.4, .abort_s = 4};
    story s;
    run_story("funneled", MANY_TASKS, 3, &watch, &s);
    ck_assert_msg(!s.status[0] && !s.status[1], "%s", s.text);
    ck_assert_msg(told(&s, "it is late, not stuck"), "%s", s.text);
    ck_assert_msg(!told(&s, "stall report") && !told(&s, "error"), "%s", s.text);
}
END_TEST

START_TEST(computing_is_no_stall)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const double slow = 4; /* one rank begins later than the other */
#else
    const double slow = 1;
#endif
    const tutti_watch_options watch = {
        .on = 1, .warn_s = 0.4 * slow, .dump_s = 0.6 * slow, .abort_s = 0.8 * slow};
    story s;
    run_story(threaded(_i), BOTH_LATE, 1.2 * slow, &watch, &s);
    ck_assert_msg(!s.status[0] && !s.status[1], "%s", s.text);
    ck_assert_msg(
        !told(&s, "has waited") && !told(&s, "stall") && !told(&s, "error"), "%s", s.text);
}
END_TEST

/* Whether a line is a valid JSON object. */
static int is_json_line(const char *line)
{
    json_error_t error;
    json_t *object = json_loads(line, 0, &error);
    int is = json_is_object(object);
    json_decref(object);
    return is;
}

static int check_dump(const char *folder, int rank, const char *session)
{
    char path[256], line[1024];
    int lines = 0, collectives = 0;
    snprintf(path, sizeof path, "%s/tutti-stall.%d%s.json", folder, rank, session);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is not there", path);
    while (fgets(line, sizeof line, file)) {
        ck_assert_msg(is_json_line(line), "%s: %s", path, line);
        collectives += strstr(line, "\"event\":\"collective\"") != NULL;
        lines++;
    }
    fclose(file);
    unlink(path);
    ck_assert_int_eq(lines, 1 + RANKS + collectives);
    return collectives;
}

/* However long its program computes, reads, or waits for anything but ranks. */
START_TEST(a_rank_in_its_own_code_is_late)
{
    const tutti_watch_options watch = {.on = 1, .warn_s = 0.3, .dump_s = 0.6, .abort_s = 1};
    story s;
    run_story(threaded(_i), STAYS_OUT, 2.2, &watch, &s);
    ck_assert_msg(!s.status[0] && !s.status[1], "%s", s.text);
    ck_assert_msg(
        told(&s, "for collective #0 \"sum0.sum\": rank 1 has not submitted it: "
                 "its program has yet to submit collective #0; it is in its own code, for "),
        "%s", s.text);
    ck_assert_msg(told(&s, "it is late, not stuck") && told(&s, "continues after"), "%s", s.text);
    ck_assert_msg(!told(&s, "stall report") && !told(&s, "error"), "%s", s.text);
    int warnings = 0;
    for (const char *at = s.text; (at = strstr(at, "warning: has waited")); at++) warnings++;
    ck_assert_msg(warnings >= 1 && warnings <= 4, "%d warnings: %s", warnings, s.text);
}
END_TEST

START_TEST(a_long_task_is_late)
{
    const tutti_watch_options watch = {.on = 1, .warn_s = 0.3, .dump_s = 0.6, .abort_s = 1};
    story s;
    run_story(threaded(_i), LATE_TASK, 2, &watch, &s);
    ck_assert_msg(!s.status[0] && !s.status[1], "%s", s.text);
    ck_assert_msg(told(&s, "running for") && told(&s, "it is late, not stuck"), "%s", s.text);
    ck_assert_msg(!told(&s, "stall report") && !told(&s, "error"), "%s", s.text);
}
END_TEST

START_TEST(a_stuck_rank_ends_all)
{
    char folder[] = "/tmp/tutti-watch-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    const int second = _i % 2; /* session of the process */
    const tutti_watch_options watch = {.on = 1,
        .warn_s = 0.3,
        .dump_s = 0.6,
        .abort_s = 1.2,
        .folder = folder,
        .session = 1 + second};
    story s;
    double start_s = tutti_clock_s();
    run_story(threaded(_i), LOSES_TOKEN, 0, &watch, &s);
    ck_assert_double_lt(tutti_clock_s() - start_s, 8);
    for (int r = 0; r < RANKS; r++) ck_assert_int_eq(s.status[r], TUTTI_ERR_TIMEOUT);
    ck_assert_msg(told(&s, "stall report: rank 0 waits in #3") &&
                      told(&s, "stall report: rank 1 has not reached it; blocked by task"),
        "%s", s.text);
    ck_assert_msg(
        told(
            &s, "no rank has been able to continue for 1.2 s, the stall limit: all ranks end"),
        "%s", s.text);
    const char *session = second ? ".2" : "";
    ck_assert_int_ge(check_dump(folder, 0, session), 1);
    check_dump(folder, 1, session);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left */
}
END_TEST

START_TEST(a_lost_token_is_named)
{
    const tutti_watch_options watch = {.on = 1, .warn_s = 0.3, .abort_s = 0.8};
    story s;
    double start_s = tutti_clock_s();
    run_story(threaded(_i), LOSES_TOKEN, 0, &watch, &s);
    ck_assert_double_lt(tutti_clock_s() - start_s, 8); /* not by the end of its wait */
    for (int r = 0; r < RANKS; r++) ck_assert_int_eq(s.status[r], TUTTI_ERR_TIMEOUT);
    ck_assert_msg(told(&s, "rank 1 has not reached it; blocked by task \"copy0\", which waits for "
                           "collective #0 \"sum0.sum\", posted") &&
                      told(&s, "which has ended without its task noticing"),
        "%s", s.text);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_INFO);
    int designs = 0;
    while (threaded(designs)) designs++;
    Suite *suite = suite_create("watch");
    TCase *tcase = testing_case(suite, "watch"), *own_code = testing_case(suite, "own code");
    tcase_add_test(tcase, times_ascend);
    tcase_add_loop_test(tcase, a_late_task_is_named_and_waited_for, 0, designs);
    tcase_add_test(tcase, a_rank_whose_tasks_go_on_is_late);
    tcase_add_loop_test(tcase, computing_is_no_stall, 0, designs);
    tcase_add_loop_test(own_code, a_rank_in_its_own_code_is_late, 0, designs);
    tcase_add_loop_test(tcase, a_long_task_is_late, 0, designs);
    tcase_add_loop_test(tcase, a_stuck_rank_ends_all, 0, designs);
    tcase_add_loop_test(tcase, a_lost_token_is_named, 0, designs);
    return testing_run(suite);
}
