/* apps/session with an exchange: models follow each other over one exchange, exchanges over one MPI, and everything
 * closes. Under mpirun. */
#include "apps/session/weights.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <stdlib.h>

enum { BATCH = 4, SIDE = 4, CLASSES = 3, STEPS = 3 };
static const tutti_model_input input = {SIDE, SIDE, 1, CLASSES};
static const double timeout_s = 30;

static tutti_exchange_options with(const char *design)
{
    return (tutti_exchange_options){.design = tutti_design_find(design),
        .bucket_bytes = -1,
        .chunk_bytes = -1,
        .timeout_s = timeout_s,
        .reopens = 1};
}

static void start(tutti_training_session *session)
{
    const tutti_step_options recipe = {.batch = BATCH, .momentum = 0.9f, .seed = 5};
    ck_assert_ok(tutti_training_session_build(session, tutti_model_find("mlp"), &input, &recipe));
    ck_assert_ok(tutti_training_session_apply(session));
    ck_assert_int_eq(tutti_training_session_collectives(session) > 0, session->placement.ranks > 1);
    ck_assert_ok(tutti_training_session_start(session));
    ck_assert_ok(tutti_training_session_init(session));
}

static void train(tutti_training_session *session)
{
    static const float rate = 0.1f;
    static const int64_t counter = 0;
    const tutti_runner *runner = session->runner;
    uint8_t images[BATCH * SIDE * SIDE];
    const int32_t labels[BATCH] = {0, 1, 2, session->placement.rank % CLASSES};
    for (int i = 0; i < BATCH * SIDE * SIDE; i++)
        images[i] = (uint8_t)(i + session->placement.rank);
    ck_assert_ok(tutti_training_session_feed(session, 0, images, labels));
    ck_assert_ok(runner->feed(session->run, session->step->rate, &rate, sizeof rate, NULL, NULL));
    ck_assert_ok(
        runner->feed(session->run, session->step->counter, &counter, sizeof counter, NULL, NULL));
    for (int i = 0; i < STEPS; i++)
        ck_assert_ok(runner->submit(session->run, session->step->train));
    ck_assert_ok(runner->wait(session->run, 0, runner->point(session->run), timeout_s));
}

static tutti_status add(void *ctx, const tutti_tensor *tensor, void *data)
{
    double *sum = ctx;
    const float *value = data;
    for (size_t i = 0; i < tensor->bytes / sizeof *value; i++)
        *sum += value[i] * (double)(i % 1000 + 1);
    return TUTTI_OK;
}

/* A sum over all weights, which all ranks must have. */
static double weights(tutti_training_session *session)
{
    double sum = 0, most;
    ck_assert_ok(tutti_weights_walk(session, tutti_weights_count(session), TUTTI_READ, add, &sum));
    most = sum;
    ck_assert_ok(tutti_exchange_call(session->exchange, "the largest sum",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .recv = &most}));
    ck_assert(most == sum);
    return sum;
}

/* A process initialises MPI once, so all of it is one test. */
START_TEST(exchanges_and_models_follow_each_other)
{
    const tutti_training_session_options options = {
        .workers = 2, .metered = 1, .exchange = with("funneled")};
    tutti_training_session session;
    ck_assert_ok(tutti_training_session_open(&options, &session));
    ck_assert_int_eq(session.placement.rank, tutti_exchange_rank(session.exchange));
    ck_assert_int_eq(session.placement.ranks, tutti_exchange_size(session.exchange));
    start(&session);
    double begun = weights(&session);
    train(&session);
    double trained = weights(&session);
    ck_assert(begun != trained);

    /* Another model over the same exchange, which may still name what is in the first one's graph. */
    tutti_training_session_clear(&session);
    ck_assert_int_eq(session.level, TUTTI_TRAINING_OPEN);
    start(&session);
    ck_assert_int_eq(session.graphs, 2);
    ck_assert_str_eq(tutti_graph_get_tensor(session.seen[0], 0)->name,
        tutti_graph_get_tensor(session.graph, 0)->name);
    train(&session);
    ck_assert(weights(&session) == trained);

    /* Every other design, from whatever stage: reopen takes the graphs away. */
    for (int i = 0; tutti_designs[i]; i++) {
        const tutti_exchange_options next = with(tutti_designs[i]->name);
        if (tutti_designs[i]->unsafe) continue;
        ck_assert_ok(tutti_training_session_reopen(&session, &next));
        ck_assert_int_eq(session.level, TUTTI_TRAINING_OPEN);
        ck_assert_int_eq(session.graphs, 0);
        ck_assert_ptr_null(session.run);
        ck_assert_ptr_eq(tutti_exchange_design(session.exchange), tutti_designs[i]);
        ck_assert_ptr_eq(session.options.exchange.design, tutti_designs[i]);
        start(&session);
        if (i % 2) train(&session);
        if (i % 2) ck_assert(weights(&session) == trained);
        if (i % 3 == 0) tutti_training_session_stop(&session);
    }
    ck_assert_ok(tutti_training_session_reopen(&session, &options.exchange));
    start(&session);
    if (getenv("CLOSES")) { /* while it is started */
        ck_assert_ok(tutti_training_session_close(&session));
    } else { /* a reopen that fails closes all of it */
        tutti_exchange_options wrong = with("chained");
        wrong.lanes = 3;
        tutti_log_set_level(TUTTI_LOG_NONE);
        ck_assert_int_eq(tutti_training_session_reopen(&session, &wrong), TUTTI_ERR_USAGE);
    }
    ck_assert_int_eq(session.level, TUTTI_TRAINING_CLOSED);
    ck_assert(!session.exchange && !session.meter && !session.seen && !session.run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchanges");
    TCase *test = testing_case(suite, "exchanges");
    tcase_add_test(test, exchanges_and_models_follow_each_other);
    return testing_run(suite);
}
