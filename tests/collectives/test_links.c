/* collectives/links: routes, and how flows share links. */
#include "collectives/links/flows.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int add_point(tutti_topology *t, tutti_point_is is, int kind, int host, double rate)
{
    tutti_point p = {.is = is, .kind = kind, .host = host, .capacity = -1};
    int number;
    if (rate > 0) ck_assert_ok(tutti_topology_add_capacity(t, rate, &p.capacity));
    snprintf(p.name, sizeof p.name, "p%d", t->points);
    ck_assert_ok(tutti_topology_add_point(t, &p, &number));
    return number;
}

static int add_host(tutti_topology *t)
{
    int host = add_point(t, TUTTI_POINT_HOST, -1, -1, 0);
    ck_assert_ok(tutti_topology_add_rank(t, host));
    return host;
}

static tutti_topology *new_topology(void)
{
    tutti_topology *t;
    ck_assert_ok(tutti_topology_new(&t));
    return t;
}

static tutti_flows *open_flows(tutti_topology *t)
{
    tutti_flows *f;
    ck_assert_ok(tutti_topology_finish(t, NULL));
    ck_assert_ok(tutti_flows_open(t, &f));
    return f;
}

static void discard(tutti_topology *t, tutti_flows *f)
{
    tutti_flows_close(f);
    tutti_topology_free(t);
}

static int start(tutti_flows *f, double now_s, int from, int to, double bytes)
{
    int flow;
    ck_assert_ok(tutti_flows_start(f, now_s, from, to, bytes, &flow));
    return flow;
}

static double next(tutti_flows *f)
{
    double at_s;
    ck_assert_ok(tutti_flows_next(f, &at_s));
    return at_s;
}

static int end(tutti_flows *f, double now_s)
{
    int flow;
    ck_assert_ok(tutti_flows_end(f, now_s, &flow));
    return flow;
}

/* Runs until a flow ends, and returns when. */
static double wait_for(tutti_flows *f, int flow)
{
    for (double now_s; (now_s = next(f)) < HUGE_VAL;) {
        int ended = end(f, now_s);
        if (ended >= 0) ck_assert_int_eq(ended, flow);
        if (ended >= 0) return now_s;
    }
    ck_abort_msg("flow %d never ends", flow);
}

static void check_time(tutti_flows *f, int flow, double at_s)
{
    ck_assert_double_eq_tol(wait_for(f, flow), at_s, 1e-9);
}

/* 100 bytes a second and a second of latency: both have 50 from 1 s on, until the shorter one ends. */
START_TEST(two_flows_share_a_cable)
{
    const tutti_point_kind kind = {.name = "node"};
    tutti_topology *t;
    tutti_flows *f;
    ck_assert_ok(tutti_topology_star(3, 100, 1000000000000, &kind, &t));
    ck_assert_ok(tutti_flows_open(t, &f));
    int brief = start(f, 0, 0, 1, 100), lasting = start(f, 0, 0, 2, 300);
    ck_assert_double_eq(next(f), 1);
    ck_assert_int_eq(end(f, 1), -1);
    ck_assert_double_eq(next(f), 3);
    ck_assert_double_eq(tutti_flows_rate(f, brief), 50);
    ck_assert_double_eq(tutti_flows_rate(f, lasting), 50);
    check_time(f, brief, 3);
    int other_way = start(f, 3, 1, 0, 50); /* a cable carries both ways at once */
    check_time(f, other_way, 4.5);
    check_time(f, lasting, 5);
    ck_assert_double_eq(next(f), HUGE_VAL);
    ck_assert_double_eq(tutti_flows_carried(f, 0), 400);
    int empty = start(f, 6, 2, 1, 0);
    check_time(f, empty, 7);
    discard(t, f);
}
END_TEST

/* On a line of cables of 10, 30 and 30: the long flow and its neighbour have 5 each, and leave the rest to others. */
START_TEST(what_is_left_is_shared)
{
    tutti_topology *t = new_topology();
    for (int i = 0; i < 4; i++) add_host(t);
    for (int i = 0; i < 3; i++)
        ck_assert_ok(tutti_topology_add_cable(t, i, i + 1, i ? 30 : 10, 0, 1));
    ck_assert_ok(tutti_topology_add_rank(t, 2)); /* rank 4 is on the host of rank 2 */
    tutti_flows *f = open_flows(t);
    static const struct {
        int from, to;
        double rate;
    } wanted[] = {{0, 3, 5}, {0, 1, 5}, {1, 2, 25}, {2, 3, 12.5}, {4, 3, 12.5}, {3, 0, 10}};
    int flow[6];
    for (int i = 0; i < 6; i++) flow[i] = start(f, 0, wanted[i].from, wanted[i].to, 1e6);
    ck_assert_int_eq(end(f, next(f)), -1);
    next(f);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq_tol(tutti_flows_rate(f, flow[i]), wanted[i].rate, 1e-9);
    discard(t, f);
}
END_TEST

/* Both ways share a bus, and who crosses it crosses it once; a switch has a rate for all. */
START_TEST(a_bus_is_shared)
{
    tutti_topology *t = new_topology();
    int bus = add_point(t, TUTTI_POINT_SWITCH, -1, -1, 0), shared;
    int hub = add_point(t, TUTTI_POINT_SWITCH, -1, -1, 30);
    ck_assert_ok(tutti_topology_add_capacity(t, 12, &shared));
    for (int i = 0; i < 2; i++)
        ck_assert_ok(tutti_topology_add_shared(t, add_host(t), bus, shared, 0));
    for (int i = 0; i < 4; i++)
        ck_assert_ok(tutti_topology_add_cable(t, add_host(t), hub, 20, 0, 2));
    ck_assert_ok(tutti_topology_add_cable(t, bus, hub, 1, 0, 1));
    tutti_flows *f = open_flows(t);
    int there = start(f, 0, 0, 1, 60), back = start(f, 0, 1, 0, 60);
    int one = start(f, 0, 2, 3, 300), two = start(f, 0, 4, 5, 300);
    end(f, next(f));
    next(f);
    ck_assert_double_eq_tol(tutti_flows_rate(f, there), 6, 1e-12);
    ck_assert_double_eq_tol(tutti_flows_rate(f, back), 6, 1e-12);
    ck_assert_double_eq_tol(tutti_flows_rate(f, one), 15, 1e-12);
    ck_assert_double_eq_tol(tutti_flows_rate(f, two), 15, 1e-12);
    discard(t, f);
}
END_TEST

/* Ranks of one host exchange through its memory, if that has a rate. */
START_TEST(a_host_has_memory)
{
    for (int limited = 0; limited < 2; limited++) {
        tutti_topology *t = new_topology();
        const tutti_point_kind kind = {.name = "node", .memory = limited ? 40 : 0};
        int number;
        ck_assert_ok(tutti_topology_add_kind(t, &kind, &number));
        int host = add_point(t, TUTTI_POINT_HOST, number, -1, 0);
        for (int i = 0; i < 3; i++) ck_assert_ok(tutti_topology_add_rank(t, host));
        tutti_flows *f = open_flows(t);
        int one = start(f, 0, 0, 1, 100), two = start(f, 0, 1, 2, 60);
        check_time(f, limited ? two : one, limited ? 3 : 0);
        check_time(f, limited ? one : two, limited ? 4 : 0);
        discard(t, f);
    }
}
END_TEST

static int route(const tutti_topology *t, int from, int to, int spread, int link[])
{
    int64_t latency_ps[64];
    int links[64];
    ck_assert_ok(tutti_topology_distances(t, from, latency_ps, links));
    return tutti_topology_walk_back(t, latency_ps, links, to, spread, link);
}

/* Least latency counts first, then the number of links; devices pass nothing on; equal routes are spread. */
START_TEST(routes_are_the_shortest)
{
    tutti_topology *t = new_topology();
    int a = add_host(t), b = add_host(t), link[64];
    int device = add_point(t, TUTTI_POINT_DEVICE, -1, a, 0);
    int s[4];
    for (int i = 0; i < 4; i++) s[i] = add_point(t, TUTTI_POINT_SWITCH, -1, -1, 0);
    ck_assert_ok(tutti_topology_add_cable(t, a, b, 1, 9, 1));
    ck_assert_ok(tutti_topology_add_cable(t, a, device, 1, 0, 1));
    ck_assert_ok(tutti_topology_add_cable(t, device, b, 1, 0, 1));
    for (int i = 0; i < 3; i++) {
        ck_assert_ok(tutti_topology_add_cable(t, a, s[i], 1, i == 2 ? 2 : 4, 1));
        ck_assert_ok(tutti_topology_add_cable(t, s[i], i == 2 ? s[3] : b, 1, 4, 1));
    }
    ck_assert_ok(tutti_topology_add_cable(t, s[3], b, 1, 2, 1));
    ck_assert_ok(tutti_topology_finish(t, NULL));
    for (int spread = 0; spread < 4; spread++) {
        ck_assert_int_eq(route(t, a, b, spread, link), 2);
        ck_assert_int_eq(t->link[link[0]].from, s[spread % 2]);
        ck_assert_int_eq(t->link[link[1]].to, s[spread % 2]);
    }
    ck_assert_int_eq(route(t, device, b, 0, link), 1);
    ck_assert_int_eq(route(t, a, a, 0, link), 0);
    tutti_topology_free(t);

    t = new_topology();
    ck_assert_int_eq(tutti_topology_finish(t, NULL), TUTTI_ERR_FORMAT);
    tutti_topology_free(t);
    t = new_topology();
    add_host(t);
    add_host(t);
    ck_assert_int_eq(tutti_topology_finish(t, NULL), TUTTI_ERR_FORMAT);
    tutti_topology_free(t);
}
END_TEST

/* From one rank to another, the second message has to wait for the first, though others overtake it. */
START_TEST(flows_of_a_pair_follow_each_other)
{
    const tutti_point_kind kind = {.name = "node"};
    tutti_topology *t;
    tutti_flows *f;
    ck_assert_ok(tutti_topology_star(3, 100, 0, &kind, &t));
    ck_assert_ok(tutti_flows_open(t, &f));
    int first = start(f, 0, 0, 1, 100), second = start(f, 0, 0, 1, 100),
        third = start(f, 0, 0, 1, 0);
    int other = start(f, 0, 0, 2, 120);
    check_time(f, first, 2);
    check_time(f, other, 2.4);
    check_time(f, second, 3.2);
    check_time(f, third, 3.2);
    ck_assert_double_eq(next(f), HUGE_VAL);
    discard(t, f);
}
END_TEST

/* ---- random ones ---- */

enum { HOSTS = 8, FLOWS = 40 };

typedef struct drawn {
    uint64_t seed, at;
    tutti_topology *t;
    tutti_flows *f;
    int crosses[FLOWS][64]; /* whether a flow crosses a capacity */
    double left[FLOWS];
    int number[FLOWS]; /* -1: not started, or ended */
} drawn;

static int draw(drawn *d, int below)
{
    return (int)tutti_rng_below(d->seed, 0, d->at++, (uint64_t)below);
}

/* Hosts in a ring, with switches between some of them, and a bus. */
static void draw_topology(drawn *d)
{
    d->t = new_topology();
    for (int i = 0; i < HOSTS; i++) add_host(d->t);
    int hub = add_point(d->t, TUTTI_POINT_SWITCH, -1, -1, draw(d, 2) ? 1 + draw(d, 50) : 0);
    int bus = add_point(d->t, TUTTI_POINT_SWITCH, -1, -1, 0), shared;
    ck_assert_ok(tutti_topology_add_capacity(d->t, 1 + draw(d, 50), &shared));
    for (int i = 0; i < HOSTS; i++) {
        ck_assert_ok(tutti_topology_add_cable(
            d->t, i, (i + 1) % HOSTS, 1 + draw(d, 50), draw(d, 5), 1 + draw(d, 2)));
        if (draw(d, 2))
            ck_assert_ok(tutti_topology_add_cable(d->t, i, hub, 1 + draw(d, 50), draw(d, 5), 1));
        if (draw(d, 2)) ck_assert_ok(tutti_topology_add_shared(d->t, i, bus, shared, draw(d, 5)));
    }
    d->f = open_flows(d->t);
}

static void draw_flow(drawn *d, int i, double now_s)
{
    int from = draw(d, HOSTS), to = draw(d, HOSTS), link[64];
    d->left[i] = 1 + draw(d, 100);
    d->number[i] = start(d->f, now_s, from, to, d->left[i]);
    int n = route(d->t, from, to, to, link);
    for (int k = 0; k < n; k++) {
        const tutti_link *l = &d->t->link[link[k]];
        const tutti_point *p = &d->t->point[l->from];
        d->crosses[i][l->capacity] = 1;
        if (p->is == TUTTI_POINT_SWITCH && p->capacity >= 0) d->crosses[i][p->capacity] = 1;
    }
}

/* No capacity carries more than it can; on one that is full, each flow is among the fastest. */
static void check_rates(const drawn *d)
{
    double sum[64] = {0}, fastest[64] = {0};
    for (int c = 0; c < d->t->capacities; c++) {
        for (int i = 0; i < FLOWS; i++) {
            if (d->number[i] < 0 || !d->crosses[i][c]) continue;
            double rate = tutti_flows_rate(d->f, d->number[i]);
            sum[c] += rate;
            if (rate > fastest[c]) fastest[c] = rate;
        }
        ck_assert_double_le(sum[c], d->t->capacity[c] * (1 + 1e-9));
    }
    for (int i = 0; i < FLOWS; i++) {
        double rate = d->number[i] < 0 ? 0 : tutti_flows_rate(d->f, d->number[i]);
        int held = 0;
        for (int c = 0; rate > 0 && c < d->t->capacities; c++)
            held |= d->crosses[i][c] && sum[c] >= d->t->capacity[c] * (1 - 1e-9) &&
                    rate >= fastest[c] * (1 - 1e-9);
        ck_assert_msg(
            rate <= 0 || held, "seed %lu: nothing holds back flow %d", (unsigned long)d->seed, i);
    }
}

static void end_flows(drawn *d, double now_s)
{
    for (int number; (number = end(d->f, now_s)) >= 0;) {
        int i = 0;
        while (d->number[i] != number) i++;
        ck_assert_double_eq_tol(d->left[i], 0, 1e-5);
        d->number[i] = -1;
    }
}

START_TEST(shares_are_fair)
{
    drawn d = {.seed = testing_seed(45) + (uint64_t)_i};
    for (int i = 0; i < FLOWS; i++) d.number[i] = -1;
    draw_topology(&d);
    ck_assert_int_le(d.t->capacities, 64);
    double now_s = 0;
    for (int started = 0; started < FLOWS || next(d.f) < HUGE_VAL;) {
        double then_s = next(d.f);
        if (started < FLOWS && (then_s == HUGE_VAL || draw(&d, 2))) {
            draw_flow(&d, started++, now_s);
            continue;
        }
        check_rates(&d);
        for (int i = 0; i < FLOWS; i++)
            if (d.number[i] >= 0)
                d.left[i] -= tutti_flows_rate(d.f, d.number[i]) * (then_s - now_s);
        now_s = then_s;
        /* On one host a flow has no rate: it is there at once. */
        for (int i = 0, any; i < FLOWS; i++) {
            any = 0;
            for (int c = 0; c < 64; c++) any |= d.crosses[i][c];
            if (!any) d.left[i] = 0;
        }
        end_flows(&d, now_s);
    }
    for (int i = 0; i < FLOWS; i++) ck_assert_int_eq(d.number[i], -1);
    discard(d.t, d.f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("links");
    TCase *tcase = testing_case(suite, "links");
    tcase_add_test(tcase, two_flows_share_a_cable);
    tcase_add_test(tcase, what_is_left_is_shared);
    tcase_add_test(tcase, a_bus_is_shared);
    tcase_add_test(tcase, a_host_has_memory);
    tcase_add_test(tcase, flows_of_a_pair_follow_each_other);
    tcase_add_test(tcase, routes_are_the_shortest);
    tcase_add_loop_test(tcase, shares_are_fair, 0, 100);
    return testing_run(suite);
}
