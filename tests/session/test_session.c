/* apps/session without an exchange: stages, errors, weights. Each test closes its session from another level. */
#include "apps/session/weights.h"
#include "dag/base/bf16.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "tests/support/testing.h"

#include <string.h>

enum { BATCH = 3, WORKERS = 2, SIDE = 4, CHANNELS = 1, CLASSES = 3 };
static const tutti_model_input input = {SIDE, SIDE, CHANNELS, CLASSES};
static const tutti_step_options recipe = {.batch = BATCH, .momentum = 0.9f, .seed = 7};

static tutti_training_session opened(void)
{
    const tutti_training_session_options options = {.runner = "inline",
        .workers = WORKERS,
        .metered = 1,
        .spans = 64,
        .layout.placement = {.rank = 1, .replicas = 4}};
    tutti_training_session session;
    ck_assert_ok(tutti_training_session_open(&options, &session));
    return session;
}

static tutti_training_session started_in(tutti_dtype precision)
{
    tutti_training_session session = opened();
    tutti_step_options typed = recipe;
    typed.precision = precision;
    ck_assert_ok(tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &typed));
    ck_assert_ok(tutti_training_session_apply(&session));
    ck_assert_ok(tutti_training_session_start(&session));
    ck_assert_ok(tutti_training_session_init(&session));
    return session;
}

static tutti_training_session started(void)
{
    return started_in(TUTTI_F32);
}

/* Everything is as before open, and nothing is left to close. */
static void ck_assert_closed(const tutti_training_session *session)
{
    static const tutti_training_session zero;
    ck_assert(memcmp(session, &zero, sizeof zero) == 0);
}

static void close_it(tutti_training_session *session)
{
    ck_assert_ok(tutti_training_session_close(session));
    ck_assert_closed(session);
    ck_assert_ok(tutti_training_session_close(session));
}

/* Expects INVAL from every call that the level does not allow. */
static void refuse_all_but(tutti_training_session *s, tutti_training_level level)
{
    tutti_training_level before = s->level;
    uint8_t images[1] = {0};
    int32_t labels[1] = {0};
    ck_assert_int_eq(before, level);
    tutti_log_set_level(TUTTI_LOG_NONE);
    if (level != TUTTI_TRAINING_OPEN) {
        ck_assert_int_eq(tutti_training_session_build(s, tutti_model_find("mlp"), &input, &recipe),
            TUTTI_ERR_INVAL);
        ck_assert_int_eq(tutti_training_session_blank(s), TUTTI_ERR_INVAL);
    }
    if (level != TUTTI_TRAINING_BUILT)
        ck_assert_int_eq(tutti_training_session_apply(s), TUTTI_ERR_INVAL);
    if (level != TUTTI_TRAINING_APPLIED)
        ck_assert_int_eq(tutti_training_session_start(s), TUTTI_ERR_INVAL);
    if (level != TUTTI_TRAINING_STARTED) {
        ck_assert_int_eq(tutti_training_session_init(s), TUTTI_ERR_INVAL);
        ck_assert_int_eq(tutti_training_session_feed(s, 0, images, labels), TUTTI_ERR_INVAL);
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_eq(s->level, before);
}

START_TEST(levels_follow_each_other)
{
    tutti_training_session session = {0};
    refuse_all_but(&session, TUTTI_TRAINING_CLOSED);
    session = opened();
    refuse_all_but(&session, TUTTI_TRAINING_OPEN);
    ck_assert_ok(tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &recipe));
    refuse_all_but(&session, TUTTI_TRAINING_BUILT);
    ck_assert_ok(tutti_training_session_apply(&session));
    refuse_all_but(&session, TUTTI_TRAINING_APPLIED);
    ck_assert_ok(tutti_training_session_start(&session));
    refuse_all_but(&session, TUTTI_TRAINING_STARTED);
    tutti_training_session_stop(&session);
    refuse_all_but(&session, TUTTI_TRAINING_APPLIED);
    tutti_training_session_clear(&session);
    refuse_all_but(&session, TUTTI_TRAINING_OPEN);
    ck_assert_ptr_null(session.graph);
    close_it(&session);
    session = started();
    tutti_training_session_clear(&session); /* without a stop */
    ck_assert_int_eq(session.level, TUTTI_TRAINING_OPEN);
    ck_assert_ptr_null(session.run);
    close_it(&session);
    tutti_training_session_stop(&session);
    tutti_training_session_clear(&session);
    ck_assert_closed(&session);
}
END_TEST

START_TEST(closes_from_every_level)
{
    for (int level = TUTTI_TRAINING_OPEN; level <= TUTTI_TRAINING_STARTED; level++) {
        tutti_training_session session = opened();
        if (level >= TUTTI_TRAINING_BUILT)
            ck_assert_ok(
                tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &recipe));
        if (level >= TUTTI_TRAINING_APPLIED) ck_assert_ok(tutti_training_session_apply(&session));
        if (level >= TUTTI_TRAINING_STARTED) ck_assert_ok(tutti_training_session_start(&session));
        ck_assert_int_eq(session.level, level);
        close_it(&session);
    }
}
END_TEST

START_TEST(errors_say_what_to_do)
{
    tutti_training_session session;
    tutti_training_session_options options = {.runner = "legs", .workers = 1, .metered = 1};
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_training_session_open(&options, &session), TUTTI_ERR_INVAL);
    ck_assert_str_eq(tutti_last_error(), "no runner \"legs\"; known: starpu, inline");
    ck_assert_closed(&session);
    session = opened();
    ck_assert_int_eq(tutti_training_session_start(&session), TUTTI_ERR_INVAL);
    ck_assert_str_eq(tutti_last_error(),
        "a training session that is open cannot start a run: it must be applied");
    ck_assert_int_eq(tutti_training_session_reopen(&session, &options.exchange), TUTTI_ERR_INVAL);
    /* A failed build leaves the session as it was. */
    tutti_step_options small = recipe;
    small.batch = WORKERS - 1;
    ck_assert_int_eq(
        tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &small),
        TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_eq(session.level, TUTTI_TRAINING_OPEN);
    ck_assert_ok(tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &recipe));
    close_it(&session);
}
END_TEST

START_TEST(the_session_completes_the_recipe)
{
    tutti_step_options wrong = recipe;
    wrong.placement.rank = wrong.placement.replicas = wrong.micro_batches = 99;
    wrong.bytes = 0;
    tutti_training_session session = opened();
    ck_assert_ok(tutti_training_session_build(&session, tutti_model_find("mlp"), &input, &wrong));
    ck_assert_int_eq(session.recipe.placement.rank, 1);
    ck_assert_int_eq(session.recipe.placement.replicas, 4);
    ck_assert_int_eq(session.recipe.micro_batches, WORKERS);
    ck_assert_int_eq(session.step->micro_batches, WORKERS);
    ck_assert_int_eq(session.image_bytes, SIDE * SIDE * CHANNELS);
    ck_assert(session.recipe.bytes && session.recipe.deviation[0] > 0);
    ck_assert_ptr_eq(session.graph, session.step->graph);
    ck_assert_ok(tutti_training_session_apply(&session));
    ck_assert_int_eq(tutti_training_session_collectives(&session), 0); /* no exchange */
    close_it(&session);
}
END_TEST

/* ---- weights ---- */

typedef struct seen {
    int count, last; /* the last to be visited; -1: all */
    const char *name[64];
    double sum;
} seen;

static tutti_status see(void *ctx, const tutti_tensor *tensor, void *data)
{
    seen *s = ctx;
    const float *value = data;
    for (size_t i = 0; i < tensor->bytes / sizeof *value; i++) s->sum += value[i] * (double)(i + 1);
    s->name[s->count] = tensor->name;
    return s->count++ == s->last ? TUTTI_ERR_KERNEL : TUTTI_OK;
}

START_TEST(walks_in_order)
{
    tutti_training_session session = started();
    const tutti_step *step = session.step;
    int all = tutti_weights_count(&session);
    seen every = {.last = -1}, first = {.last = -1}, some = {.last = 1};
    ck_assert_int_eq(all, step->parameters + step->states);
    ck_assert_ok(tutti_weights_walk(&session, all, TUTTI_READ, see, &every));
    ck_assert_int_eq(every.count, all);
    for (int i = 0; i < all; i++) {
        int tensor = i < step->parameters ? step->parameter[i] : step->state[i - step->parameters];
        ck_assert_int_eq(tutti_weights_tensor(&session, i), tensor);
        ck_assert_str_eq(every.name[i], tutti_graph_get_tensor(session.graph, tensor)->name);
    }
    ck_assert_ok(tutti_weights_walk(&session, step->parameters, TUTTI_READ, see, &first));
    ck_assert_int_eq(first.count, step->parameters);
    ck_assert(first.sum != 0);
    ck_assert_int_eq(tutti_weights_walk(&session, all, TUTTI_READ, see, &some), TUTTI_ERR_KERNEL);
    ck_assert_int_eq(some.count, 2);
    ck_assert_ok(tutti_weights_walk(&session, all, TUTTI_READ, see, &every)); /* all released */
    close_it(&session);
}
END_TEST

/* Scales of norms, of those that end a residual block and of the others: how many begin at 0, how many at 1. */
typedef struct scales {
    int last[2], other[2];
} scales;

static tutti_status count_scales(void *ctx, const tutti_tensor *tensor, void *data)
{
    scales *s = ctx;
    const float *value = data;
    if (!strstr(tensor->name, ".scaleshift")) return TUTTI_OK;
    int *count = strstr(tensor->name, ".bn2.") ? s->last : s->other;
    for (int64_t c = 0; c < tensor->shape.dim[1]; c++) {
        ck_assert(value[c] == 0 || value[c] == 1);
        ck_assert(value[tensor->shape.dim[1] + c] == 0);
        count[value[c] == 1]++;
    }
    return TUTTI_OK;
}

START_TEST(blocks_may_start_at_zero)
{
    static const tutti_model_input images = {8, 8, 3, 3};
    for (int zero = 0; zero < 2; zero++) {
        tutti_training_session session = opened();
        tutti_step_options options = recipe;
        options.zero_last_scale = zero;
        ck_assert_ok(tutti_training_session_build(
            &session, tutti_model_find("resnet20"), &images, &options));
        ck_assert_ok(tutti_training_session_apply(&session));
        ck_assert_ok(tutti_training_session_start(&session));
        ck_assert_ok(tutti_training_session_init(&session));
        scales s = {0};
        ck_assert_ok(
            tutti_weights_walk(&session, session.step->parameters, TUTTI_READ, count_scales, &s));
        ck_assert_int_eq(s.last[!zero], 3 * (16 + 32 + 64));
        ck_assert_int_eq(s.last[zero], 0);
        ck_assert_int_eq(s.other[1], 16 + 3 * (16 + 32 + 64));
        ck_assert_int_eq(s.other[0], 0);
        close_it(&session);
    }
}
END_TEST

/* Initial weights depend on the recipe alone; a step changes them. */
START_TEST(steps_run_and_start_again)
{
    static const uint8_t images[BATCH * SIDE * SIDE * CHANNELS] = {1, 2, 255};
    static const int32_t labels[BATCH] = {0, 1, 2};
    static const float rate = 0.1f;
    static const int64_t counter = 0;
    seen before = {.last = -1}, after = {.last = -1}, again = {.last = -1};
    tutti_training_session session = started();
    const tutti_runner *runner = session.runner;
    int parameters = session.step->parameters;
    ck_assert_ok(tutti_weights_walk(&session, parameters, TUTTI_READ, see, &before));
    ck_assert_ok(tutti_training_session_feed(&session, 0, images, labels));
    ck_assert_ok(runner->feed(session.run, session.step->rate, &rate, sizeof rate, NULL, NULL));
    ck_assert_ok(
        runner->feed(session.run, session.step->counter, &counter, sizeof counter, NULL, NULL));
    ck_assert_ok(runner->submit(session.run, session.step->train));
    ck_assert_ok(runner->wait(session.run, 0, runner->point(session.run), 60));
    ck_assert_ok(tutti_weights_walk(&session, parameters, TUTTI_READ, see, &after));
    ck_assert(before.sum != after.sum);
    ck_assert(tutti_meter_read(session.meter).compute_s > 0);
    tutti_training_session_stop(&session);
    ck_assert_ok(tutti_training_session_start(&session));
    ck_assert_ok(tutti_training_session_init(&session));
    ck_assert_ok(tutti_weights_walk(&session, parameters, TUTTI_READ, see, &again));
    ck_assert(before.sum == again.sum);
    close_it(&session);
}
END_TEST

/* Reads a weight and its copy into memory that the caller gives; returns how many elements differ. */
static int64_t count_stale(tutti_training_session *s)
{
    static float w[1 << 16];
    static uint16_t half[1 << 16];
    int parameter = s->step->parameter[0];
    const tutti_tensor *t = tutti_graph_get_tensor(s->graph, parameter);
    char name[128];
    snprintf(name, sizeof name, "bf16.%s", t->name);
    int copy = tutti_graph_find(s->graph, name);
    int64_t count = tutti_shape_count(&t->shape), stale = 0;
    ck_assert_int_ge(copy, 0);
    ck_assert_int_le(count, 1 << 16);
    ck_assert_ok(s->runner->wait(s->run, 0, s->runner->point(s->run), 60));
    ck_assert_ok(tutti_run_read(s->runner, s->run, parameter, w, t->bytes));
    ck_assert_ok(tutti_run_read(s->runner, s->run, copy, half, (size_t)count * sizeof *half));
    for (int64_t i = 0; i < count; i++) stale += half[i] != tutti_bf16_narrow(w[i]);
    return stale;
}

/* The first batch, after start or init, finds what the layers read. */
START_TEST(copies_are_those_of_the_weights)
{
    static const uint8_t images[BATCH * SIDE * SIDE * CHANNELS] = {1, 2, 255};
    static const int32_t labels[BATCH] = {0, 1, 2};
    if (!testing_computes_bf16("copies_are_those_of_the_weights")) return;
    tutti_training_session session = started_in(TUTTI_BF16);
    ck_assert_int_gt(count_stale(&session), 0);
    ck_assert_ok(tutti_training_session_feed(&session, 0, images, labels));
    ck_assert_int_eq(count_stale(&session), 0);
    session.recipe.seed++;
    ck_assert_ok(tutti_training_session_init(&session));
    ck_assert_int_gt(count_stale(&session), 0);
    ck_assert_ok(tutti_training_session_feed(&session, 0, images, labels));
    ck_assert_int_eq(count_stale(&session), 0);
    close_it(&session);
}
END_TEST

START_TEST(a_graph_without_a_model)
{
    int tensor;
    tutti_training_session session = opened();
    ck_assert_ok(tutti_training_session_blank(&session));
    ck_assert_ok(tutti_graph_tensor(
        session.graph, "x", TUTTI_ROLE_GRADIENT, TUTTI_F32, tutti_shape_of(4), &tensor));
    ck_assert_ok(tutti_training_session_apply(&session));
    ck_assert_ok(tutti_training_session_start(&session));
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_training_session_init(&session), TUTTI_ERR_INVAL);
    ck_assert_str_eq(tutti_last_error(),
        "a training session without a model cannot take initial weights: build one");
    ck_assert_int_eq(tutti_training_session_feed(&session, 0, NULL, NULL), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_eq(tutti_training_session_collectives(&session), 0);
    close_it(&session);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *test = testing_case(suite, "session");
    tcase_add_test(test, levels_follow_each_other);
    tcase_add_test(test, closes_from_every_level);
    tcase_add_test(test, errors_say_what_to_do);
    tcase_add_test(test, the_session_completes_the_recipe);
    tcase_add_test(test, walks_in_order);
    tcase_add_test(test, blocks_may_start_at_zero);
    tcase_add_test(test, steps_run_and_start_again);
    tcase_add_test(test, copies_are_those_of_the_weights);
    tcase_add_test(test, a_graph_without_a_model);
    return testing_run(suite);
}
