/* dag/step, dag/strategies: replicas that train alone. Within a round each is a net on its own batch, bit for bit; what
 * a round ends with is the average, or the outer step from it, of all parameters and states; a round of one step is a
 * step on the batch of all replicas. Those that meet neighbours mix their weights. How strategies are written; what the
 * schedules of a rooted one wait for. */
#include "dag/base/log.h"
#include "dag/strategies/strategies.h"
#include "tests/step/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 6, CHANNELS = 2, CLASSES = 4, BATCH = 6, REPLICAS = 3, ROUNDS = 3, PERIOD = 2 };
enum { IMAGE = SIZE * SIZE * CHANNELS, STEPS = ROUNDS * PERIOD, MOST = 4096 };

static const float rate = 0.05f;
static float images[STEPS * REPLICAS * BATCH * IMAGE];
static int32_t labels[STEPS * REPLICAS * BATCH];

static void make_data(void)
{
    trial_images(5, 0, STEPS * REPLICAS * BATCH * IMAGE, images);
    trial_labels(5, 0, STEPS * REPLICAS * BATCH, CLASSES, labels);
}

static void with_norm(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_norm(net, "bn", x, 1);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static void without_norm(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, SIZE, SIZE, CHANNELS);
    x = tutti_net_conv(net, "conv", x, &(tutti_conv_layer){.K = 5, .R = 3, .pad = 1, .bias = 1});
    x = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, tutti_net_dense(net, "fc", x, CLASSES, TUTTI_INIT_UNIFORM_FAN_IN));
}

static tutti_step_options options_of(const char *strategy)
{
    char fault[256];
    tutti_step_options o = {.batch = BATCH,
        .micro_batches = 2,
        .rule = &tutti_update_sgd,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .average_decay = 0.5,
        .seed = 3};
    ck_assert_msg(
        tutti_strategy_read(strategy, &o.strategy, &o.settings, fault, sizeof fault), "%s", fault);
    return o;
}

static void train(trial *t, int replica, int step)
{
    const int64_t first = (step * REPLICAS + replica) * t->options.batch;
    trial_run(t, t->step->train, images + first * IMAGE, labels + first, rate, step);
}

/* The i-th of what a step trains and keeps. */
static float *tensor_at(const trial *t, int i, int64_t *count, const char **name)
{
    const tutti_step *s = t->step;
    const int tensor = i < s->parameters ? s->parameter[i] : s->state[i - s->parameters];
    *name = tutti_graph_get_tensor(s->graph, tensor)->name;
    float *data = trial_tensor(t, *name, count);
    ck_assert_int_le(*count, MOST);
    return data;
}

static int is_velocity(const char *name)
{
    return !strncmp(name, "velocity.", strlen("velocity."));
}

/* What an exchange does to the marks of the section: every replica gets the sum, in the order of replicas. */
static void sum_over(trial t[], int i)
{
    int64_t count;
    const char *name;
    float *x[REPLICAS];
    for (int r = 0; r < REPLICAS; r++) x[r] = tensor_at(&t[r], i, &count, &name);
    if (is_velocity(name)) return;
    for (int64_t e = 0; e < count; e++) {
        float sum = x[0][e];
        for (int r = 1; r < REPLICAS; r++) sum += x[r][e];
        for (int r = 0; r < REPLICAS; r++) x[r][e] = sum;
    }
}

static void run_section(trial *t, int section)
{
    ck_assert_ok(t->runner->submit(t->run, section));
    trial_wait(t);
}

static void end_round(trial t[])
{
    for (int i = 0; i < t->step->parameters + t->step->states; i++) sum_over(t, i);
    for (int r = 0; r < REPLICAS; r++) run_section(&t[r], t[r].step->average);
}

/* The same of nets that know nothing of each other. start, v: of parameters, in double precision. */
static void average_alone(trial t[], int i, float outer, float momentum, double *start, double *v)
{
    int64_t count;
    const char *name;
    float *x[REPLICAS];
    const int parameter = i < t->step->parameters;
    for (int r = 0; r < REPLICAS; r++) x[r] = tensor_at(&t[r], i, &count, &name);
    for (int64_t e = 0; e < count; e++) {
        float mean = x[0][e];
        for (int r = 1; r < REPLICAS; r++) mean += x[r][e];
        mean /= REPLICAS;
        if (parameter && (outer != 1 || momentum > 0)) {
            double move = start[e] - (double)mean;
            v[e] = (double)momentum * v[e] + move;
            start[e] -= (double)outer * (move + (double)momentum * v[e]);
            mean = (float)start[e];
        }
        for (int r = 0; r < REPLICAS; r++) x[r][e] = mean;
    }
}

static void compare(trial *got, const trial *want, int exact, const char *when)
{
    for (int i = 0, k = 0; i < got->step->parameters + got->step->states; i++) {
        int64_t count;
        const char *name, *other;
        const float *x = tensor_at(got, i, &count, &name);
        if (is_velocity(name)) continue;
        const float *y = tensor_at(want, k++, &count, &other);
        ck_assert_str_eq(name, other);
        for (int64_t e = 0; e < count; e++)
            ck_assert_msg(exact ? x[e] == y[e] : fabsf(x[e] - y[e]) <= 1e-6f * (1 + fabsf(y[e])),
                "%s: %s[%lld] is %.9g, not %.9g", when, name, (long long)e, (double)x[e],
                (double)y[e]);
    }
}

static const struct {
    const char *text;
    float outer, momentum;
} kinds[] = {{"local:period=2", 1, 0}, {"local:period=2,outer=0.5", 0.5f, 0},
    {"local:period=2,outer=0.7,momentum=0.9", 0.7f, 0.9f}};

START_TEST(rounds_average_what_replicas_did_alone)
{
    static double start[64][MOST], v[64][MOST];
    trial local[REPLICAS], alone[REPLICAS];
    tutti_step_options own = options_of("sync"), together = options_of(kinds[_i].text);
    const int exact = kinds[_i].outer == 1;
    together.placement.replicas = REPLICAS;
    memset(v, 0, sizeof v);
    for (int r = 0; r < REPLICAS; r++) {
        together.placement.rank = r;
        trial_open(&local[r], with_norm, &together, (uint64_t)r + 1);
        trial_open(&alone[r], with_norm, &own, 0);
    }
    ck_assert_int_eq(local->step->period, PERIOD);
    const int tensors = alone->step->parameters + alone->step->states;
    for (int i = 0; i < alone->step->parameters; i++) {
        int64_t count;
        const char *name;
        const float *w = tensor_at(&alone[0], i, &count, &name);
        for (int64_t e = 0; e < count; e++) start[i][e] = (double)w[e];
    }
    for (int step = 0; step < STEPS; step++) {
        for (int r = 0; r < REPLICAS; r++) {
            train(&local[r], r, step);
            train(&alone[r], r, step);
            compare(&local[r], &alone[r], exact || step < PERIOD, "within a round");
        }
        if ((step + 1) % PERIOD) continue;
        end_round(local);
        for (int i = 0; i < tensors; i++)
            average_alone(alone, i, kinds[_i].outer, kinds[_i].momentum, start[i], v[i]);
        for (int r = 0; r < REPLICAS; r++) compare(&local[r], &alone[r], exact, "after a round");
        for (int r = 1; r < REPLICAS; r++)
            ck_assert_uint_eq(trial_hash(&local[r]), trial_hash(&local[0]));
    }
    for (int r = 0; r < REPLICAS; r++) {
        trial_close(&local[r]);
        trial_close(&alone[r]);
    }
}
END_TEST

START_TEST(a_round_of_one_step_is_a_step_of_all)
{
    trial local[REPLICAS], whole;
    tutti_step_options all = options_of("sync"), own = options_of("local:period=1");
    all.batch = REPLICAS * BATCH;
    own.placement.replicas = REPLICAS;
    trial_open(&whole, without_norm, &all, 0);
    for (int r = 0; r < REPLICAS; r++) {
        own.placement.rank = r;
        trial_open(&local[r], without_norm, &own, 0);
    }
    for (int step = 0; step < STEPS; step++) {
        const int64_t first = step * REPLICAS * BATCH;
        trial_run(&whole, whole.step->train, images + first * IMAGE, labels + first, rate, step);
        for (int r = 0; r < REPLICAS; r++) train(&local[r], r, step);
        end_round(local);
    }
    compare(&local[0], &whole, 0, "after all steps");
    trial_close(&whole);
    for (int r = 0; r < REPLICAS; r++) trial_close(&local[r]);
}
END_TEST

/* ---- replicas that meet neighbours ---- */

enum { MET = 4, MEETINGS = 6 };

typedef struct gossip {
    const char *text;
    int replicas, ring;
} gossip;
static const gossip gossips[] = {{"gossip:ring", 3, 1}, {"gossip:ring", 4, 1},
    {"gossip:ring", 2, 1}, {"gossip:exponential", 4, 0}, {"gossip:exponential", 3, 0},
    {"gossip", 1, 1}};

static void open_gossip(const gossip *g, trial t[])
{
    tutti_step_options options = options_of(g->text);
    options.placement.replicas = g->replicas;
    options.momentum = options.weight_decay = 0;
    for (int r = 0; r < g->replicas; r++) {
        options.placement.rank = r;
        trial_open(&t[r], without_norm, &options, (uint64_t)r + 1);
    }
}

/* Whose weights replica r gets in step `number`: one, or on a ring of three and more two. */
static int met_by(const gossip *g, const trial *t, int r, int step, int from[2])
{
    const int mixing = tutti_step_mixing(t->step, step), P = g->replicas;
    int far = 1;
    if (mixing < 0) return 0;
    for (int i = 0; !g->ring && t->step->mixing[i] != mixing; i++) far *= 2;
    from[0] = (r + P - far) % P;
    from[1] = (r + 1) % P;
    return g->ring && P > 2 ? 2 : 1;
}

/* What messages do, which need an exchange. */
static void bring(const gossip *g, trial t[], int step, int i)
{
    static const char *const prefix[] = {"near.", "near2."};
    int64_t count;
    const char *name;
    for (int r = 0; r < g->replicas; r++) {
        int from[2];
        const int n = met_by(g, &t[r], r, step, from);
        for (int k = 0; k < n; k++) {
            char near[96];
            const float *x = tensor_at(&t[from[k]], i, &count, &name);
            snprintf(near, sizeof near, "%s%s", prefix[k], name);
            memcpy(trial_tensor(&t[r], near, &count), x, (size_t)count * sizeof *x);
        }
    }
}

/* Each replica's weights after a step are the mean of those that it and its neighbours had, less the rate times the
 * gradient at its own: that of a net that knows of nobody. */
START_TEST(a_step_mixes_what_neighbours_had)
{
    static float before[MET][16][MOST];
    const gossip *g = &gossips[_i];
    trial t[MET], alone;
    tutti_step_options own = options_of("sync");
    own.momentum = own.weight_decay = 0;
    open_gossip(g, t);
    trial_open(&alone, without_norm, &own, 0);
    ck_assert_int_eq(t->step->mixings, g->replicas == 1 ? 0 : g->ring ? 1 : 2);
    for (int step = 0; step < MEETINGS; step++) {
        for (int i = 0; i < t->step->parameters; i++) {
            bring(g, t, step, i);
            for (int r = 0; r < g->replicas; r++) {
                int64_t count;
                const char *name;
                const float *x = tensor_at(&t[r], i, &count, &name);
                memcpy(before[r][i], x, (size_t)count * sizeof *x);
            }
        }
        for (int r = 0; r < g->replicas; r++) {
            const int64_t first = (step % STEPS * REPLICAS + r % REPLICAS) * BATCH;
            int from[2], n = met_by(g, &t[r], r, step, from);
            int64_t count;
            const char *name;
            for (int i = 0; i < t->step->parameters; i++)
                memcpy(tensor_at(&alone, i, &count, &name), before[r][i],
                    (size_t)tutti_shape_count(
                        &tutti_graph_get_tensor(t->step->graph, t->step->parameter[i])->shape) *
                        sizeof(float));
            trial_run(
                &alone, alone.step->train, images + first * IMAGE, labels + first, rate, step);
            trial_run(&t[r], t[r].step->train, images + first * IMAGE, labels + first, rate, step);
            for (int i = 0; i < t->step->parameters; i++) {
                const float *x = tensor_at(&t[r], i, &count, &name);
                char gradient[96];
                snprintf(gradient, sizeof gradient, "d.%s", name);
                const float *d = trial_tensor(&alone, gradient, &count);
                for (int64_t e = 0; e < count; e++) {
                    float want = before[r][i][e];
                    for (int k = 0; k < n; k++) want += before[from[k]][i][e];
                    want = want / (float)(n + 1) - rate * d[e];
                    ck_assert_msg(fabsf(x[e] - want) <= 1e-6f * (1 + fabsf(want)),
                        "%s, %d replicas, step %d: replica %d has %s[%lld] = %.9g, not %.9g",
                        g->text, g->replicas, step, r, name, (long long)e, (double)x[e],
                        (double)want);
                }
            }
        }
    }
    trial_close(&alone);
    for (int r = 0; r < g->replicas; r++) trial_close(&t[r]);
}
END_TEST

/* Without updates, of weights that are whole multiples of what they are divided by: mixing step leaves the sum over
 * replicas as it is, exactly; and a cycle of the exponential graph leaves a power of two of replicas equal. */
START_TEST(mixing_moves_no_mean)
{
    const gossip *g = &gossips[_i];
    const int divided = g->ring && g->replicas > 2 ? 3 : 2, whole = 729;
    static int64_t sum[16][MOST];
    trial t[MET];
    int64_t count;
    const char *name;
    ck_assert_int_eq(whole, 3 * 3 * 3 * 3 * 3 * 3); /* three to the power of MEETINGS */
    open_gossip(g, t);
    memset(sum, 0, sizeof sum);
    for (int r = 0; r < g->replicas; r++)
        for (int i = 0; i < t->step->parameters; i++) {
            float *x = tensor_at(&t[r], i, &count, &name);
            for (int64_t e = 0; e < count; e++) {
                const int64_t n =
                    ((e * 7 + r * 13 + i * 5) % 31 - 15) * (divided == 3 ? whole : 64);
                x[e] = (float)n;
                sum[i][e] += n;
            }
        }
    for (int step = 0; step < MEETINGS; step++) {
        for (int i = 0; i < t->step->parameters; i++) bring(g, t, step, i);
        for (int r = 0; r < g->replicas; r++)
            trial_run(&t[r], t[r].step->train, images, labels, 0, step);
    }
    for (int i = 0; i < t->step->parameters; i++)
        for (int64_t e = 0; (void)tensor_at(&t[0], i, &count, &name), e < count; e++) {
            double now = 0;
            for (int r = 0; r < g->replicas; r++) {
                const double x = (double)tensor_at(&t[r], i, &count, &name)[e];
                if (!g->ring && g->replicas == MET)
                    ck_assert_msg(x * MET == (double)sum[i][e],
                        "%s[%lld] of replica %d is %g, not the mean", name, (long long)e, r, x);
                now += x;
            }
            ck_assert_msg(now == (double)sum[i][e], "%s: the sum of %s[%lld] was %lld and is %.17g",
                g->text, name, (long long)e, (long long)sum[i][e], now);
        }
    for (int r = 0; r < g->replicas; r++) trial_close(&t[r]);
}
END_TEST

/* All replicas draw one order, in which every cycle has each mixing step once. */
START_TEST(a_cycle_has_each_mixing_once)
{
    enum { P = 9, H = 4, CYCLES = 200 };
    tutti_step_options options = options_of("gossip:exponential");
    tutti_step *step[2];
    tutti_net *net;
    int first = 0, other = 0;
    ck_assert_ok(tutti_net_new(&net));
    without_norm(net);
    options.placement.replicas = P;
    for (int r = 0; r < 2; r++) {
        options.placement.rank = r * 5;
        ck_assert_ok(tutti_step_build(net, &options, &step[r]));
    }
    ck_assert_int_eq(step[0]->mixings, H);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int seen = 0;
        for (int i = 0; i < H; i++) {
            const int64_t number = cycle * H + i;
            const int mixing = tutti_step_mixing(step[0], number);
            ck_assert_int_eq(tutti_step_mixing(step[1], number), mixing);
            for (int k = 0; k < H; k++) seen |= (step[0]->mixing[k] == mixing) << k;
        }
        ck_assert_int_eq(seen, (1 << H) - 1);
        first += tutti_step_mixing(step[0], cycle * H) == step[0]->mixing[0];
    }
    ck_assert_int_gt(first, CYCLES / H / 2);
    ck_assert_int_lt(first, CYCLES / H * 2);
    step[1]->seed++;
    for (int i = 0; i < CYCLES; i++)
        other += tutti_step_mixing(step[0], i) != tutti_step_mixing(step[1], i);
    ck_assert_int_gt(other, CYCLES / 2);
    for (int r = 0; r < 2; r++) tutti_step_free(step[r]);
    tutti_net_free(net);
}
END_TEST

/* Whether two nodes use a tensor that one of them writes. */
static int mix_replicas(const tutti_node *a, const tutti_node *b)
{
    for (int i = 0; i < a->accesses; i++)
        for (int k = 0; k < b->accesses; k++)
            if (a->access[i].tensor == b->access[k].tensor &&
                ((a->access[i].mode | b->access[k].mode) & TUTTI_WRITE))
                return 1;
    return 0;
}

START_TEST(what_is_written_is_read)
{
    static const struct {
        const char *text, *full;
    } rows[] = {{"sync", "sync"}, {"sharded", "sharded"}, {"rooted", "rooted:obr"},
        {"rooted:b", "rooted:b"}, {"rooted:ob", "rooted:ob"},
        {"local", "local:period=8,outer=1,momentum=0"},
        {"local:momentum=.9,period=3", "local:period=3,outer=1,momentum=0.9"},
        {"local:outer=1e1", "local:period=8,outer=10,momentum=0"},
        {"gossip", "gossip:ring,period=1000"}, {"gossip:period=5", "gossip:ring,period=5"},
        {"gossip:period=5,exponential", "gossip:exponential,period=5"},
        {"gossip:push-sum", "gossip:push-sum,period=1000"},
        {"adpsgd", "adpsgd:period=1,delay=1,round=1000"},
        {"adpsgd:delay=2,period=4", "adpsgd:period=4,delay=2,round=1000"}, {"async", "async"},
        {"bounded", "bounded:3"}, {"bounded:0", "bounded:0"}};
    static const struct {
        const char *text, *says;
    } refused[] = {{"", "must be sync, sharded"}, {"loca", "must be sync"}, {"locals", "must be"},
        {"local:", "local takes period="}, {"local:period", "local takes period="},
        {"local:=2", "local takes period="}, {"local:period=", "whole number from 1"},
        {"local:period=-2", "whole number from 1"}, {"local:period=nan", "whole number from 1"},
        {"local:period=2,,outer=1", "local takes"}, {"local:outer=11", "from 0.001 to 10"},
        {"local:outer=1,outer=1", "outer= twice"}, {"sync:", "sync takes no parameters"},
        {"adpsgd:delay=1,period=2,delay=1", "delay= twice"}, {"rooted:", "must be rooted:b"},
        {"rooted:o", "must be rooted:b"}, {"rooted:b,ob", "must be rooted:b"},
        {"rooted:schedule=b", "must be rooted:b"},
        {"gossip:star", "must be gossip:ring, gossip:exponential or gossip:push-sum, which period= "
                        "may follow"},
        {"gossip:ring,exponential", "must be gossip:ring"}, {"gossip:period=0", "whole number"},
        {"adpsgd:", "adpsgd takes period=, delay= and round="},
        {"adpsgd:delay=0", "from 1 to 1000"}, {"adpsgd:period=1.5", "whole number"},
        {"async:1", "async takes no parameters"},
        {"bounded:", "bound must be a whole number from 0"}, {"bounded:1.5", "whole number"},
        {"bounded:1,2", "bounded takes a number, such as bounded:3"}};
    const tutti_strategy *strategy;
    tutti_strategy_settings settings;
    char fault[256], text[TUTTI_STRATEGY_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert(
            tutti_strategy_read(rows[i].text, &strategy, &settings, fault, sizeof fault) == 1);
        ck_assert_str_eq(tutti_strategy_print(strategy, &settings, text), rows[i].full);
        ck_assert(tutti_strategy_read(text, &strategy, &settings, fault, sizeof fault) == 1);
        ck_assert_str_eq(tutti_strategy_print(strategy, &settings, text), rows[i].full);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_msg(
            !tutti_strategy_read(refused[i].text, &strategy, &settings, fault, sizeof fault),
            "%s is read", refused[i].text);
        ck_assert_msg(strstr(fault, refused[i].says) != NULL, "%s: %s", refused[i].text, fault);
    }
}
END_TEST

/* Whether node `to` of the section train comes behind `from` in every order. */
static int waits(const tutti_graph *g, int from, int to)
{
    static char behind[4096];
    const tutti_node *first = tutti_graph_get_node(g, from);
    ck_assert_int_lt(tutti_graph_nodes(g), 4096);
    memset(behind, 0, sizeof behind);
    behind[from] = 1;
    for (int n = from + 1; n <= to; n++) {
        const tutti_node *node = tutti_graph_get_node(g, n);
        for (int m = from; m < n && !behind[n] && node->section == first->section; m++)
            behind[n] = (char)(behind[m] && mix_replicas(tutti_graph_get_node(g, m), node));
    }
    return behind[to];
}

static int find_mark(const tutti_graph *g, tutti_verb verb, const char *tensor)
{
    const int wanted = tutti_graph_find(g, tensor);
    for (int n = 0; n < tutti_graph_nodes(g); n++) {
        const tutti_node *node = tutti_graph_get_node(g, n);
        if (node->kind == TUTTI_NODE_MARK && node->mark.verb == verb && node->mark.tensor == wanted)
            return n;
    }
    ck_abort_msg("no such mark of %s", tensor);
}

static int find_node(const tutti_graph *g, const char *name)
{
    for (int n = 0; n < tutti_graph_nodes(g); n++)
        if (!strcmp(tutti_graph_get_node(g, n)->name, name)) return n;
    ck_abort_msg("no node %s", name);
}

/* What each schedule of a rooted update waits for: obr for nothing but what it sends, ob's reduces for all gradients,
 * b's broadcasts for all updates, too. */
START_TEST(rooted_schedules_wait_as_they_say)
{
    static const struct {
        const char *text;
        int late_reduce, late_broadcast;
    } rows[] = {{"rooted:obr", 0, 0}, {"rooted:ob", 1, 0}, {"rooted:b", 1, 1}};
    tutti_step_options options = options_of(rows[_i].text);
    options.placement.replicas = REPLICAS;
    options.average_decay = 0;
    tutti_net *net;
    tutti_step *step;
    ck_assert_ok(tutti_net_new(&net));
    without_norm(net);
    ck_assert_ok(tutti_step_build(net, &options, &step));
    const tutti_graph *g = step->graph;
    /* the dense layer's gradient is complete before that of the convolution, whose update comes first */
    const int first_sum = find_node(g, "conv.weight.sum_micro_batches");
    const int reduce = find_mark(g, TUTTI_MARK_REDUCE, "d.fc.weight");
    const int last_update = find_node(g, "fc.weight.sgd");
    const int broadcast = find_mark(g, TUTTI_MARK_BROADCAST, "conv.weight");
    ck_assert_int_eq(first_sum < reduce && waits(g, first_sum, reduce), rows[_i].late_reduce);
    ck_assert_int_eq(
        last_update < broadcast && waits(g, last_update, broadcast), rows[_i].late_broadcast);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

START_TEST(sums_that_are_not_made_have_no_type)
{
    tutti_step_options options = options_of("local");
    tutti_net *net;
    tutti_step *step = NULL;
    ck_assert_ok(tutti_net_new(&net));
    with_norm(net);
    tutti_log_set_level(TUTTI_LOG_NONE);
    options.wire = TUTTI_BF16;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_step_options meets = options_of("gossip");
    meets.wire = TUTTI_BF16;
    ck_assert_int_eq(tutti_step_build(net, &meets, &step), TUTTI_ERR_INVAL);
    meets.wire = TUTTI_F32;
    meets.settings.value[1] = 0;
    ck_assert_int_eq(tutti_step_build(net, &meets, &step), TUTTI_ERR_INVAL);
    options.wire = TUTTI_F32;
    options.settings.value[0] = 0;
    ck_assert_int_eq(tutti_step_build(net, &options, &step), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_WARN);
    tutti_net_free(net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounds");
    TCase *tcase = testing_case(suite, "rounds");
    make_data();
    tcase_add_loop_test(
        tcase, rounds_average_what_replicas_did_alone, 0, (int)(sizeof kinds / sizeof *kinds));
    tcase_add_test(tcase, a_round_of_one_step_is_a_step_of_all);
    tcase_add_loop_test(
        tcase, a_step_mixes_what_neighbours_had, 0, (int)(sizeof gossips / sizeof *gossips));
    tcase_add_loop_test(tcase, mixing_moves_no_mean, 0, (int)(sizeof gossips / sizeof *gossips));
    tcase_add_test(tcase, a_cycle_has_each_mixing_once);
    tcase_add_test(tcase, what_is_written_is_read);
    tcase_add_loop_test(tcase, rooted_schedules_wait_as_they_say, 0, 3);
    tcase_add_test(tcase, sums_that_are_not_made_have_no_type);
    return testing_run(suite);
}
