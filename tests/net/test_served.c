/* Steps with parameter servers, part by part, without an exchange: the test brings the messages. Keys are dealt by
 * bytes; servers add in the order of clients, and update as one rank does; elastic meetings lose nothing. */
#include "dag/base/rng.h"
#include "dag/net/layer.h"
#include "dag/net/service.h"
#include "dag/net/strategy.h"
#include "tests/net/drawn.h"
#include "tests/net/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, NET = 5, CLIENTS = 4, SERVERS = 3, MOST = 4096 };

static void build(tutti_net *net)
{
    drawn_net(net, NET, SIDE);
}

static tutti_step_options options_of(const tutti_strategy *strategy, int servers, int clients)
{
    return (tutti_step_options){.batch = 2,
        .micro_batches = 1,
        .replicas = clients,
        .strategy = strategy,
        .momentum = 0.9f,
        .weight_decay = 1e-3f,
        .service = {.servers = servers, .first = clients, .clients = clients, .workers = 1},
        .seed = 7};
}

static void open_server(
    trial *t, const tutti_strategy *strategy, double alpha, int server, int servers, int clients)
{
    tutti_step_options o = options_of(strategy, servers, clients);
    o.service.serves = 1;
    o.service.server = server;
    o.settings.value[0] = 1;
    o.settings.value[1] = alpha;
    o.settings.value[2] = 1;
    trial_open(t, build, &o, 3);
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

/* "d.<name>", or of several clients "d.<name>@<client>" */
static float *part_of(const trial *t, const char *name, int client, int clients)
{
    char text[128];
    int64_t count;
    if (clients > 1)
        snprintf(text, sizeof text, "d.%s@%d", name, client);
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

/* Two servers have no key in common, all of them together have all, and loads differ by less than the largest key. */
START_TEST(keys_are_dealt_by_bytes)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    build(net);
    const int keys = tutti_service_keys(net, NULL);
    tutti_key *key = calloc((size_t)keys, sizeof *key);
    ck_assert_int_eq(tutti_service_keys(net, key), keys);
    for (int servers = 1; servers <= keys; servers++) {
        int64_t least = INT64_MAX, most = 0, largest = 0;
        tutti_service_deal(servers, keys, key);
        for (int s = 0; s < servers; s++) {
            int64_t bytes = 0;
            for (int k = 0; k < keys; k++) bytes += key[k].server == s ? key[k].bytes : 0;
            if (bytes < least) least = bytes;
            if (bytes > most) most = bytes;
        }
        for (int k = 0; k < keys; k++) {
            ck_assert(key[k].server >= 0 && key[k].server < servers);
            if (key[k].bytes > largest) largest = key[k].bytes;
        }
        ck_assert_int_gt(least, 0);
        ck_assert_int_le(most - least, largest);
    }
    free(key);
    tutti_net_free(net);
}
END_TEST

/* Row: servers, clients. What a server leaves is what one server leaves that gets the sum itself. */
START_TEST(servers_add_in_the_order_of_clients)
{
    const int servers = _i % SERVERS + 1, clients = _i / SERVERS + 1;
    trial one, t;
    int64_t count;
    int seen = 0;
    open_server(&one, &tutti_strategy_served, 0, 0, 1, 1);
    for (int i = 0; i < one.step->parameters; i++) {
        const char *name = tensor_of(&one, i)->name;
        float *d = part_of(&one, name, 0, 1);
        trial_tensor(&one, name, &count);
        for (int64_t e = 0; e < count; e++) d[e] = in_order(name, clients, e);
    }
    run_section(&one, one.step->train);
    for (int s = 0; s < servers; s++) {
        open_server(&t, &tutti_strategy_served, 0, s, servers, clients);
        for (int i = 0; i < t.step->parameters; i++) {
            const char *name = tensor_of(&t, i)->name;
            trial_tensor(&t, name, &count);
            for (int c = clients - 1; c >= 0; c--) {
                float *d = part_of(&t, name, c, clients);
                for (int64_t e = 0; e < count; e++) d[e] = sent(name, c, e);
            }
        }
        run_section(&t, t.step->train);
        for (int i = 0; i < t.step->parameters; i++, seen++) {
            const char *name = tensor_of(&t, i)->name;
            char kept[128];
            const float *got = trial_tensor(&t, name, &count),
                        *want = trial_tensor(&one, name, &count);
            ck_assert_msg(!memcmp(got, want, (size_t)count * sizeof *got), "%s", name);
            snprintf(kept, sizeof kept, "m.%s", name);
            got = trial_tensor(&t, kept, &count);
            want = trial_tensor(&one, kept, &count);
            ck_assert_msg(!memcmp(got, want, (size_t)count * sizeof *got), "%s", kept);
        }
        trial_close(&t);
    }
    ck_assert_int_eq(seen, one.step->parameters);
    trial_close(&one);
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
        open_server(&server, strategy[k], 0.5, 0, 2, 2);
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

/* Integers: the sum of the centre and of all clients is the same before and after a meeting, and each has moved as
 * equations 3 and 4 of Zhang et al. say. */
START_TEST(meetings_conserve)
{
    static const double alpha = 0.125;
    trial server, worker[CLIENTS];
    int64_t count;
    open_server(&server, &tutti_strategy_elastic, alpha, 0, 1, CLIENTS);
    for (int c = 0; c < CLIENTS; c++) {
        tutti_step_options o = options_of(&tutti_strategy_elastic, 1, CLIENTS);
        o.service.client = o.replica = c;
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
    ck_assert_int_eq(tutti_step_meeting(server.step, 0), server.step->meeting[0]);
    run_section(&server, server.step->meeting[0]);
    for (int c = 0; c < CLIENTS; c++) run_section(&worker[c], worker[c].step->meeting[0]);
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

int main(void)
{
    Suite *suite = suite_create("served");
    TCase *tcase = testing_case(suite, "served");
    tcase_add_test(tcase, keys_are_dealt_by_bytes);
    tcase_add_loop_test(tcase, servers_add_in_the_order_of_clients, 0, SERVERS * CLIENTS);
    tcase_add_test(tcase, states_are_where_updates_are);
    tcase_add_test(tcase, meetings_conserve);
    return testing_run(suite);
}
