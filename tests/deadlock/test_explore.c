/* deadlock: the explorer on all safe designs, and on the naive one, which it must find to fail.
 *
 * TUTTI_EXPLORE_SCHEDULES=n: number of random schedules (make check-long: a million, and larger
 * exhaustive cases). TUTTI_TEST_SEED replays a seed. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/deadlock/explore.h"
#include "tests/support/testing.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCHES = 16 };

static int64_t wanted(void)
{
    const char *text = getenv("TUTTI_EXPLORE_SCHEDULES");
    return text ? strtoll(text, NULL, 0) : 20000;
}

static int deep(void)
{
    return wanted() > 100000;
}

START_TEST(random_schedules_end_right)
{
    unsigned long seed = testing_seed(1);
    double began_s = tutti_clock_s();
    explore_result all = {0};
    int64_t most = getenv("TUTTI_TEST_SEED") ? BATCHES : wanted();
    for (uint64_t s = seed; all.schedules < most && !all.first_bad; s++) {
        program_setting setting;
        ck_assert_ok(explore_draw(s, &setting));
        ck_assert_ok(explore_random(&setting, s, BATCHES, &all));
        program_clear(&setting);
    }
    explore_print("random", &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* Whether a rank has a message that waits for a message on another edge. */
static int has_chain_of_edges(const program_setting *s)
{
    for (int r = 0; r < s->ranks; r++) {
        const program *p = &s->program[r];
        for (int k = 0; k < p->n; k++)
            for (int i = 0; i < p->collective[k].afters && s->group[p->collective[k].group].is_edge;
                 i++) {
                int before = p->collective[p->collective[k].after[i]].group;
                if (s->group[before].is_edge && before != p->collective[k].group) return 1;
            }
    }
    return 0;
}

/* How many ranks spread what a group has summed: with a strategy that updates in parts, or on one rank. */
static int has_strategy(const program_setting *s)
{
    int found = 0;
    for (int r = 0; r < s->ranks; r++) {
        const program_collective *list = s->program[r].collective;
        for (int k = 0; k < s->program[r].n; k++) {
            const program_collective *c = &list[k];
            const tutti_coll_kind sum =
                c->kind == TUTTI_ALLGATHER ? TUTTI_REDUCE_SCATTER : TUTTI_REDUCE;
            int spreads = c->kind == TUTTI_ALLGATHER || c->kind == TUTTI_BROADCAST;
            if (!spreads || !c->afters || list[c->after[0]].kind != sum) continue;
            found += list[c->after[0]].group == c->group;
            break;
        }
    }
    return found;
}

/* What the random schedules above are of: groups of several sizes, edges, messages that wait for others, strategies, in
 * every design; strategies with an agreed order, too. */
START_TEST(settings_have_groups_and_edges)
{
    const tutti_design *design = tutti_designs[_i];
    int settings = 0, groups = 0, edges = 0, chains = 0, strategies = 0, ordered = 0;
    if (design->unsafe) return;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        program_setting s;
        ck_assert_ok(explore_draw(seed, &s));
        int grouped = 0, edged = 0;
        for (int g = 1; g < s.groups; g++) {
            grouped |= !s.group[g].is_edge && s.group[g].size > 1;
            edged |= s.group[g].is_edge;
        }
        if (s.design == design) {
            settings++;
            groups += grouped;
            edges += edged;
            chains += has_chain_of_edges(&s);
            strategies += has_strategy(&s) > 0;
            ordered += s.ordered && has_strategy(&s);
        }
        program_clear(&s);
    }
    printf("%s: of %d settings %d have groups, %d edges, %d edges that wait for edges, %d a "
           "strategy that "
           "spreads what it sums, %d of these an agreed order\n",
        design->name, settings, groups, edges, chains, strategies, ordered);
    ck_assert_int_gt(groups, settings / 8);
    ck_assert_int_gt(edges, settings / 4);
    ck_assert_int_gt(chains, settings / 16);
    ck_assert_int_gt(strategies, settings / 8);
    ck_assert_int_gt(ordered, settings / 32);
}
END_TEST

static void explore(const program_setting *setting, int64_t most, int full, explore_result *result)
{
    enum { SOME = 500 };
    if (testing_fewer() && most > SOME) most = SOME;
    ck_assert_ok(explore_all(setting, most, full, result));
}

/* Of the largest cases with lanes only those with 2 and 4 lanes, and 2 workers: no worker waits in these designs, so
 * their number makes no difference, and funneled covers one lane. */
static void explore_design(const tutti_design *design, int P, int K, int steps, explore_result *all)
{
    int large = K == 4, lanes = design->many_lanes ? K : 1;
    for (int W = 1 + large; W <= 2; W++) {
        for (int L = large && lanes > 1 ? 2 : 1; L <= lanes; L += 1 + large) {
            program_setting setting;
            ck_assert_ok(explore_sums(design, P, K, steps, 0, &setting));
            setting.workers = W;
            setting.lanes = L;
            explore(&setting, INT64_MAX, 0, all);
            program_clear(&setting);
        }
    }
}

START_TEST(every_schedule_of_a_small_case_ends_right)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    int largest = deep() ? 4 : 2;
    if (design->unsafe) return;
    for (int P = 2; P <= 3; P++)
        for (int K = 1; K <= largest; K++) explore_design(design, P, K, 1, &all);
    for (int K = 1; K <= 2; K++) explore_design(design, 2, K, 2, &all);
    explore_print(design->name, &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* A full lane holds back the next collectives on it, and nothing else. */
START_TEST(every_schedule_on_shallow_lanes_ends_right)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    if (design->unsafe) return;
    for (int lanes = 1; lanes <= (design->many_lanes ? 2 : 1); lanes++) {
        for (int K = 2; K <= 2 + lanes; K++) {
            program_setting setting;
            ck_assert_ok(explore_sums(design, 2, K, 1, 0, &setting));
            setting.lanes = lanes;
            setting.depth = 1;
            explore(&setting, INT64_MAX, 0, &all);
            program_clear(&setting);
        }
    }
    explore_print(design->name, &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* All lanes share one device slot, or two. */
START_TEST(every_schedule_with_shared_slots_ends_right)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    if (design->unsafe) return;
    for (int device_slots = 1; device_slots <= 2; device_slots++) {
        program_setting setting;
        ck_assert_ok(explore_sums(design, 2, 3, 1, 0, &setting));
        setting.lanes = design->many_lanes ? 3 : 1;
        setting.device_slots = device_slots;
        explore(&setting, INT64_MAX, 0, &all);
        program_clear(&setting);
    }
    explore_print(design->name, &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* Rank 0 calls a message to rank 1, the sum, and a message from it; rank 1 the other way round. The sum is computed
 * from what each calls first. */
static void cross_messages(program_setting *s)
{
    int message[2];
    for (int from = 0; from < 2; from++) {
        message[from] = s->groups++;
        s->group[message[from]] =
            (program_group){.size = 2, .rank = {from, 1 - from}, .is_edge = 1};
    }
    for (int r = 0; r < 2; r++) {
        program *p = &s->program[r];
        program_collective sum = p->collective[0], *c = malloc(3 * sizeof *c);
        ck_assert_ptr_nonnull(c);
        for (int i = 0; i < 2; i++) {
            int from = i ? 1 - r : r;
            c[2 * i] =
                (program_collective){.kind = TUTTI_MESSAGE, .count = 40, .group = message[from]};
            snprintf(c[2 * i].name, sizeof c->name, "m%d", from);
        }
        c[1] = sum;
        c[1].after[c[1].afters++] = 0;
        free(p->collective);
        p->collective = c;
        p->n = 3;
    }
}

/* Messages that take no device slot: crossed ones, and those of pipelines, beside a sum that takes one. */
START_TEST(messages_aside_have_no_turn)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    if (design->unsafe) return;
    for (uint64_t seed = 0; seed <= 2; seed++) {
        program_setting setting;
        ck_assert_ok(explore_sums(design, 2, 1, 1, 0, &setting));
        setting.device_slots = setting.edges_aside = 1;
        setting.eager_bytes = 0;
        if (seed)
            ck_assert_ok(explore_add_pipeline(seed, &setting));
        else
            cross_messages(&setting);
        explore(&setting, deep() ? 100000 : 300, 0, &all);
        program_clear(&setting);
    }
    explore_print(design->name, &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* Workers enough for all, but a device slot too few for two collectives that start in any order. */
START_TEST(naive_hangs_on_shared_slots)
{
    for (int device_slots = 1; device_slots <= 2; device_slots++) {
        program_setting setting;
        explore_result all = {0};
        double began_s = tutti_clock_s();
        ck_assert_ok(explore_sums(tutti_design_find("naive"), 2, 2, 1, 0, &setting));
        setting.workers = setting.lanes = 2;
        setting.device_slots = device_slots;
        explore(&setting, INT64_MAX, 0, &all);
        program_clear(&setting);
        explore_print("naive, shared device slots", &all, began_s);
        ck_assert_int_eq(all.hangs > 0, device_slots == 1);
        ck_assert_int_eq(all.wrong + all.mismatches + all.errors, 0);
    }
}
END_TEST

/* Two steps; the second starts chunks in an order that has just been agreed. */
START_TEST(every_schedule_with_another_order_ends_right)
{
    const tutti_design *design = tutti_design_find(_i ? "concurrent" : "funneled");
    double began_s = tutti_clock_s();
    explore_result all = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (int K = 1; K <= 2; K++) {
            program_setting setting;
            ck_assert_ok(explore_sums(design, 2, K, 2, 0, &setting));
            setting.lanes = 1 + _i;
            setting.chunk_bytes = K == 1 ? 4 : 8;
            setting.ordered = 1;
            setting.order_seed = seed;
            explore(&setting, INT64_MAX, 0, &all);
            program_clear(&setting);
        }
    }
    explore_print(_i ? "concurrent, agreed order" : "funneled, agreed order", &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

static void give_priorities(program_setting *s, int from)
{
    s->priorities.on = 1;
    s->priorities.window = 1;
    for (int r = 0; r < s->ranks; r++)
        for (int k = from; k < s->program[r].n; k++)
            s->program[r].collective[k].priority = k % 5 + 1;
}

/* Every step is a choice with two sums; with three, and three ranks, the reduced exploration has
 * those in which rank 0 has seen all reports there are. From the first sum on, or after one in
 * program order. */
START_TEST(every_schedule_with_priorities_ends_right)
{
    const tutti_design *design = tutti_design_find(_i ? "concurrent" : "funneled");
    double began_s = tutti_clock_s();
    explore_result all = {0};
    for (int from = 0; from <= 1; from++) {
        for (int K = 2; K <= 3; K++) {
            program_setting setting;
            ck_assert_ok(explore_sums(design, K, K, 1, 0, &setting));
            setting.lanes = 1 + _i;
            give_priorities(&setting, from);
            explore(&setting, deep() ? INT64_MAX : 2000, K == 2, &all);
            program_clear(&setting);
        }
    }
    explore_print(_i ? "concurrent, priorities" : "funneled, priorities", &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* Pipelines of two stages beside a sum over both ranks. The naive design hangs, or starts an edge's messages in
 * any order. */
START_TEST(every_schedule_of_a_pipeline_ends_right)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        program_setting setting;
        ck_assert_ok(explore_sums(design, 2, 1, 1, 0, &setting));
        ck_assert_ok(explore_add_pipeline(seed, &setting));
        explore(&setting, deep() ? 100000 : 500, 0, &all);
        program_clear(&setting);
    }
    explore_print(design->name, &all, began_s);
    if (design->unsafe)
        ck_assert_msg(all.first_bad, "the naive design has run every pipeline");
    else
        ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

/* Strategies of two ranks beside a sum over both, and divided layers. */
START_TEST(every_schedule_of_a_strategy_ends_right)
{
    const tutti_design *design = tutti_designs[_i];
    double began_s = tutti_clock_s();
    explore_result all = {0};
    if (design->unsafe) return;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        program_setting setting;
        ck_assert_ok(explore_sums(design, 2, 1, 1, 0, &setting));
        ck_assert_ok(explore_add_strategy(seed, &setting));
        explore(&setting, deep() ? 100000 : 200, 0, &all);
        program_clear(&setting);
    }
    explore_print(design->name, &all, began_s);
    ck_assert_msg(!all.first_bad, "%s", all.what);
}
END_TEST

static void run_in_turns(world *w, int ranks)
{
    int64_t ids[WORLD_TASKS];
    for (int moved = 1; moved;) {
        moved = 0;
        for (int r = 0; r < ranks; r++) {
            int n = world_ready(w, r, ids);
            for (int i = 0; i < n; i++) world_run(w, r, ids[i]);
            moved |= world_pass(w, r) || n;
        }
    }
}

/* A batch that makes every ring grow while the ring's first number is not 0; with priorities, too. */
START_TEST(rings_grow)
{
    const tutti_design *design = tutti_designs[_i / 2];
    program_setting setting;
    world *w;
    char what[256];
    if (design->unsafe) return;
    ck_assert_ok(explore_sums(design, 2, 100, 6, 0, &setting));
    setting.lanes = design->many_lanes ? 3 : 1;
    if (_i % 2) give_priorities(&setting, 50);
    ck_assert_ok(world_open(&setting, &w));
    for (int batch = 0; batch < 2; batch++) {
        for (int r = 0; r < 2; r++) setting.program[r].steps = batch ? 6 : 2;
        ck_assert_ok(world_submit(w, (uint64_t)batch));
        run_in_turns(w, 2);
        ck_assert_msg(world_oracle(w, what, sizeof what) == WORLD_RIGHT, "%s", what);
    }
    world_close(w);
    program_clear(&setting);
}
END_TEST

/* W blocking workers, K collectives each on its own lane, P ranks: free of deadlock if and only if
 * W > K(P-1)/P. */
START_TEST(naive_hangs_up_to_the_bound)
{
    const tutti_design *naive = tutti_design_find("naive");
    double began_s = tutti_clock_s();
    explore_result all = {0};
    int largest = deep() ? 4 : 3;
    for (int P = 2; P <= 3; P++) {
        for (int K = 1; K <= largest; K++) {
            for (int W = 1; W <= K; W++) {
                program_setting setting;
                explore_result one = {0};
                ck_assert_ok(explore_sums(naive, P, K, 1, 0, &setting));
                setting.workers = W;
                setting.lanes = K;
                explore(&setting, INT64_MAX, 0, &one);
                program_clear(&setting);
                int free_of_deadlock = W * P > K * (P - 1);
                ck_assert_msg((one.first_bad == WORLD_RIGHT) == free_of_deadlock,
                    "P=%d K=%d W=%d: %s", P, K, W, one.first_bad ? one.what : "no hang");
                ck_assert_int_eq(one.wrong + one.mismatches + one.errors, 0);
                all.schedules += one.schedules;
                all.states += one.states;
                all.right += one.right;
                all.hangs += one.hangs;
            }
        }
    }
    explore_print("naive, a lane each", &all, began_s);
}
END_TEST

START_TEST(naive_sums_wrongly_on_one_lane)
{
    for (int equal = 0; equal <= 1; equal++) {
        program_setting setting;
        explore_result all = {0}, drawn = {0};
        double began_s = tutti_clock_s();
        ck_assert_ok(explore_sums(tutti_design_find("naive"), 2, 2, 1, equal, &setting));
        setting.workers = 2;
        explore(&setting, INT64_MAX, 0, &all);
        ck_assert_ok(explore_random(&setting, 1, 64, &drawn));
        program_clear(&setting);
        explore_print(equal ? "naive, one lane, equal sizes" : "naive, one lane", &all, began_s);
        printf("for example: %s\n", all.what);
        int64_t expected = equal ? all.wrong : all.mismatches;
        ck_assert_msg(expected > 0, "%s", all.what);
        ck_assert_int_gt(drawn.schedules, drawn.right);
    }
}
END_TEST

/* The reduction loses no final state: exploring every step as a choice gives the same set. */
START_TEST(the_reduction_is_sound)
{
    const tutti_design *design = tutti_designs[_i];
    if (testing_fewer()) return; /* it needs every schedule */
    for (int P = 2; P <= 2 + deep(); P++) {
        for (int lanes = 1; lanes <= (design->many_lanes ? 2 : 1); lanes++) {
            program_setting setting;
            explore_result full = {0}, reduced = {0};
            double began_s = tutti_clock_s();
            ck_assert_ok(explore_sums(design, P, P == 2 ? 2 : 1, 1, 1, &setting));
            setting.lanes = lanes;
            explore(&setting, INT64_MAX, 1, &full);
            explore(&setting, INT64_MAX, 0, &reduced);
            program_clear(&setting);
            explore_print(design->name, &full, began_s);
            ck_assert_msg(full.ends == reduced.ends,
                "%s: final states differ (%lld states and %lld)", design->name,
                (long long)full.states, (long long)reduced.states);
            ck_assert_int_eq(full.right > 0, reduced.right > 0);
            ck_assert_int_eq(full.hangs > 0, reduced.hangs > 0);
            ck_assert_int_eq(full.wrong > 0, reduced.wrong > 0);
        }
    }
}
END_TEST

int main(void)
{
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    tutti_log_set_level(TUTTI_LOG_NONE);
    /* Thousands of worlds are opened and closed: keep their memory in the heap. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    Suite *suite = suite_create("deadlock");
    TCase *tcase = testing_case(suite, "random");
    tcase_add_test(tcase, random_schedules_end_right);
    tcase_add_loop_test(tcase, settings_have_groups_and_edges, 0, designs);
    tcase = testing_case(suite, "small");
    tcase_add_loop_test(tcase, every_schedule_of_a_small_case_ends_right, 0, designs);
    tcase_add_loop_test(tcase, every_schedule_on_shallow_lanes_ends_right, 0, designs);
    tcase = testing_case(suite, "slots");
    tcase_add_loop_test(tcase, every_schedule_with_shared_slots_ends_right, 0, designs);
    tcase_add_loop_test(tcase, messages_aside_have_no_turn, 0, designs);
    tcase_add_test(tcase, naive_hangs_on_shared_slots);
    tcase = testing_case(suite, "order");
    tcase_add_loop_test(tcase, every_schedule_with_another_order_ends_right, 0, 2);
    tcase_add_loop_test(tcase, every_schedule_with_priorities_ends_right, 0, 2);
    tcase = testing_case(suite, "steps");
    tcase_add_loop_test(tcase, every_schedule_of_a_pipeline_ends_right, 0, designs);
    tcase_add_loop_test(tcase, every_schedule_of_a_strategy_ends_right, 0, designs);
    tcase = testing_case(suite, "rings");
    tcase_add_loop_test(tcase, rings_grow, 0, 2 * designs);
    tcase = testing_case(suite, "naive");
    tcase_add_test(tcase, naive_hangs_up_to_the_bound);
    tcase_add_test(tcase, naive_sums_wrongly_on_one_lane);
    tcase = testing_case(suite, "reduction");
    tcase_add_loop_test(tcase, the_reduction_is_sound, 0, designs);
    return testing_run(suite);
}
