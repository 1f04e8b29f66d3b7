/* dag/step/pairs.c, dag/strategies/adpsgd.c: replicas that meet in pairs and train on meanwhile. Who meets whom;
 * weights, against an oracle; what a mixing step leaves as it is, exactly; when one begins and ends. */
#include "dag/base/log.h"
#include "dag/strategies/strategies.h"
#include "tests/step/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4, CHANNELS = 2, CLASSES = 3, BATCH = 2, IMAGE = SIZE * SIZE * CHANNELS };
enum { MOST_REPLICAS = 8, MOST = 512, PARAMETERS = 4, STEPS = 24 };

static float images[MOST_REPLICAS * BATCH * IMAGE];
static int32_t labels[MOST_REPLICAS * BATCH];

static void make_data(void)
{
    trial_images(5, 0, MOST_REPLICAS * BATCH * IMAGE, images);
    trial_labels(5, 0, MOST_REPLICAS * BATCH, CLASSES, labels);
}

static void small(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static tutti_step_options options_of(const char *strategy, int replicas)
{
    char fault[256];
    tutti_step_options o = {.batch = BATCH,
        .micro_batches = 1,
        .placement = {.replicas = replicas},
        .rule = &tutti_update_sgd,
        .seed = 3};
    ck_assert_msg(
        tutti_strategy_read(strategy, &o.strategy, &o.settings, fault, sizeof fault), "%s", fault);
    return o;
}

static void open_all(const char *strategy, int replicas, trial t[])
{
    tutti_step_options options = options_of(strategy, replicas);
    for (int r = 0; r < replicas; r++) {
        options.placement.rank = r;
        trial_open(&t[r], small, &options, (uint64_t)r + 1);
    }
    ck_assert_int_eq(t->step->parameters, PARAMETERS);
}

static void close_all(int replicas, trial t[])
{
    for (int r = 0; r < replicas; r++) trial_close(&t[r]);
}

static const char *name_of(const trial *t, int tensor)
{
    return tutti_graph_get_tensor(t->step->graph, tensor)->name;
}

static float *parameter(const trial *t, int i, int64_t *count)
{
    float *data = trial_tensor(t, name_of(t, t->step->parameter[i]), count);
    ck_assert_int_le(*count, MOST);
    return data;
}

/* The mark of a replica in a section with this verb and edge; NULL: there is none. */
static const tutti_mark *mark_of(const trial *t, int section, tutti_verb verb, int edge)
{
    const tutti_mark *found = NULL;
    for (int i = 0; i < tutti_graph_nodes(t->step->graph); i++) {
        const tutti_node *node = tutti_graph_get_node(t->step->graph, i);
        if (node->kind != TUTTI_NODE_MARK || node->section != section || node->mark.verb != verb ||
            node->mark.edge != edge)
            continue;
        ck_assert_ptr_null(found);
        found = &node->mark;
    }
    return found;
}

/* Whom replica r meets; -1: nobody. */
static int partner_of(const trial t[], int r, int section)
{
    const tutti_mark *sends = mark_of(&t[r], section, TUTTI_MARK_SEND, 0);
    return sends ? sends->peer : -1;
}

/* What messages do, which need an exchange. */
static void deliver(int replicas, const trial t[], int section)
{
    int64_t count;
    for (int r = 0; r < replicas; r++)
        for (int edge = 0; edge < PARAMETERS; edge++) {
            const tutti_mark *in = mark_of(&t[r], section, TUTTI_MARK_RECV, edge);
            if (!in) continue;
            const tutti_mark *out = mark_of(&t[in->peer], section, TUTTI_MARK_SEND, edge);
            ck_assert(out && out->peer == r);
            const float *from = trial_tensor(&t[in->peer], name_of(t, out->tensor), &count);
            memcpy(trial_tensor(&t[r], name_of(t, in->tensor), &count), from,
                (size_t)count * sizeof *from);
        }
}

/* What comes before the passes of a step. Messages are as late as can be: they arrive where their mixing step ends.
 * *going: the section of the mixing step that goes on; -1: none. */
static void begin_step(int replicas, trial t[], int64_t step, int *going)
{
    int section[TUTTI_STEP_BEFORE];
    const int sections = tutti_step_before(t->step, step, 0, section);
    for (int i = 0; i < sections; i++) {
        const int ends = section[i] == t->step->join;
        ck_assert_int_eq(ends, *going >= 0);
        if (ends) deliver(replicas, t, *going);
        *going = ends ? -1 : section[i];
        for (int r = 0; r < replicas; r++) {
            ck_assert_ok(t[r].runner->submit(t[r].run, section[i]));
            trial_wait(&t[r]);
        }
    }
}

static int find(const int root[], int r)
{
    return root[r] == r ? r : find(root, root[r]);
}

/* In each mixing step the partner of a partner is oneself, and the other half's; all messages go between the two.
 * Nobody is alone, but one active of an odd number. In a cycle all hang together. */
START_TEST(a_mixing_is_a_matching)
{
    const int P = _i;
    trial t[MOST_REPLICAS];
    int root[MOST_REPLICAS];
    open_all("adpsgd", P, t);
    ck_assert_int_eq(t->step->mixings, P < 2 ? 0 : P < 3 ? 1 : P < 5 ? 2 : 3);
    for (int r = 0; r < P; r++) root[r] = r;
    for (int m = 0; m < t->step->mixings; m++) {
        const int section = t->step->mixing[m];
        int alone = 0;
        for (int r = 0; r < P; r++) {
            const int other = partner_of(t, r, section);
            for (int edge = 0; edge < PARAMETERS; edge++) {
                const tutti_mark *out = mark_of(&t[r], section, TUTTI_MARK_SEND, edge);
                const tutti_mark *in = mark_of(&t[r], section, TUTTI_MARK_RECV, edge);
                ck_assert(
                    other < 0 ? !in && !out : in && out && in->peer == other && out->peer == other);
            }
            alone += other < 0;
            if (other < 0) ck_assert_int_eq(r % 2, 0);
            if (other < 0) continue;
            ck_assert_int_lt(other, P);
            ck_assert_int_ne(other % 2, r % 2);
            ck_assert_int_eq(partner_of(t, other, section), r);
            root[find(root, r)] = find(root, other);
        }
        ck_assert_int_eq(alone, P % 2);
    }
    for (int r = 1; r < P; r++) ck_assert_int_eq(find(root, r), find(root, 0));
    close_all(P, t);
}
END_TEST

typedef struct kind {
    const char *text;
    int replicas, period, delay;
} kind;
static const kind kinds[] = {{"adpsgd", 2, 1, 1}, {"adpsgd", 5, 1, 1},
    {"adpsgd:period=2,delay=1", 4, 2, 1}, {"adpsgd:period=2,delay=2", 6, 2, 2},
    {"adpsgd:period=4,delay=3", 3, 4, 3}, {"adpsgd:period=3,delay=3", 7, 3, 3}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct weights {
    float value[MOST_REPLICAS][PARAMETERS][MOST];
} weights;

static void note(int replicas, const trial t[], weights *w)
{
    int64_t count;
    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < PARAMETERS; i++) {
            const float *x = parameter(&t[r], i, &count);
            memcpy(w->value[r][i], x, (size_t)count * sizeof *x);
        }
}

/* What follows from what replicas had when a mixing step began, and have now. */
static void move(int replicas, const trial t[], int section, const weights *began, weights *now)
{
    int64_t count;
    for (int r = 0; r < replicas; r++) {
        const int other = partner_of(t, r, section);
        for (int i = 0; i < PARAMETERS && other >= 0; i++) {
            (void)parameter(t, i, &count);
            for (int64_t e = 0; e < count; e++)
                now->value[r][i][e] += (began->value[other][i][e] - began->value[r][i][e]) / 2;
        }
    }
}

/* A step of a net that knows of nobody, from the same weights. */
static void train_alone(trial *alone, const trial *t, int r, float rate, weights *w)
{
    int64_t count;
    for (int i = 0; i < PARAMETERS; i++) {
        float *x = parameter(alone, i, &count);
        memcpy(x, w->value[r][i], (size_t)count * sizeof *x);
    }
    trial_run(alone, alone->step->train, images + r * BATCH * IMAGE, labels + r * BATCH, rate, 0);
    for (int i = 0; i < PARAMETERS; i++) {
        const float *x = parameter(alone, i, &count), *y = parameter(t, i, &count);
        memcpy(w->value[r][i], x, (size_t)count * sizeof *x);
        for (int64_t e = 0; e < count; e++)
            ck_assert_msg(x[e] == y[e], "replica %d has %s[%lld] = %.9g, not %.9g", r,
                name_of(t, t->step->parameter[i]), (long long)e, (double)y[e], (double)x[e]);
    }
}

/* Step by step, bit for bit: a gradient is of the weights without the average under way, updates are kept, and the
 * average is of what the two had when they met. */
START_TEST(averages_come_when_they_are_due)
{
    static weights began, now;
    const kind *k = &kinds[_i];
    const tutti_step_options own = options_of("sync", 1);
    trial t[MOST_REPLICAS], alone;
    int met = -1, going = -1, ended = 0;
    open_all(k->text, k->replicas, t);
    trial_open(&alone, small, &own, 0);
    note(k->replicas, t, &now);
    for (int step = 0; step < STEPS; step++) {
        if (met >= 0 && step % k->period == k->delay % k->period) {
            move(k->replicas, t, met, &began, &now);
            met = -1;
            ended++;
        }
        if (step % k->period == 0) {
            ck_assert_int_lt(met, 0);
            began = now;
            met = tutti_step_mixing(t->step, step);
        }
        begin_step(k->replicas, t, step, &going);
        ck_assert_int_eq(going, met);
        for (int r = 0; r < k->replicas; r++) {
            trial_run(&t[r], t[r].step->train, images + r * BATCH * IMAGE, labels + r * BATCH,
                0.05f, step);
            train_alone(&alone, &t[r], r, 0.05f, &now);
        }
    }
    ck_assert_int_eq(ended, (STEPS - 1 - k->delay) / k->period + 1);
    trial_close(&alone);
    close_all(k->replicas, t);
}
END_TEST

/* Of whole numbers, to which each replica adds whole numbers in each step: what replicas have together is what was
 * added, exactly. */
START_TEST(mixing_moves_no_mean)
{
    static int64_t sum[PARAMETERS][MOST];
    const kind *k = &kinds[_i];
    const int whole = 1 << 10, mixings = 10;
    trial t[MOST_REPLICAS];
    int going = -1;
    int64_t count;
    memset(sum, 0, sizeof sum);
    open_all(k->text, k->replicas, t);
    for (int r = 0; r < k->replicas; r++)
        for (int i = 0; i < PARAMETERS; i++) {
            float *x = parameter(&t[r], i, &count);
            memset(x, 0, (size_t)count * sizeof *x);
        }
    for (int step = 0; step < k->period * mixings; step++) {
        begin_step(k->replicas, t, step, &going);
        for (int i = 0; i < PARAMETERS; i++)
            for (int64_t e = 0; (void)parameter(t, i, &count), e < count; e++) {
                double now = 0;
                for (int r = 0; r < k->replicas; r++) now += (double)parameter(&t[r], i, &count)[e];
                ck_assert_msg(now == (double)sum[i][e],
                    "step %d: the sum of %s[%lld] is %.17g, not %lld", step,
                    name_of(t, t->step->parameter[i]), (long long)e, now, (long long)sum[i][e]);
                for (int r = 0; r < k->replicas; r++) {
                    const int64_t n = whole * ((e * 7 + r * 13 + i * 5 + step * 11) % 31 - 15);
                    parameter(&t[r], i, &count)[e] += (float)n;
                    sum[i][e] += n;
                }
            }
    }
    close_all(k->replicas, t);
}
END_TEST

/* Without updates all come to the mean of what they began with; equal ones stay as they are, to the bit. */
START_TEST(replicas_agree_on_the_mean)
{
    static double mean[PARAMETERS][MOST];
    const kind *k = &kinds[_i];
    trial t[MOST_REPLICAS];
    int going = -1;
    int64_t count;
    open_all(k->text, k->replicas, t);
    const uint64_t equal = trial_hash(&t[0]);
    for (int step = 0; step < 5 * k->period; step++) begin_step(k->replicas, t, step, &going);
    for (int r = 0; r < k->replicas; r++) ck_assert_uint_eq(trial_hash(&t[r]), equal);
    close_all(k->replicas, t);
    open_all(k->text, k->replicas, t);
    going = -1;
    memset(mean, 0, sizeof mean);
    for (int r = 0; r < k->replicas; r++)
        for (int i = 0; i < PARAMETERS; i++) {
            float *x = parameter(&t[r], i, &count);
            for (int64_t e = 0; e < count; e++) {
                x[e] = (float)((e * 7 + r * 13 + i * 5) % 31 - 15);
                mean[i][e] += (double)x[e] / k->replicas;
            }
        }
    for (int step = 0; step < 200 * k->period; step++) begin_step(k->replicas, t, step, &going);
    for (int r = 0; r < k->replicas; r++)
        for (int i = 0; i < PARAMETERS; i++) {
            const float *x = parameter(&t[r], i, &count);
            for (int64_t e = 0; e < count; e++)
                ck_assert_msg(fabs((double)x[e] - mean[i][e]) < 1e-4,
                    "replica %d has %.9g, not the mean, %.9g", r, (double)x[e], mean[i][e]);
        }
    close_all(k->replicas, t);
}
END_TEST

/* A mixing step ends in the round that it began in, or never. */
START_TEST(a_round_begins_with_no_mixing)
{
    enum { LENGTH = 7, ROUNDS = 4 };
    const kind *k = &kinds[_i];
    tutti_step_options options = options_of(k->text, k->replicas);
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    small(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    for (int64_t n = 0; n < LENGTH * ROUNDS; n++) {
        const int64_t round = n / LENGTH * LENGTH, began = n - k->delay;
        const int ends = began >= round && began % k->period == 0, begins = n % k->period == 0;
        int section[TUTTI_STEP_BEFORE];
        ck_assert_int_eq(tutti_step_before(step, n, round, section), ends + begins);
        if (ends) ck_assert_int_eq(section[0], step->join);
        if (begins) ck_assert_int_eq(section[ends], tutti_step_mixing(step, n));
    }
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

static void refuses(const tutti_net *net, const tutti_step_options *options, tutti_status status)
{
    tutti_step *step = NULL;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_step_build(net, options, &step), status);
    tutti_log_set_level(TUTTI_LOG_WARN);
}

START_TEST(what_cannot_be_is_refused)
{
    tutti_step_options alone = options_of("adpsgd", 1), many = options_of("adpsgd", 1 << 30);
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    small(net);
    ck_assert_ok(tutti_step_build(net, &alone, &step));
    ck_assert_int_eq(step->mixings, 0);
    ck_assert_int_eq(step->join, -1);
    ck_assert_int_lt(tutti_graph_find(step->graph, "sent.fc.weight"), 0);
    tutti_step_free(step);
    ck_assert_ok(tutti_step_build(net, &many, &step));
    ck_assert_int_eq(step->mixings, TUTTI_STEP_MIXINGS);
    tutti_step_free(step);
    const tutti_step_options late = options_of("adpsgd:period=2,delay=3", 2);
    refuses(net, &late, TUTTI_ERR_USAGE);
    for (int i = 0; i < 3; i++) {
        tutti_step_options none = options_of("adpsgd", 2);
        none.settings.value[i] = 0;
        refuses(net, &none, TUTTI_ERR_INVAL);
    }
    tutti_step_options narrow = options_of("adpsgd", 2);
    narrow.wire = TUTTI_BF16;
    refuses(net, &narrow, TUTTI_ERR_INVAL);
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tcase = testing_case(suite, "pairs");
    make_data();
    tcase_add_loop_test(tcase, a_mixing_is_a_matching, 1, MOST_REPLICAS + 1);
    tcase_add_loop_test(tcase, averages_come_when_they_are_due, 0, KINDS);
    tcase_add_loop_test(tcase, mixing_moves_no_mean, 0, KINDS);
    tcase_add_loop_test(tcase, replicas_agree_on_the_mean, 0, KINDS);
    tcase_add_loop_test(tcase, a_round_begins_with_no_mixing, 0, KINDS);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    return testing_run(suite);
}
