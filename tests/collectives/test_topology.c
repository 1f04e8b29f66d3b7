/* collectives/links: topologies as text, and those that have a name. */
#include "collectives/links/flows.h"
#include "collectives/links/run.h"
#include "collectives/links/topology_text.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *print(const tutti_topology *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_ok(tutti_topology_print(t, out));
    fclose(out);
    return text;
}

static const char hand_written[] = "# a cluster of two hosts with two GPUs each\n"
                                   "topology 1\n"
                                   "kind node cores 16 flops 1.1e12 memory 80GB/s reduce 9GB/s "
                                   "copy 11GB/s send 3us recv 2.5us eager 64KiB\n"
                                   "kind gpu  reduce 200GB/s\n"
                                   "\n"
                                   "host h[0-1] kind node\n"
                                   "device h[0-1].g[0-1] kind gpu socket 1 # two words\n"
                                   "switch s0 rate 40GB/s\n"
                                   "link h[0-1] s0 rate 25Gbit/s latency 1.5us\n"
                                   "link h[0-1].g0 .g1 rate 25GB/s latency 1us count 2\n"
                                   "bus h[0-1].pcie rate 12GB/s latency 500ns : h[0-1] .g[0-1]\n"
                                   "link h0.pcie s0 rate 100000.001kB/s latency 3ps\n"
                                   "ranks h[0-1].g[0-1] h1\n";

START_TEST(a_text_is_what_it_says)
{
    static const char canonical[] = "topology 1\n"
                                    "kind node cores 16 flops 1.1e+12 memory 80GB/s reduce 9GB/s "
                                    "copy 11GB/s send 3us recv 2.5us "
                                    "eager 64KiB\n"
                                    "kind gpu reduce 200GB/s\n"
                                    "host h0 kind node\n"
                                    "device h0.g0 kind gpu socket 1\n"
                                    "switch s0 rate 40GB/s\n"
                                    "link h0.g0 s0 rate 3.125GB/s latency 1500ns\n"
                                    "bus h0.pcie rate 12GB/s latency 500ns : h0 h0.g0\n"
                                    "link h0.pcie s0 rate 100000001B/s latency 3ps\n"
                                    "link h0 s0 rate 25GB/s latency 1us count 2\n"
                                    "ranks h0.g0 h0\n";
    static const char text[] = "topology 1\n"
                               "kind node cores 16 flops 1.1e12 memory 80GB/s reduce 9GB/s copy "
                               "11GB/s send 3us recv 2.5us "
                               "eager 64KiB # a comment\n"
                               "kind gpu\treduce 200GB/s\r\n"
                               "\n"
                               "host h[0-0] kind node\n"
                               "device h0.g0 socket 1 kind gpu\n"
                               "switch s0 rate 40GB/s\n"
                               "link h0.g0 s0 latency 1.5us rate 25Gbit/s\n"
                               "bus h0.pcie rate 12GB/s latency 500ns : h0 .g0\n"
                               "link h0.pcie s0 rate 100000.001kB/s latency 3ps\n"
                               "link h0 s0 rate 25GB/s latency 1us count 2\n"
                               "ranks h0.g0 h0\n";
    tutti_topology *t, *again;
    uint64_t one, other;
    ck_assert_ok(tutti_topology_read(text, "text", &t));
    char *printed = print(t);
    ck_assert_str_eq(printed, canonical);
    ck_assert_ok(tutti_topology_read(printed, "printed", &again));
    ck_assert_ok(tutti_topology_hash(t, &one));
    ck_assert_ok(tutti_topology_hash(again, &other));
    ck_assert(one == other && one);
    const tutti_point_kind *k = tutti_topology_kind_of(t, 1);
    ck_assert_int_eq(k->cores, 16);
    ck_assert_double_eq_tol(k->recv_s, 2.5e-6, 1e-18);
    ck_assert_double_eq(k->eager, 65536);
    ck_assert_double_eq(tutti_topology_kind_of(t, 0)->reduce, 200e9);
    ck_assert_int_eq(t->ranks, 2);
    ck_assert_int_eq(t->point[1].host, 0);
    ck_assert_int_eq(t->point[1].socket, 1);
    ck_assert_int_eq(t->link[0].latency_ps, 1500000);
    ck_assert_int_eq(t->link[2].capacity, t->link[3].capacity);
    ck_assert_int_ne(t->link[0].capacity, t->link[1].capacity);
    free(printed);
    tutti_topology_free(t);
    tutti_topology_free(again);
}
END_TEST

/* A bus may have switches and other buses as members. */
START_TEST(members_of_buses_stay_what_they_are)
{
    static const char text[] = "topology 1\n"
                               "host h0\n"
                               "host h1\n"
                               "switch s0 rate 1GB/s\n"
                               "bus a rate 12GB/s : h0 s0\n"
                               "bus b rate 8GB/s latency 1us : a s0\n"
                               "link h1 s0 rate 125MB/s\n"
                               "ranks h0 h1\n";
    tutti_topology *t;
    ck_assert_ok(tutti_topology_read(text, "text", &t));
    char *printed = print(t);
    ck_assert_str_eq(printed, text);
    free(printed);
    tutti_topology_free(t);
}
END_TEST

/* Ranges go through names in order; two that are linked have as many, or one; buses share out their members. */
START_TEST(ranges_are_expanded)
{
    tutti_topology *t;
    ck_assert_ok(tutti_topology_read("topology 1\n"
                                     "host a[0-1]\nhost b[8-11]\n"
                                     "device b[8-9].x[0-1].y\n"
                                     "link a0 b[8-11] rate 1GB/s\n"
                                     "link b[8-9] .x0.y rate 1GB/s\n"
                                     "bus q[0-1] rate 1GB/s : a[0-1] b[8-9]\n"
                                     "ranks 2 per host\n",
        "text", &t));
    ck_assert_int_eq(t->points, 2 + 4 + 4 + 2);
    ck_assert_str_eq(t->point[6].name, "b8.x0.y");
    ck_assert_str_eq(t->point[9].name, "b9.x1.y");
    ck_assert_int_eq(t->point[9].host, 3);
    ck_assert_int_eq(t->links, 2 * (4 + 2 + 4));
    ck_assert_int_eq(t->link[8].to, 6);
    ck_assert_int_eq(t->link[10].to, 8);
    ck_assert_int_eq(t->link[12].from, 10);
    ck_assert_int_eq(t->link[14].from, 11);
    ck_assert_int_eq(t->link[18].from, 11);
    ck_assert_int_eq(t->link[18].to, 3);
    ck_assert_int_eq(t->ranks, 12);
    ck_assert_int_eq(t->rank_point[3], 1);
    tutti_topology_free(t);
    /* Hosts and GPUs, on two buses. */
    ck_assert_ok(tutti_topology_read(hand_written, "text", &t));
    ck_assert_int_eq(t->ranks, 5);
    tutti_topology_free(t);
}
END_TEST

static const struct {
    const char *text, *says;
} wrong[] = {
    {"", "t: the first line must be 'topology 1'"},
    {"host h0\n", "t: line 1: the first line must be 'topology 1'"},
    {"topology 2\n", "t: line 1: the first line must be 'topology 1'"},
    {"topology 1\nhots h0\n", "t: line 2: 'hots': a line begins with kind, host"},
    {"topology 1\nhost h0\n", "no rank has a place: 'ranks NAME...' is missing"},
    {"topology 1\nhost h0 h1\n", "t: line 2: 'h1' is unexpected here"},
    {"topology 1\nhost h0\n\nhost h[0-1]\n", "t: line 4: 'h0' is declared twice"},
    {"topology 1\nhost h0.x\n", "a host has no '.' in its name"},
    {"topology 1\nhost h/0\n", "'h/0' is not a name"},
    {"topology 1\nhost h[0-]\n", "a range is written [0-7]"},
    {"topology 1\nhost h[3-1]\n", "a range is written [0-7]"},
    {"topology 1\nhost h[0-9999999]\n", "a range is written [0-7]"},
    {"topology 1\nswitch s[0-1023]x[0-1023]x[0-9]\n", "t: line 2: more than 1048576 points"},
    {"topology 1\nhost abcdefghijklmnopqrstuvwxyzabcdefgh\n", "a name has 31 characters at most"},
    {"topology 1\nhost h0 kind node\n", "kind 'node' has not been declared before"},
    {"topology 1\nhost h0 kind\n", "kind '' has not been declared before"},
    {"topology 1\nkind node\nhost h0 kind node kind nosuch\nranks h0\n",
        "kind 'nosuch' has not been declared before"},
    {"topology 1\nhost h0 rate 1GB/s\n", "'rate' is unexpected here"},
    {"topology 1\nkind a\nkind a\n", "t: line 3: kind 'a' is declared twice"},
    {"topology 1\nkind a reduce 9\n",
        "reduce '9': must be more than 0, a number and its unit, as in 'reduce 9GB/s'"},
    {"topology 1\nkind a reduce 0GB/s\n", "reduce '0GB/s': must be more than 0"},
    {"topology 1\nkind a reduce -1GB/s\n", "reduce '-1GB/s': must be more than 0"},
    {"topology 1\nkind a reduce nanGB/s\n", "must be more than 0"},
    {"topology 1\nkind a cores 1.5\n",
        "cores '1.5': must be more than 0, a whole number, as in 'cores 16'"},
    {"topology 1\nkind a send 2s\n", "send '2s': too large"},
    {"topology 1\nkind a send\n", "no value after 'send'"},
    {"topology 1\ndevice h0.g0\n", "'h0.g0' has no host"},
    {"topology 1\nswitch s\ndevice s.g0\n", "'s.g0' has no host"},
    {"topology 1\nhost h[0-1]\nlink h0 h1\n", "t: line 3: a link needs a rate"},
    {"topology 1\nhost h[0-1]\nlink h0 h2 rate 1GB/s\n", "'h2' has not been declared before"},
    {"topology 1\nhost h[0-1]\nlink h0 h0 rate 1GB/s\n", "'h0' is linked to itself"},
    {"topology 1\nhost h[0-1]\nlink h0\n", "a name is missing"},
    {"topology 1\nhost h[0-4]\nlink h[0-1] h[2-4] rate 1GB/s\n",
        "2 points here and 3 there: must be as many, or one"},
    {"topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s latency 5\n", "latency '5'"},
    {"topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s count 0.5\n", "count '0.5'"},
    {"topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s count 0\nranks h[0-1]\n",
        "count '0': must be more than 0, a whole number, as in 'count 2'"},
    {"topology 1\nkind a cores 0\nhost h0 kind a\nranks h0\n", "cores '0': must be more than 0"},
    {"topology 1\nhost h[0-1]\nbus b rate 1GB/s\n", "the members of a bus come after ' : '"},
    {"topology 1\nhost h[0-1]\nbus b : h0 h1\n", "a bus needs a rate"},
    {"topology 1\nhost h[0-2]\nbus b[0-1] rate 1GB/s : h[0-2]\n", "3 members of 2 buses"},
    {"topology 1\nhost h[0-2]\nbus b rate 1GB/s :\n", "the members of a bus come after ' : '"},
    {"topology 1\nhost h0\nranks\n", "a name is missing"},
    {"topology 1\nhost h0\nranks 0 per host\n", "'0' ranks per host: must be 1 or more"},
    {"topology 1\nswitch s\nranks s\n", "'s' is a switch, where no rank can be"},
    {"topology 1\nhost h[0-1]\nranks h0 h1\n", "rank 0 (h0) cannot reach rank 1 (h1)"},
    {"topology 1\nhost h0\ndevice h0.g[0-2]\nlink h0.g0 .g[1-2] rate 10GB/s\nranks h0.g[0-2]\n",
        "rank 1 (h0.g1) cannot reach rank 2 (h0.g2)"},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

START_TEST(mistakes_are_named)
{
    tutti_topology *t;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(tutti_topology_read(wrong[_i].text, "t", &t), TUTTI_ERR_FORMAT);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_msg(strstr(tutti_last_error(), wrong[_i].says) != NULL, "'%s': %s", wrong[_i].says,
        tutti_last_error());
}
END_TEST

static const struct {
    const char *spec;
    int ranks, links; /* cables */
} families[] = {{"star:1", 1, 1}, {"star:5,25Gbit/s", 5, 5}, {"two-level:3x4", 12, 3},
    {"fat-tree:4", 16, 48}, {"dragonfly:5x4", 20, 20 + 30 + 10}, {"dragonfly:1x1", 1, 1},
    {"mesh:3x4,1GB/s", 12, 9 + 8}, {"mesh:1x1", 1, 0}, {"mesh:5x1", 5, 4}, {"dgx-1p", 8, 14 + 16},
    {"dgx-1v", 8, 14 + 16}, {"dgx-2", 16, 16}};
enum { FAMILIES = sizeof families / sizeof *families };

START_TEST(families_are_made)
{
    tutti_topology *t, *again;
    ck_assert_ok(tutti_topology_open(families[_i].spec, &t));
    ck_assert_int_eq(t->ranks, families[_i].ranks);
    ck_assert_int_eq(t->links, 2 * families[_i].links);
    char *one = print(t);
    ck_assert_ok(tutti_topology_read(one, "printed", &again));
    char *other = print(again);
    ck_assert_str_eq(one, other);
    free(one);
    free(other);
    tutti_topology_free(t);
    tutti_topology_free(again);
}
END_TEST

/* A GPU of a DGX-1 has four or six NVLinks; of the sets of 3 to 8 GPUs, 181 are connected by them (Wang et al.,
 * "Blink", MLSys 2020, says the same of the V100's). */
START_TEST(a_dgx_has_its_links)
{
    static const char *const specs[] = {"dgx-1p", "dgx-1v"};
    for (int s = 0; s < 2; s++) {
        tutti_topology *t;
        unsigned near[8] = {0};
        int cables[8] = {0}, connected = 0;
        ck_assert_ok(tutti_topology_open(specs[s], &t));
        for (int i = 0; i < t->links; i++) {
            const tutti_link *l = &t->link[i];
            if (t->point[l->from].is != TUTTI_POINT_DEVICE ||
                t->point[l->to].is != TUTTI_POINT_DEVICE)
                continue;
            near[l->from - 1] |= 1u << (l->to - 1);
            cables[l->from - 1] += l->count;
        }
        for (int g = 0; g < 8; g++) ck_assert_int_eq(cables[g], s ? 6 : 4);
        for (unsigned set = 1; set < 256; set++) {
            unsigned reached = set & -set, before = 0;
            while (reached != before) {
                before = reached;
                for (int g = 0; g < 8; g++)
                    if (before >> g & 1) reached |= near[g] & set;
            }
            connected += reached == set && __builtin_popcount(set) >= 3;
        }
        ck_assert_int_eq(connected, 181);
        tutti_topology_free(t);
    }
}
END_TEST

/* Hosts of other pods are reached over all core switches. */
START_TEST(a_fat_tree_has_full_bisection)
{
    tutti_topology *t;
    tutti_flows *f;
    double at_s;
    int flow;
    ck_assert_ok(tutti_topology_open("fat-tree:4,1GB/s", &t));
    ck_assert_ok(tutti_flows_open(t, &f));
    for (int r = 0; r < 16; r++) ck_assert_ok(tutti_flows_start(f, 0, r, (r + 8) % 16, 1e9, &flow));
    ck_assert_ok(tutti_flows_next(f, &at_s));
    ck_assert_ok(tutti_flows_end(f, at_s, &flow));
    ck_assert_ok(tutti_flows_next(f, &at_s));
    for (int i = 0; i < 16; i++) ck_assert_double_eq_tol(tutti_flows_rate(f, i), 1e9, 1);
    tutti_flows_close(f);
    tutti_topology_free(t);
}
END_TEST

START_TEST(names_that_are_wrong_are_refused)
{
    static const char *const specs[] = {"star", "star:0", "star:x", "star:4,", "star:4,5",
        "star:70000", "two-level:4", "fat-tree:5", "mesh:4", "mesh:4x4x4", "dgx-1v:8",
        "no/such/file", "dragonfly:99x99"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tutti_topology *t;
        tutti_log_set_level(TUTTI_LOG_NONE);
        tutti_status status = tutti_topology_open(specs[i], &t);
        tutti_log_set_level(TUTTI_LOG_INFO);
        ck_assert_msg(status == TUTTI_ERR_USAGE || status == TUTTI_ERR_FORMAT, "%s: %d", specs[i],
            (int)status);
    }
}
END_TEST

static double ring_rate(const char *spec, double link_mbit, int ranks)
{
    tutti_topology *t;
    double rate;
    ck_assert_ok(tutti_topology_of_run(spec, link_mbit, ranks, &t));
    ck_assert_ok(tutti_topology_ring_rate(t, ranks, &rate));
    tutti_topology_free(t);
    return rate;
}

/* The same of the first of a topology's ranks. */
static double ring_rate_of_first(const char *spec, int ranks)
{
    tutti_topology *t;
    double rate;
    ck_assert_ok(tutti_topology_open(spec, &t));
    ck_assert_ok(tutti_topology_ring_rate(t, ranks, &rate));
    tutti_topology_free(t);
    return rate;
}

START_TEST(the_busiest_link_says_what_each_rank_has)
{
    /* Each rank of a star has its own link; ranks of a host send through its memory, and one of them out. */
    ck_assert_double_eq_tol(ring_rate("star:4,1Gbit/s", 0, 4), 125e6, 1);
    ck_assert_double_eq_tol(ring_rate("two-level:2x4,1Gbit/s", 0, 8), 125e6, 1);
    /* Ranks that do not take part use no link: four of one host share its memory alone. */
    ck_assert_double_eq_tol(ring_rate_of_first("two-level:2x4,1Gbit/s", 4), 2.5e9, 1);
    ck_assert_double_eq_tol(ring_rate_of_first("two-level:2x4,1Gbit/s", 5), 125e6, 1);
    ck_assert_double_eq(ring_rate_of_first("two-level:2x4,1Gbit/s", 1), 0);
    /* Three messages share one bus. */
    FILE *file = fopen("bus.txt", "w");
    fputs("topology 1\nhost h[0-2]\nbus b rate 300B/s : h[0-2]\nranks h[0-2]\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_double_eq_tol(ring_rate("bus.txt", 0, 3), 100, 1e-6);
    remove("bus.txt");
    ck_assert_double_eq_tol(ring_rate(NULL, 1000, 3), tutti_link_goodput(1000), 1);
    ck_assert_double_eq(ring_rate(NULL, 1000, 1), 0);
    ck_assert_double_eq(ring_rate(NULL, 0, 3), 0);
}
END_TEST

START_TEST(a_run_takes_a_topology_of_its_ranks)
{
    tutti_topology *t;
    ck_assert_int_eq(tutti_topology_of_run("star:4", 0, 3, &t), TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "has 4 ranks, but the run has 3"));
    ck_assert_ptr_null(t);
    ck_assert_int_eq(tutti_topology_of_run("star:4", 100, 4, &t), TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "give one of them"));
    ck_assert_int_eq(tutti_topology_of_run("nowhere", 0, 4, &t), TUTTI_ERR_USAGE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *tcase = testing_case(suite, "topology");
    tcase_add_test(tcase, a_text_is_what_it_says);
    tcase_add_test(tcase, members_of_buses_stay_what_they_are);
    tcase_add_test(tcase, ranges_are_expanded);
    tcase_add_loop_test(tcase, mistakes_are_named, 0, WRONG);
    tcase_add_loop_test(tcase, families_are_made, 0, FAMILIES);
    tcase_add_test(tcase, a_dgx_has_its_links);
    tcase_add_test(tcase, a_fat_tree_has_full_bisection);
    tcase_add_test(tcase, names_that_are_wrong_are_refused);
    tcase_add_test(tcase, the_busiest_link_says_what_each_rank_has);
    tcase_add_test(tcase, a_run_takes_a_topology_of_its_ranks);
    return testing_run(suite);
}
