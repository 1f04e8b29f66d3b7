/* Steps with parameter servers, part by part, without an exchange: the test brings the messages. Keys are assigned by
 * bytes, and large parameters divided; servers add in the order of clients, and update as one rank does; workers take
 * portions from gradients and put them into weights; elastic mixing steps lose nothing. */
#include "dag/base/rng.h"
#include "dag/net/layer.h"
#include "dag/step/service.h"
#include "dag/step/strategy.h"
#include "dag/strategies/rows.h"
#include "tests/step/drawn.h"
#include "tests/step/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, NET = 5, CLIENTS = 4, SERVERS = 3, MOST = 4096, WIDE = 131, CLASSES = 5 };

static void build(tutti_net *net)
{
    drawn_net(net, NET, SIDE);
}

/* A parameter that is larger than all others, of 47 * 131 elements, which no number of servers divides. */
static void build_wide(tutti_net *net)
{
    tutti_value x = tutti_net_input(net, 1, 1, 47);
    x = tutti_net_dense(net, "wide", x, WIDE, TUTTI_INIT_HE_FAN_IN);
    x = tutti_net_relu(net, "relu", x);
    tutti_net_output(net, tutti_net_dense(net, "narrow", x, CLASSES, TUTTI_INIT_HE_FAN_IN));
}

static trial_net_fn *const nets[] = {build, build_wide};
enum { NETS = sizeof nets / sizeof *nets };

static tutti_step_options options_of(const tutti_strategy *strategy, int servers, int clients)
{
    return (tutti_step_options){.batch = 2,
        .micro_batches = 1,
        .placement = {.replicas = clients, .clients = clients, .servers = servers},
        .strategy = strategy,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .seed = 7};
}

static void open_server(trial *t, trial_net_fn *net, const tutti_strategy *strategy, double alpha,
    int server, int servers, int clients)
{
    tutti_step_options o = options_of(strategy, servers, clients);
    o.placement.rank = clients + server;
    o.settings.value[0] = 1;
    o.settings.value[1] = alpha;
    o.settings.value[2] = 1;
    trial_open(t, net, &o, 3);
}

static const tutti_tensor *tensor_of(const trial *t, int i)
{
    return tutti_graph_get_tensor(t->step->graph, t->step->parameter[i]);
}

/* What a client sends: element e of a tensor. */
static float sent(const char *name, int client, int64_t e)
{
    return (float)tutti_rng_normal((uint64_t)client, tutti_rng_stream(name), (uint64_t)e);
}

/* "d.<name>", or of several clients "d.<name>.client<number>" */
static float *part_of(const trial *t, const char *name, int client, int clients)
{
    char text[128];
    int64_t count;
    if (clients > 1)
        snprintf(text, sizeof text, "d.%s.client%d", name, client);
    else
        snprintf(text, sizeof text, "d.%s", name);
    return trial_tensor(t, text, &count);
}

static void run_section(trial *t, int section)
{
    static const float rate = 0.05f;
    static const int64_t number = 0;
    ck_assert_ok(t->runner->feed(t->run, t->step->rate, &rate, sizeof rate, NULL, NULL));
    ck_assert_ok(t->runner->feed(t->run, t->step->counter, &number, sizeof number, NULL, NULL));
    ck_assert_ok(t->runner->submit(t->run, section));
    trial_wait(t);
}

/* The sum of what clients sent, in their order. */
static float in_order(const char *name, int clients, int64_t e)
{
    float sum = sent(name, 0, e);
    for (int c = 1; c < clients; c++) sum += sent(name, c, e);
    return sum;
}

/* A key begins where the one before ends, as the next portion of the same, or as another whole. */
static void check_ranges(int keys, const tutti_key key[], int servers)
{
    for (int k = 0, before = 0; k < keys; before = k++) {
        const int next = k && key[k].number == key[before].number;
        ck_assert_int_eq(key[k].number, k ? key[before].number + !next : 0);
        ck_assert_int_eq(key[k].portion, next ? key[before].portion + 1 : 0);
        ck_assert_int_eq(key[k].at.first, next ? key[before].at.first + key[before].at.count : 0);
        ck_assert(key[k].portions == 1 || key[k].portions == servers);
        if (next) ck_assert_int_le(llabs(key[before].at.count - key[k].at.count), 1);
        if (key[k].portions > 1) ck_assert_int_eq(key[k].at.server, key[k].portion);
    }
    ck_assert_int_eq(key[keys - 1].portion, key[keys - 1].portions - 1);
}

static int64_t bytes_of_key(const tutti_key *key)
{
    return key->at.count * (int64_t)tutti_dtype_bytes(key->dtype);
}

static int64_t bytes_of(int keys, const tutti_key key[])
{
    int64_t bytes = 0;
    for (int k = 0; k < keys; k++) bytes += bytes_of_key(&key[k]);
    return bytes;
}

/* Two servers have no key in common, all of them together have all, and loads differ by less than the largest key. */
static void check_loads(int keys, const tutti_key key[], int servers)
{
    int64_t least = INT64_MAX, most = 0, largest = 0;
    for (int s = 0; s < servers; s++) {
        int64_t bytes = 0;
        for (int k = 0; k < keys; k++) bytes += key[k].at.server == s ? bytes_of_key(&key[k]) : 0;
        if (bytes < least) least = bytes;
        if (bytes > most) most = bytes;
    }
    for (int k = 0; k < keys; k++) {
        ck_assert(key[k].at.server >= 0 && key[k].at.server < servers);
        if (bytes_of_key(&key[k]) > largest) largest = bytes_of_key(&key[k]);
    }
    ck_assert_int_gt(least, 0);
    ck_assert_int_le(most - least, largest);
}

/* Row: net, whether large parameters are divided. */
START_TEST(keys_are_partitioned_by_bytes)
{
    const int divides = _i % 2;
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    nets[_i / 2](net);
    const int wholes = tutti_service_keys(net, 1, NULL);
    int64_t all = 0;
    for (int servers = 1; servers <= wholes; servers++) {
        const int keys = tutti_service_keys(net, divides ? servers : 1, NULL);
        tutti_key *key = calloc((size_t)keys, sizeof *key);
        ck_assert_int_eq(tutti_service_keys(net, divides ? servers : 1, key), keys);
        ck_assert_ok(tutti_service_partition(servers, keys, key));
        check_ranges(keys, key, servers);
        check_loads(keys, key, servers);
        if (servers == 1) all = bytes_of(keys, key);
        ck_assert_int_eq(bytes_of(keys, key), all);
        if (!divides || servers == 1) ck_assert_int_eq(keys, wholes);
        free(key);
    }
    tutti_net_free(net);
}
END_TEST

/* The wide parameter has a portion on every server, which then are as long; with a rule that needs whole ones, not. */
START_TEST(large_parameters_are_divided)
{
    tutti_step_options o = {.strategy = &tutti_strategy_served};
    tutti_key key[16];
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    build_wide(net);
    ck_assert_int_eq(tutti_step_keys(net, &o, SERVERS, NULL), 3 + SERVERS);
    tutti_step_keys(net, &o, SERVERS, key);
    for (int s = 0; s < SERVERS; s++) {
        ck_assert_int_eq(key[s].portions, SERVERS);
        ck_assert_int_eq(key[s].portion, s);
    }
    ck_assert_int_eq(key[SERVERS].portions, 1);
    o.rule = &tutti_update_lars;
    ck_assert_int_eq(tutti_step_keys(net, &o, SERVERS, NULL), 4);
    o.strategy = &tutti_strategy_elastic;
    ck_assert_int_eq(tutti_step_keys(net, &o, SERVERS, NULL), 3 + SERVERS);
    tutti_net_free(net);
}
END_TEST

/* What the clients have sent to a server, and one server that gets their sum itself. */
static void bring_sums(const trial *one, int clients)
{
    int64_t count;
    for (int i = 0; i < one->step->parameters; i++) {
        const char *name = tensor_of(one, i)->name;
        float *d = part_of(one, name, 0, 1);
        trial_tensor(one, name, &count);
        for (int64_t e = 0; e < count; e++) d[e] = in_order(name, clients, e);
    }
}

static void bring_parts(const trial *t, int clients)
{
    int64_t count;
    for (int i = 0; i < t->step->parameters; i++) {
        const char *name = tensor_of(t, i)->name;
        const int64_t first = tensor_of(t, i)->first;
        trial_tensor(t, name, &count);
        for (int c = clients - 1; c >= 0; c--) {
            float *d = part_of(t, name, c, clients);
            for (int64_t e = 0; e < count; e++) d[e] = sent(name, c, first + e);
        }
    }
}

/* What a server has of a tensor has the bits that it has in the whole. Returns its elements. */
static int64_t compare_part(const trial *t, const trial *one, const char *name, int64_t first)
{
    int64_t count, all;
    const float *got = trial_tensor(t, name, &count), *want = trial_tensor(one, name, &all);
    ck_assert_int_le(first + count, all);
    ck_assert_msg(!memcmp(got, want + first, (size_t)count * sizeof *got), "%s", name);
    return count;
}

/* Row: net, servers, clients. What a server leaves is what one server leaves that gets the sum itself. */
START_TEST(servers_add_in_the_order_of_clients)
{
    const int servers = _i % SERVERS + 1, clients = _i / SERVERS % CLIENTS + 1;
    trial_net_fn *net = nets[_i / SERVERS / CLIENTS];
    trial one, t;
    int64_t seen = 0, all = 0;
    open_server(&one, net, &tutti_strategy_served, 0, 0, 1, 1);
    bring_sums(&one, clients);
    run_section(&one, one.step->train);
    for (int i = 0; i < one.step->parameters; i++)
        all += tutti_shape_count(&tensor_of(&one, i)->shape);
    for (int s = 0; s < servers; s++) {
        open_server(&t, net, &tutti_strategy_served, 0, s, servers, clients);
        bring_parts(&t, clients);
        run_section(&t, t.step->train);
        for (int i = 0; i < t.step->parameters; i++) {
            const tutti_tensor *weight = tensor_of(&t, i);
            char kept[128];
            snprintf(kept, sizeof kept, "m.%s", weight->name);
            seen += compare_part(&t, &one, weight->name, weight->first);
            compare_part(&t, &one, kept, weight->first);
        }
        trial_close(&t);
    }
    ck_assert_int_eq(seen, all);
    trial_close(&one);
}
END_TEST

/* What a worker sends of the wide gradient, and what it makes of portions of the weight that have come. */
START_TEST(workers_take_and_put_portions)
{
    static const float weight = 0.25f;
    tutti_step_options o = options_of(&tutti_strategy_served, SERVERS, 2);
    float images[2 * 47];
    int32_t labels[2];
    int64_t count, all, first = 0;
    trial t;
    trial_open(&t, build_wide, &o, 3);
    trial_images(5, 0, 2 * 47, images);
    trial_labels(5, 0, 2, CLASSES, labels);
    for (int s = 0; s < SERVERS; s++) {
        char name[64];
        snprintf(name, sizeof name, "wide.weight#%d", s);
        float *w = trial_tensor(&t, name, &count);
        for (int64_t e = 0; e < count; e++) w[e] = weight * (float)(first + e);
        first += count;
    }
    trial_run(&t, t.step->train, images, labels, 0.05f, 0);
    const float *w = trial_tensor(&t, "wide.weight", &all),
                *d = trial_tensor(&t, "d.wide.weight", &all);
    ck_assert_int_eq(first, all);
    for (int64_t e = 0; e < all; e++)
        ck_assert_msg(w[e] == weight * (float)e, "element %lld", (long long)e);
    first = 0;
    for (int s = 0; s < SERVERS; s++, first += count) {
        char name[64];
        snprintf(name, sizeof name, "d.wide.weight#%d", s);
        const float *portion = trial_tensor(&t, name, &count);
        ck_assert_msg(!memcmp(portion, d + first, (size_t)count * sizeof *d), "%s", name);
    }
    trial_close(&t);
}
END_TEST

/* A worker keeps nothing for the update rule with sync, and all of it where it trains alone. */
START_TEST(states_are_where_updates_are)
{
    const tutti_strategy *strategy[] = {&tutti_strategy_served, &tutti_strategy_elastic};
    for (int k = 0; k < 2; k++) {
        tutti_step_options o = options_of(strategy[k], 2, 2);
        trial worker, server;
        int moments = 0;
        for (int i = 0; i < 3; i++) o.settings.value[i] = 0.5 + (i != 1) * 0.5;
        trial_open(&worker, build, &o, 3);
        for (int i = 0; i < worker.step->states; i++)
            moments += !strncmp(
                tutti_graph_get_tensor(worker.step->graph, worker.step->state[i])->name, "m.", 2);
        ck_assert_int_eq(moments, k ? worker.step->parameters : 0);
        open_server(&server, build, strategy[k], 0.5, 0, 2, 2);
        ck_assert_int_eq(server.step->states, k ? 0 : server.step->parameters);
        trial_close(&server);
        trial_close(&worker);
    }
}
END_TEST

static float whole(const char *name, int client, int64_t e)
{
    return (float)((int64_t)tutti_rng_below(
                       (uint64_t)client, tutti_rng_stream(name), (uint64_t)e, 2001) -
                   1000) *
           64;
}

/* Integers: the sum of the centre and of all clients is the same before and after a mixing step, and each has moved as
 * equations 3 and 4 of Zhang et al. say. */
START_TEST(mixings_conserve)
{
    static const double alpha = 0.125;
    trial server, worker[CLIENTS];
    int64_t count;
    open_server(&server, build, &tutti_strategy_elastic, alpha, 0, 1, CLIENTS);
    for (int c = 0; c < CLIENTS; c++) {
        tutti_step_options o = options_of(&tutti_strategy_elastic, 1, CLIENTS);
        o.placement.rank = c;
        for (int i = 0; i < 3; i++) o.settings.value[i] = i == 1 ? alpha : 1;
        trial_open(&worker[c], build, &o, (uint64_t)c + 1);
    }
    for (int i = 0; i < server.step->parameters; i++) {
        const char *name = tensor_of(&server, i)->name;
        float *centre = trial_tensor(&server, name, &count);
        ck_assert_int_le(count, MOST);
        for (int64_t e = 0; e < count; e++) centre[e] = whole(name, CLIENTS, e);
        for (int c = 0; c < CLIENTS; c++) {
            char text[128];
            float *x = trial_tensor(&worker[c], name, &count),
                  *part = part_of(&server, name, c, CLIENTS);
            snprintf(text, sizeof text, "centre.%s", name);
            float *seen = trial_tensor(&worker[c], text, &count);
            for (int64_t e = 0; e < count; e++) x[e] = part[e] = whole(name, c, e);
            memcpy(seen, centre, (size_t)count * sizeof *seen);
        }
    }
    ck_assert_int_eq(tutti_step_mixing(server.step, 0), server.step->mixing[0]);
    run_section(&server, server.step->mixing[0]);
    for (int c = 0; c < CLIENTS; c++) run_section(&worker[c], worker[c].step->mixing[0]);
    for (int i = 0; i < server.step->parameters; i++) {
        const char *name = tensor_of(&server, i)->name;
        const float *centre = trial_tensor(&server, name, &count);
        for (int64_t e = 0; e < count; e++) {
            const double before = (double)whole(name, CLIENTS, e);
            double had = before, have = (double)centre[e];
            for (int c = 0; c < CLIENTS; c++) {
                const float *x = trial_tensor(&worker[c], name, &count);
                const double x0 = (double)whole(name, c, e);
                ck_assert_msg((double)x[e] == x0 + alpha * (before - x0), "%s", name);
                had += x0;
                have += (double)x[e];
            }
            ck_assert_msg(had == have, "%s: %.17g, then %.17g", name, had, have);
        }
    }
    for (int c = 0; c < CLIENTS; c++) trial_close(&worker[c]);
    trial_close(&server);
}
END_TEST

/* The check allows for the rounding of alpha, so the kernel of a server has to. */
START_TEST(clients_share_what_rounds_to_all)
{
    trial server;
    open_server(&server, build, &tutti_strategy_elastic, (1 + 9e-10) / 3, 0, 1, 3);
    run_section(&server, server.step->mixing[0]);
    trial_close(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("served");
    TCase *tcase = testing_case(suite, "served");
    tcase_add_loop_test(tcase, keys_are_partitioned_by_bytes, 0, 2 * NETS);
    tcase_add_test(tcase, large_parameters_are_divided);
    tcase_add_loop_test(tcase, servers_add_in_the_order_of_clients, 0, NETS * SERVERS * CLIENTS);
    tcase_add_test(tcase, workers_take_and_put_portions);
    tcase_add_test(tcase, states_are_where_updates_are);
    tcase_add_test(tcase, mixings_conserve);
    tcase_add_test(tcase, clients_share_what_rounds_to_all);
    return testing_run(suite);
}
