/* dag/step/shares.c, dag/strategies/gossip.c: sum-weighted gossip, gossip:push-sum. Who sends to whom; shares, which an
 * oracle counts in whole units; weights, against the quotients of push-sum; what a round ends with. */
#include "dag/base/log.h"
#include "dag/strategies/strategies.h"
#include "tests/step/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4, CHANNELS = 2, CLASSES = 3, BATCH = 2, IMAGE = SIZE * SIZE * CHANNELS };
enum { MOST_REPLICAS = 7, MOST = 512, PARAMETERS = 4, STEPS = 400 };

/* A share of 1. */
static const int64_t whole = INT64_C(1) << 32;

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

static tutti_step_options options_of(int replicas)
{
    char fault[256];
    tutti_step_options o = {.batch = BATCH,
        .micro_batches = 1,
        .placement = {.replicas = replicas},
        .rule = &tutti_update_sgd,
        .seed = 3};
    ck_assert_msg(tutti_strategy_read(
                      "gossip:push-sum,period=7", &o.strategy, &o.settings, fault, sizeof fault),
        "%s", fault);
    return o;
}

static void open_all(int replicas, trial t[])
{
    tutti_step_options options = options_of(replicas);
    for (int r = 0; r < replicas; r++) {
        options.placement.rank = r;
        trial_open(&t[r], small, &options, (uint64_t)r + 1);
    }
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
    return trial_tensor(t, name_of(t, t->step->parameter[i]), count);
}

/* A float64 of one element. */
static double *scalar(const trial *t, const char *name)
{
    int64_t count;
    double *x = (double *)(void *)trial_tensor(t, name, &count);
    ck_assert_int_eq(count, 1);
    return x;
}

static int64_t units(double share)
{
    ck_assert(share * (double)whole == floor(share * (double)whole));
    return (int64_t)(share * (double)whole);
}

static void run_section(trial *t, int section)
{
    ck_assert_ok(t->runner->submit(t->run, section));
    trial_wait(t);
}

/* The n-th mark of a replica in a section with this verb and edge; NULL: there are not so many. */
static const tutti_mark *mark_of(const trial *t, int section, tutti_verb verb, int edge, int n)
{
    for (int i = 0; i < tutti_graph_nodes(t->step->graph); i++) {
        const tutti_node *node = tutti_graph_get_node(t->step->graph, i);
        if (node->kind == TUTTI_NODE_MARK && node->section == section && node->mark.verb == verb &&
            node->mark.edge == edge && n-- == 0)
            return &node->mark;
    }
    return NULL;
}

/* Whom replica r sends to in a mixing step. */
static int receiver(const trial *t, int section)
{
    const tutti_mark *mark = mark_of(t, section, TUTTI_MARK_SEND, 0, 0);
    ck_assert_ptr_nonnull(mark);
    return mark->peer;
}

/* What messages do, which need an exchange. */
static void deliver(int replicas, trial t[], int section)
{
    const int edges = t->step->parameters + 1; /* and that of shares */
    for (int r = 0; r < replicas; r++)
        for (int edge = 0; edge < edges; edge++) {
            const tutti_mark *in;
            for (int n = 0; (in = mark_of(&t[r], section, TUTTI_MARK_RECV, edge, n)); n++) {
                const trial *from = &t[in->peer];
                const tutti_mark *out = mark_of(from, section, TUTTI_MARK_SEND, edge, 0);
                ck_assert(out && out->peer == r);
                const size_t bytes = tutti_graph_get_tensor(t[r].step->graph, in->tensor)->bytes;
                int64_t count;
                memcpy(trial_tensor(&t[r], name_of(&t[r], in->tensor), &count),
                    trial_tensor(from, name_of(from, out->tensor), &count), bytes);
            }
        }
}

static const int sizes[] = {2, 3, 4, 5, 7};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Everyone sends to one and hears at most two; what is sent is received; some hear nobody, but for two replicas, so
 * that a plain mean would not do. With both turns of the coins neighbours hear each other. */
START_TEST(a_mixing_is_a_directed_graph)
{
    const int P = sizes[_i];
    trial t[MOST_REPLICAS];
    int silent = 0, next = 0;
    open_all(P, t);
    ck_assert_int_eq(t->step->mixings, 2 * (P > 4 ? 3 : P > 2 ? 2 : 1));
    for (int m = 0; m < t->step->mixings; m++) {
        const int section = t->step->mixing[m];
        int heard[MOST_REPLICAS] = {0};
        for (int r = 0; r < P; r++) {
            const int to = receiver(&t[r], section);
            ck_assert(to != r && to >= 0 && to < P);
            for (int edge = 0; edge <= t->step->parameters; edge++) {
                ck_assert_int_eq(mark_of(&t[r], section, TUTTI_MARK_SEND, edge, 0)->peer, to);
                ck_assert_ptr_null(mark_of(&t[r], section, TUTTI_MARK_SEND, edge, 1));
            }
            heard[to]++;
            next |= (to == (r + 1) % P) << r;
        }
        for (int r = 0; r < P; r++) {
            ck_assert_int_le(heard[r], 2);
            silent += !heard[r];
            for (int edge = 0; edge <= t->step->parameters; edge++) {
                int n = 0;
                const tutti_mark *in;
                for (; (in = mark_of(&t[r], section, TUTTI_MARK_RECV, edge, n)); n++)
                    ck_assert_int_eq(receiver(&t[in->peer], section), r);
                ck_assert_int_eq(n, heard[r]);
            }
        }
    }
    ck_assert_int_eq(next, (1 << P) - 1);
    ck_assert_int_eq(silent > 0, P > 2);
    close_all(P, t);
}
END_TEST

/* As Kempe, Dobra & Gehrke have it: x and w, of which half goes to another; the estimate is x / w. */
typedef struct push_sum {
    int64_t units[MOST_REPLICAS];
    double x[MOST_REPLICAS][PARAMETERS][MOST];
} push_sum;

static void note_estimates(int replicas, const trial t[], push_sum *s)
{
    int64_t count;
    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < t->step->parameters; i++) {
            const float *z = parameter(&t[r], i, &count);
            ck_assert_int_le(count, MOST);
            for (int64_t e = 0; e < count; e++)
                s->x[r][i][e] = (double)z[e] * (double)s->units[r] / (double)whole;
        }
}

static void push(int replicas, const trial t[], int section, push_sum *s)
{
    static push_sum sent;
    sent = *s;
    for (int r = 0; r < replicas; r++) {
        const int64_t given = s->units[r] / 2;
        const double part = (double)given / (double)s->units[r];
        sent.units[r] = given;
        s->units[r] -= given;
        for (int i = 0; i < t->step->parameters; i++)
            for (int e = 0; e < MOST; e++) {
                sent.x[r][i][e] = s->x[r][i][e] * part;
                s->x[r][i][e] -= sent.x[r][i][e];
            }
    }
    for (int r = 0; r < replicas; r++) {
        const int to = receiver(&t[r], section);
        s->units[to] += sent.units[r];
        for (int i = 0; i < t->step->parameters; i++)
            for (int e = 0; e < MOST; e++) s->x[to][i][e] += sent.x[r][i][e];
    }
}

static void mix_replicas(int replicas, trial t[], int64_t step, float rate)
{
    const int section = tutti_step_mixing(t->step, step);
    for (int r = 0; r < replicas; r++) run_section(&t[r], section);
    deliver(replicas, t, section);
    for (int r = 0; r < replicas; r++)
        trial_run(
            &t[r], t[r].step->train, images + r * BATCH * IMAGE, labels + r * BATCH, rate, step);
}

static void compare(int replicas, const trial t[], const push_sum *s, int64_t step, float rate)
{
    int64_t total = 0, count;
    for (int r = 0; r < replicas; r++) {
        const int64_t own = units(*scalar(&t[r], "share"));
        ck_assert_msg(own == s->units[r], "step %lld: replica %d has %lld units, not %lld",
            (long long)step, r, (long long)own, (long long)s->units[r]);
        ck_assert_int_gt(own, 0);
        total += own;
        for (int i = 0; i < t->step->parameters; i++) {
            const float *z = parameter(&t[r], i, &count);
            char gradient[96];
            snprintf(gradient, sizeof gradient, "d.%s", name_of(t, t->step->parameter[i]));
            const float *d = trial_tensor(&t[r], gradient, &count);
            for (int64_t e = 0; e < count; e++) {
                const double want =
                    s->x[r][i][e] / ((double)own / (double)whole) - (double)rate * (double)d[e];
                ck_assert_msg(fabs((double)z[e] - want) <= 1e-6 * (1 + fabs(want)),
                    "step %lld: replica %d has %s[%lld] = %.9g, not %.9g", (long long)step, r,
                    gradient + 2, (long long)e, (double)z[e], want);
            }
        }
    }
    ck_assert_msg(total == replicas * whole, "step %lld: shares sum to %lld units, not %lld",
        (long long)step, (long long)total, (long long)(replicas * whole));
}

/* Steps are compared with the oracle one by one; among them are far more than a float64 could halve exactly. */
START_TEST(weights_are_the_quotients_of_push_sum)
{
    static push_sum s;
    const int P = sizes[_i];
    trial t[MOST_REPLICAS];
    int uneven = 0;
    open_all(P, t);
    for (int r = 0; r < P; r++) s.units[r] = whole;
    for (int step = 0; step < STEPS; step++) {
        const float rate = step % 3 ? 0.05f : 0;
        note_estimates(P, t, &s);
        push(P, t, tutti_step_mixing(t->step, step), &s);
        mix_replicas(P, t, step, rate);
        compare(P, t, &s, step, rate);
        for (int r = 0; r < P; r++) uneven += s.units[r] != whole;
    }
    ck_assert_int_eq(uneven > STEPS / 2, P > 2);
    close_all(P, t);
}
END_TEST

/* Without updates all replicas come to the mean of what they began with, however uneven their shares; equal ones
 * stay as they are, to the bit. */
START_TEST(replicas_agree_on_the_mean)
{
    static double mean[PARAMETERS][MOST];
    const int P = sizes[_i];
    trial t[MOST_REPLICAS];
    int64_t count;
    open_all(P, t);
    const uint64_t equal = trial_hash(&t[0]);
    for (int step = 0; step < 20; step++) mix_replicas(P, t, step, 0);
    for (int r = 0; r < P; r++) ck_assert_uint_eq(trial_hash(&t[r]), equal);
    trial_refresh(&t[0]); /* shares begin with 1 again */
    for (int r = 1; r < P; r++) trial_refresh(&t[r]);
    memset(mean, 0, sizeof mean);
    for (int r = 0; r < P; r++)
        for (int i = 0; i < t->step->parameters; i++) {
            float *z = parameter(&t[r], i, &count);
            for (int64_t e = 0; e < count; e++) {
                z[e] = (float)((e * 7 + r * 13 + i * 5) % 31 - 15);
                mean[i][e] += (double)z[e] / P;
            }
        }
    for (int step = 0; step < STEPS; step++) mix_replicas(P, t, step, 0);
    for (int r = 0; r < P; r++)
        for (int i = 0; i < t->step->parameters; i++) {
            const float *z = parameter(&t[r], i, &count);
            for (int64_t e = 0; e < count; e++)
                ck_assert_msg(fabs((double)z[e] - mean[i][e]) < 1e-4,
                    "replica %d has %.9g, not the mean, %.9g", r, (double)z[e], mean[i][e]);
        }
    close_all(P, t);
}
END_TEST

static int node_of(const trial *t, const char *name)
{
    for (int n = 0; n < tutti_graph_nodes(t->step->graph); n++)
        if (!strcmp(tutti_graph_get_node(t->step->graph, n)->name, name)) return n;
    ck_abort_msg("no node %s", name);
}

/* At the end of a round each puts share * weight into the sum, of which every replica gets 1 / P: added up here after
 * the division, since the sum needs an exchange. Shares are 1 again. */
START_TEST(rounds_end_with_the_weighted_mean)
{
    static push_sum s;
    const int P = sizes[_i];
    trial t[MOST_REPLICAS];
    int64_t count;
    open_all(P, t);
    for (int r = 0; r < P; r++) s.units[r] = whole;
    for (int step = 0; step < 7; step++) {
        push(P, t, tutti_step_mixing(t->step, step), &s);
        mix_replicas(P, t, step, 0.1f);
    }
    note_estimates(P, t, &s);
    for (int i = 0; i < t->step->parameters; i++) {
        char name[96];
        const char *of = name_of(t, t->step->parameter[i]);
        snprintf(name, sizeof name, "%s.share_scale", of);
        const int scaled = node_of(t, name);
        int summed = 0;
        while (tutti_graph_get_node(t->step->graph, summed)->kind != TUTTI_NODE_MARK ||
               tutti_graph_get_node(t->step->graph, summed)->mark.verb != TUTTI_MARK_ALLREDUCE ||
               tutti_graph_get_node(t->step->graph, summed)->mark.tensor != t->step->parameter[i])
            summed++;
        snprintf(name, sizeof name, "%s.divide", of);
        ck_assert(scaled < summed && summed < node_of(t, name));
    }
    for (int r = 0; r < P; r++) run_section(&t[r], t[r].step->average);
    for (int r = 0; r < P; r++) ck_assert_int_eq(units(*scalar(&t[r], "share")), whole);
    for (int i = 0; i < t->step->parameters; i++) {
        (void)parameter(t, i, &count);
        for (int64_t e = 0; e < count; e++) {
            double want = 0, got = 0;
            for (int r = 0; r < P; r++) {
                want += s.x[r][i][e] / P;
                got += (double)parameter(&t[r], i, &count)[e];
            }
            ck_assert_msg(fabs(got - want) <= 1e-6 * (1 + fabs(want)), "%.9g, not %.9g", got, want);
        }
    }
    close_all(P, t);
}
END_TEST

/* Which graphs there can be: one replica meets nobody; 2^12 have as many kinds of mixing steps as a step may. */
START_TEST(replicas_are_counted)
{
    tutti_step_options options = options_of(1);
    tutti_net *net;
    tutti_step *step = NULL;
    ck_assert_ok(tutti_net_new(&net));
    small(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    ck_assert_int_eq(step->mixings, 0);
    ck_assert_int_lt(tutti_graph_find(step->graph, "share"), 0);
    tutti_step_free(step);
    options.placement.replicas = 4096;
    ck_assert_ok(tutti_step_build(net, &options, &step));
    ck_assert_int_eq(step->mixings, TUTTI_STEP_MIXINGS);
    tutti_step_free(step);
    tutti_log_set_level(TUTTI_LOG_NONE);
    options.placement.replicas = 4097;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    options.placement.replicas = 3;
    options.settings.value[0] = 3;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_WARN);
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shares");
    TCase *tcase = testing_case(suite, "shares");
    make_data();
    tcase_add_loop_test(tcase, a_mixing_is_a_directed_graph, 0, SIZES);
    tcase_add_loop_test(tcase, weights_are_the_quotients_of_push_sum, 0, SIZES);
    tcase_add_loop_test(tcase, replicas_agree_on_the_mean, 0, SIZES);
    tcase_add_loop_test(tcase, rounds_end_with_the_weighted_mean, 0, SIZES);
    tcase_add_test(tcase, replicas_are_counted);
    return testing_run(suite);
}
