/* collectives/sched: schedules are proved, and compared with their pictures.
 * TUTTI_TEST_WRITE_GOLDEN=1 writes new pictures. */
#include "collectives/choose.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/hierarchical.h"
#include "collectives/sched/match.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/tree.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/collectives/schedules.h"
#include "tests/support/sched_print.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void prove(
    const schedule_row *row, int P, int root, int64_t count, int64_t segment, int in_place)
{
    schedules a = schedules_build(row, P, root, count, segment, in_place);
    ck_assert_msg(!tutti_sched_match(a.ranks, P),
        "%s: P %d, root %d, count %d, segment %d, in place %d", row->name, P, root, (int)count,
        (int)segment, in_place);
    schedules_free(&a);
}

START_TEST(every_schedule_is_proved)
{
    static const int64_t counts[] = {0, 1, 5, 36}, segments[] = {0, 3};
    for (int P = 1; P <= MOST_RANKS; P++)
        for (int c = 0; c < 4; c++)
            for (int s = 0; s < 2; s++)
                for (int in_place = 0; in_place < 2; in_place++)
                    prove(&schedule_rows[_i], P, c * P / 4, counts[c], segments[s], in_place);
}
END_TEST

START_TEST(messages_are_proved)
{
    const schedule_row row = {"message", TUTTI_MESSAGE, tutti_sched_tree_broadcast};
    for (int count = 0; count <= 5; count++)
        for (int segment = 0; segment <= 3; segment++) prove(&row, 2, 0, count, segment, 0);
}
END_TEST

START_TEST(every_root_is_proved)
{
    for (int P = 1; P <= 9; P++)
        for (int root = 0; root < P; root++)
            for (int i = 0; i < SCHEDULE_ROWS; i++)
                if (tutti_coll_trait_of(schedule_rows[i].kind)->rooted)
                    for (int in_place = 0; in_place < 2; in_place++)
                        prove(&schedule_rows[i], P, root, 4, 0, in_place);
}
END_TEST

static int is_message(const tutti_sched_step *step)
{
    return step->kind == TUTTI_STEP_SEND || step->kind == TUTTI_STEP_RECV;
}

/* Other ranks see the same messages, in the same order, of one vector and of several. */
static int same_messages(const tutti_sched *one, const tutti_sched *several)
{
    int i = 0, k = 0;
    for (;; i++, k++) {
        while (i < one->n && !is_message(&one->step[i])) i++;
        while (k < several->n && !is_message(&several->step[k])) k++;
        if (i == one->n || k == several->n) return i == one->n && k == several->n;
        const tutti_sched_step *a = &one->step[i], *b = &several->step[k];
        if (a->kind != b->kind || a->peer != b->peer || a->count != b->count) return 0;
    }
}

/* A vector that is left out, or comes twice, on any rank, or is of another element, is not proved. */
START_TEST(extra_vectors_are_proved)
{
    static const int64_t counts[] = {0, 1, 5, 36};
    const schedule_row *row = &schedule_rows[_i];
    if (!tutti_coll_trait_of(row->kind)->reduces) return;
    int direct = row->build == tutti_sched_direct_allreduce ||
                 row->build == tutti_sched_direct_reduce_scatter;
    for (int P = 1; P <= 9; P++) {
        for (int c = 0; c < 4 * 4 * 4; c++) {
            tutti_sched_shape shape = {.kind = row->kind,
                .P = P,
                .root = c % P,
                .count = counts[c % 4],
                .segment = c / 4 % 2 * 3,
                .in_place = c / 8 % 2,
                .extras = c / 16 < 3 ? c / 16 : DIFFERENT,
                .ordered = direct || row->build == tutti_sched_doubling_allreduce,
                .wide = direct && P % 2};
            schedules a = schedules_of_shape(row, &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "%s: P %d, case %d", row->name, P, c);
            shape.extras = 0;
            schedules one = schedules_of_shape(row, &shape, NULL);
            for (int r = 0; r < P; r++) ck_assert(same_messages(one.ranks[r], a.ranks[r]));
            schedules_free(&one);
            schedules_free(&a);
        }
    }
}
END_TEST

/* Lengths of parts from rank r to rank q: `which` selects all zero, some zero, one receiver, or all different. */
static int64_t part_length(int which, int r, int q)
{
    return which == 0 ? 0 : which == 1 ? (r + 2 * q) % 3 : which == 2 ? (q == 1) * 7 : r + q;
}

START_TEST(parts_of_any_length_are_proved)
{
    const schedule_row *row = &schedule_rows[_i];
    if (!tutti_coll_trait_of(row->kind)->parts) return;
    int64_t counts[MOST_RANKS][2 * MOST_RANKS];
    for (int P = 1; P <= 9; P++) {
        for (int which = 0; which < 4; which++) {
            tutti_sched_shape shape = {.kind = row->kind, .P = P, .root = which % P};
            for (int r = 0; r < P; r++) {
                for (int q = 0; q < P; q++) {
                    int all_know = row->kind != TUTTI_ALLTOALL;
                    counts[r][q] = part_length(which, all_know ? 0 : r, q);
                    counts[r][P + q] = part_length(which, q, r);
                    if (!r && all_know) shape.count += counts[r][q];
                }
            }
            for (int c = 0; c < 4; c++) {
                shape.segment = c / 2 * 2;
                shape.in_place = c % 2 && row->kind != TUTTI_ALLTOALL;
                schedules a = schedules_of_shape(row, &shape, counts);
                ck_assert_msg(
                    !tutti_sched_match(a.ranks, P), "%s: P %d, lengths %d", row->name, P, which);
                schedules_free(&a);
            }
        }
    }
}
END_TEST

static tutti_sched_builder chosen_in_order(tutti_coll_kind kind, int P, int64_t count)
{
    const tutti_choice_key key = {.kind = kind, .P = P, .count = count, .element = 4, .ordered = 1};
    return tutti_coll_choose(tutti_algorithm_find(NULL), &key).build;
}

static tutti_status match_in_order(tutti_coll_kind kind, tutti_sched_builder builder, int P, int c)
{
    const schedule_row row = {"ordered", kind, builder};
    const tutti_sched_shape shape = {.kind = kind,
        .P = P,
        .root = c / 4,
        .count = 2 * P - 1,
        .segment = c / 2 % 2,
        .in_place = c % 2,
        .ordered = 1};
    schedules a = schedules_of_shape(&row, &shape, NULL);
    tutti_status status = tutti_sched_match(a.ranks, P);
    schedules_free(&a);
    return status;
}

/* Schedules for operators that do not commute combine ranks in order; the ring does not. */
START_TEST(order_of_ranks_is_proved)
{
    int kinds = 0;
    for (int kind = 0; kind < TUTTI_COLL_KINDS; kind++) {
        kinds += tutti_coll_trait_of((tutti_coll_kind)kind)->reduces;
        if (!tutti_coll_trait_of((tutti_coll_kind)kind)->reduces) continue;
        for (int P = 1; P <= 9; P++) {
            for (int c = 0; c < 8 * P; c++) {
                int64_t count = c / 4 / P ? 1 << 20 : 4;
                tutti_sched_builder builder = chosen_in_order((tutti_coll_kind)kind, P, count);
                ck_assert_msg(!match_in_order((tutti_coll_kind)kind, builder, P, c % (4 * P)),
                    "kind %d, P %d", kind, P);
            }
        }
    }
    ck_assert_int_eq(kinds, 4);
    ck_assert(chosen_in_order(TUTTI_ALLREDUCE, 3, 1024) == tutti_sched_doubling_allreduce);
    ck_assert(chosen_in_order(TUTTI_ALLREDUCE, 3, 1025) == tutti_sched_direct_allreduce);
    ck_assert(chosen_in_order(TUTTI_ALLREDUCE, 2, 1025) == tutti_sched_doubling_allreduce);
    ck_assert_int_eq(
        match_in_order(TUTTI_ALLREDUCE, tutti_sched_ring_allreduce, 3, 0), TUTTI_ERR_MISMATCH);
}
END_TEST

/* Whether a schedule rounds at most once between an input and a result; its memory. */
static tutti_status match_wide(
    tutti_coll_kind kind, tutti_sched_builder builder, int P, int c, int64_t *wide_count)
{
    static const int64_t counts[] = {1, 5, 36};
    const schedule_row row = {"wide", kind, builder};
    const tutti_sched_shape shape = {.kind = kind,
        .P = P,
        .count = counts[c / 4],
        .segment = c / 2 % 2 * 2,
        .in_place = c % 2,
        .ordered = 1,
        .wide = 1};
    schedules a = schedules_of_shape(&row, &shape, NULL);
    tutti_status status = tutti_sched_match(a.ranks, P);
    *wide_count = a.ranks[0]->wide_count;
    schedules_free(&a);
    return status;
}

START_TEST(one_rounding_is_proved)
{
    int64_t wide;
    for (int P = 1; P <= MOST_RANKS; P++) {
        for (int c = 0; c < 12; c++) {
            ck_assert_ok(match_wide(TUTTI_ALLREDUCE, tutti_sched_direct_allreduce, P, c, &wide));
            ck_assert_int_eq(wide > 0, P > 1);
            ck_assert_ok(
                match_wide(TUTTI_REDUCE_SCATTER, tutti_sched_direct_reduce_scatter, P, c, &wide));
        }
    }
    /* Two additions round twice, in any order. */
    ck_assert_ok(match_wide(TUTTI_ALLREDUCE, tutti_sched_doubling_allreduce, 2, 11, &wide));
    ck_assert_int_eq(match_wide(TUTTI_ALLREDUCE, tutti_sched_doubling_allreduce, 3, 11, &wide),
        TUTTI_ERR_MISMATCH);
}
END_TEST

/* A rank's scratch does not grow with the vector, once there is more than one segment of each. */
START_TEST(arrivals_take_turns)
{
    for (int P = 2; P <= 9; P += 7) {
        schedules a = schedules_build(&schedule_rows[SCHEDULE_ROWS - 1], P, 0, 1 << 20, 1 << 12, 1);
        schedules b = schedules_build(&schedule_rows[SCHEDULE_ROWS - 1], P, 0, 1 << 24, 1 << 12, 1);
        ck_assert_int_eq(a.ranks[0]->scratch_count, b.ranks[0]->scratch_count);
        ck_assert_int_le(a.ranks[0]->scratch_count, 32 * 15360);
        schedules_free(&a);
        schedules_free(&b);
    }
    /* Two turns at least: one segment travels while another is combined. */
    schedules c = schedules_build(&schedule_rows[SCHEDULE_ROWS - 1], 9, 0, 9 << 22, 1 << 20, 1);
    ck_assert_int_eq(c.ranks[0]->scratch_count, 8 * 2 << 20);
    schedules_free(&c);
}
END_TEST

static void print_all(const schedule_row *row, FILE *out)
{
    if (tutti_coll_trait_of(row->kind)->reduces) {
        const tutti_sched_shape shape = {
            .kind = row->kind, .P = 2, .count = 4, .segment = 1, .in_place = 1, .extras = 2};
        schedules a = schedules_of_shape(row, &shape, NULL);
        fprintf(out, "%s, 2 ranks, root 0, 3 vectors of 4 elements, in place, segments of 1\n",
            row->name);
        ck_assert_ok(tutti_sched_print(a.ranks, 2, out));
        fputc('\n', out);
        schedules_free(&a);
    }
    for (int P = 2; P <= 5; P++) {
        int direct = row->build == tutti_sched_direct_allreduce, wide = direct && P % 2;
        int segmented = (direct || row->build == tutti_sched_ring_allreduce ||
                            row->build == tutti_sched_chain) &&
                        P == 2;
        int64_t count = tutti_coll_trait_of(row->kind)->parts ? 2 : 2 * P - 1;
        if (row->kind == TUTTI_ALLGATHER) count = 2 * P - 1;
        const tutti_sched_shape shape = {.kind = row->kind,
            .P = P,
            .root = P / 3,
            .count = row->kind == TUTTI_BARRIER ? 1 : count,
            .segment = segmented,
            .in_place = P % 2,
            .wide = wide};
        schedules a = schedules_of_shape(row, &shape, NULL);
        tutti_sched_price price = schedules_price_on_star(&a, 1, 1, 1, 1e-9, 0);
        fprintf(out, "%s, %d ranks, root %d, %d elements, %s%s%s", row->name, P, shape.root,
            (int)shape.count, shape.in_place ? "in place" : "out of place",
            segmented ? ", segments of 1" : "", wide ? ", in accumulators" : "");
        int tree = row->build == tutti_sched_nomial || row->build == tutti_sched_chain_binomial ||
                   row->build == tutti_sched_chain_chain;
        if (tree) fprintf(out, ", k = %d", 2 + P % 3);
        fputc('\n', out);
        fprintf(out,
            "steps: %d; a rank sends up to %d elements, combines %d, needs %d of scratch\n",
            price.steps, (int)price.sent_bytes, (int)price.reduced_bytes, (int)price.scratch_bytes);
        ck_assert_ok(tutti_sched_print(a.ranks, P, out));
        fputc('\n', out);
        schedules_free(&a);
    }
}

static char *read_all(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "r"), *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_msg(in != NULL, "%s cannot be read", path);
    for (int c; (c = getc(in)) != EOF;) putc(c, out);
    fclose(in);
    fclose(out);
    return text;
}

START_TEST(pictures_are_golden)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/schedules/%s.txt", schedule_rows[_i].name);
    if (getenv("TUTTI_TEST_WRITE_GOLDEN")) {
        FILE *out = fopen(testing_source(path), "w");
        ck_assert_ptr_nonnull(out);
        print_all(&schedule_rows[_i], out);
        fclose(out);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    print_all(&schedule_rows[_i], out);
    fclose(out);
    char *golden = read_all(testing_source(path));
    int same = !strcmp(text, golden);
    if (!same) printf("%s", text); /* too long for an assertion's message */
    ck_assert_msg(same, "the pictures printed above are not those of %s", path);
    free(golden);
    free(text);
}
END_TEST

/* ---- forests ---- */

static int draw(uint64_t *at, int below)
{
    return (int)tutti_rng_below(testing_seed(45), 0, (*at)++, (uint64_t)below);
}

/* A random tree: ranks join it in a random order, each below one that is there. */
static void draw_tree(uint64_t *at, int P, int parent[])
{
    int order[MOST_RANKS];
    for (int i = 0; i < P; i++) {
        int k = draw(at, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < P; i++) parent[order[i]] = i ? order[draw(at, i)] : -1;
}

/* Up to four random trees with random weights, all kinds and roots: each element goes along one tree. */
START_TEST(random_forests_are_proved)
{
    static const tutti_coll_kind kinds[] = {TUTTI_BROADCAST, TUTTI_REDUCE, TUTTI_ALLREDUCE};
    uint64_t at = 0;
    for (int P = 1; P <= MOST_RANKS; P++) {
        for (int c = 0; c < 24; c++) {
            tutti_forest *f;
            ck_assert_ok(tutti_forest_new(P, 1 + draw(&at, 4), &f));
            for (int t = 0; t < f->trees; t++) {
                draw_tree(&at, P, f->tree[t].parent);
                f->tree[t].weight = 0.1 + draw(&at, 9);
            }
            ck_assert_ok(tutti_forest_check(f));
            const schedule_row row = {"forest", kinds[c % 3], tutti_sched_forest};
            const tutti_sched_shape shape = {.kind = row.kind,
                .P = P,
                .root = draw(&at, P),
                .count = draw(&at, 150),
                .segment = draw(&at, 2) * (1 + draw(&at, 20)),
                .in_place = draw(&at, 2),
                .extras = row.kind == TUTTI_BROADCAST ? 0 : draw(&at, 3),
                .forest = f};
            schedules a = schedules_of_shape(&row, &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "P %d, case %d", P, c);
            schedules_free(&a);
            tutti_forest_free(f);
        }
    }
}
END_TEST

/* Ranks on any machines, as many on each or not. */
START_TEST(hierarchies_are_proved)
{
    static const schedule_row kinds[] = {
        {"allreduce", TUTTI_ALLREDUCE, tutti_sched_hierarchical_allreduce},
        {"broadcast", TUTTI_BROADCAST, tutti_sched_hierarchical_broadcast},
        {"reduce", TUTTI_REDUCE, tutti_sched_hierarchical_reduce}};
    uint64_t at = 0;
    int host[MOST_RANKS];
    for (int P = 1; P <= MOST_RANKS; P++) {
        for (int c = 0; c < 30; c++) {
            int machines = 1 + draw(&at, P), even = draw(&at, 2);
            for (int r = 0; r < P; r++)
                host[r] = even           ? r % machines
                          : draw(&at, 2) ? r * machines / P
                                         : draw(&at, machines);
            const tutti_sched_shape shape = {.kind = kinds[c % 3].kind,
                .P = P,
                .root = draw(&at, P),
                .count = draw(&at, 60),
                .segment = draw(&at, 2) * (1 + draw(&at, 20)),
                .in_place = draw(&at, 2),
                .extras = kinds[c % 3].kind == TUTTI_BROADCAST ? 0 : draw(&at, 3),
                .wide = c % 2 && kinds[c % 3].kind == TUTTI_ALLREDUCE
                            ? 2
                            : 0, /* one rounding a level */
                .host = host};
            schedules a = schedules_of_shape(&kinds[c % 3], &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "P %d, case %d", P, c);
            schedules_free(&a);
        }
    }
}
END_TEST

/* Which ranks' values a rank adds to an element, in order, does not depend on segments. */
START_TEST(segments_do_not_change_sums)
{
    enum { P = 9, COUNT = 100 };
    uint64_t at = 0;
    tutti_forest *f;
    ck_assert_ok(tutti_forest_new(P, 3, &f));
    for (int t = 0; t < 3; t++) draw_tree(&at, P, f->tree[t].parent);
    int added[COUNT][P * P], n[COUNT];
    for (int segment = 0; segment < 40; segment += 13) {
        const schedule_row row = {"forest", TUTTI_ALLREDUCE, tutti_sched_forest};
        const tutti_sched_shape shape = {.kind = row.kind,
            .P = P,
            .count = COUNT,
            .segment = segment,
            .in_place = 1,
            .forest = f};
        schedules a = schedules_of_shape(&row, &shape, NULL);
        int now[COUNT] = {0};
        for (int r = 0; r < P; r++) {
            const tutti_sched *s = a.ranks[r];
            for (int i = 1; i < s->n; i++) {
                /* What was received just before. */
                if (s->step[i].kind != TUTTI_STEP_REDUCE) continue;
                ck_assert_int_eq(s->step[i - 1].kind, TUTTI_STEP_RECV);
                for (int64_t e = s->step[i].dst.offset;
                     e < s->step[i].dst.offset + s->step[i].count; e++) {
                    if (!segment) added[e][now[e]] = P * r + s->step[i - 1].peer;
                    ck_assert_int_eq(added[e][now[e]++], P * r + s->step[i - 1].peer);
                }
            }
        }
        for (int e = 0; e < COUNT; e++) {
            if (!segment) n[e] = now[e];
            ck_assert_int_eq(now[e], n[e]);
            ck_assert_int_eq(n[e], P - 1);
        }
        schedules_free(&a);
    }
    tutti_forest_free(f);
}
END_TEST

START_TEST(trees_are_checked)
{
    tutti_forest *f;
    ck_assert_ok(tutti_forest_new(4, 2, &f));
    static const int wrong[][4] = {
        {-1, 0, 1, 4}, {-1, 0, 1, -2}, {-1, 0, 3, 2}, {-1, 0, -1, 2}, {1, 2, 3, 0}};
    tutti_log_set_level(TUTTI_LOG_NONE);
    tutti_tree_chain(4, 2, 0, f->tree[0].parent);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(f->tree[1].parent, wrong[i], sizeof wrong[i]);
        ck_assert_int_eq(tutti_forest_check(f), TUTTI_ERR_INVAL);
    }
    tutti_tree_chain(4, 0, 0, f->tree[1].parent);
    f->tree[1].weight = 0;
    ck_assert_int_eq(tutti_forest_check(f), TUTTI_ERR_INVAL);
    f->tree[1].weight = 1e-3;
    ck_assert_ok(tutti_forest_check(f));
    tutti_log_set_level(TUTTI_LOG_INFO);
    tutti_forest_free(f);
}
END_TEST

/* ---- what steps wait for ---- */

static int overlap(const tutti_sched_step *one, const tutti_sched_step *other)
{
    const tutti_spot spots[2][2] = {{one->src, one->dst}, {other->src, other->dst}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if ((i || k) && spots[0][i].space == spots[1][k].space &&
                spots[0][i].offset < spots[1][k].offset + other->count &&
                spots[1][k].offset < spots[0][i].offset + one->count)
                return 1;
    return 0;
}

/* Of local steps with random ranges: each waits, at once or through others, for all earlier ones that it overlaps,
 * and for no others. */
START_TEST(steps_wait_for_what_they_overlap)
{
    enum { STEPS = 40 };
    uint64_t at = 0;
    for (int trial = 0; trial < 300; trial++) {
        const tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = 1, .count = 20, .in_place = 1};
        tutti_sched_draft *draft;
        tutti_sched *s;
        ck_assert_ok(tutti_sched_begin(&shape, &draft));
        for (int i = 0; i < STEPS; i++) {
            tutti_spot dst = draw(&at, 2) ? tutti_out(draw(&at, 15)) : tutti_scratch(draw(&at, 15));
            tutti_spot src = draw(&at, 2) ? tutti_out(draw(&at, 15)) : tutti_scratch(draw(&at, 15));
            tutti_sched_copy(draft, dst, src, 1 + draw(&at, 5));
        }
        ck_assert_ok(tutti_sched_end(draft, &s));
        static char after[STEPS][STEPS];
        memset(after, 0, sizeof after);
        for (int i = STEPS - 1; i >= 0; i--) {
            for (int k = s->step[i].first; k < s->step[i + 1].first; k++) {
                int later = s->after[k];
                ck_assert(overlap(&s->step[i], &s->step[later]));
                after[i][later] = 1;
                for (int j = 0; j < STEPS; j++) after[i][j] |= after[later][j];
            }
        }
        for (int i = 0; i < STEPS; i++)
            for (int k = i + 1; k < STEPS; k++)
                ck_assert_msg(!overlap(&s->step[i], &s->step[k]) || after[i][k],
                    "trial %d: step %d does not wait for step %d", trial, k, i);
        tutti_sched_free(s);
    }
}
END_TEST

/* Half a million ranges that are all still waited for: time grows with their number, not with its square. */
START_TEST(many_steps_are_linked)
{
    enum { RANGES = 500000 };
    const tutti_sched_shape shape = {
        .kind = TUTTI_ALLREDUCE, .P = 1, .count = RANGES, .in_place = 1};
    tutti_sched_draft *draft;
    tutti_sched *s;
    ck_assert_ok(tutti_sched_begin(&shape, &draft));
    for (int i = 0; i < RANGES; i++) tutti_sched_copy(draft, tutti_scratch(i), tutti_out(i), 1);
    for (int i = 0; i < RANGES; i++) tutti_sched_copy(draft, tutti_out(i), tutti_scratch(i), 1);
    ck_assert_ok(tutti_sched_end(draft, &s));
    ck_assert_int_eq(s->step[s->n].first, RANGES);
    for (int i = 0; i < RANGES; i++) ck_assert_int_eq(s->after[s->step[i].first], RANGES + i);
    tutti_sched_free(s);
}
END_TEST

START_TEST(blocks_tile_the_vector)
{
    for (int P = 1; P <= 9; P++) {
        for (int64_t count = 0; count < 30; count++) {
            int64_t end = 0, before = INT64_MAX, offset, length;
            for (int r = 0; r < P; r++) {
                tutti_coll_block(count, P, r, &offset, &length);
                ck_assert_int_eq(offset, end);
                ck_assert(length <= before && length >= count / P && length <= count / P + 1);
                end += before = length;
            }
            ck_assert_int_eq(end, count);
        }
    }
    int64_t offset, length, huge = (int64_t)7 << 40;
    tutti_coll_block(huge, 7, 6, &offset, &length);
    ck_assert_int_eq(offset, (int64_t)6 << 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched");
    TCase *tcase = testing_case(suite, "sched");
    tcase_add_loop_test(tcase, every_schedule_is_proved, 0, SCHEDULE_ROWS);
    tcase_add_test(tcase, messages_are_proved);
    tcase_add_test(tcase, every_root_is_proved);
    tcase_add_loop_test(tcase, extra_vectors_are_proved, 0, SCHEDULE_ROWS);
    tcase_add_loop_test(tcase, parts_of_any_length_are_proved, 0, SCHEDULE_ROWS);
    tcase_add_test(tcase, order_of_ranks_is_proved);
    tcase_add_test(tcase, one_rounding_is_proved);
    tcase_add_test(tcase, arrivals_take_turns);
    tcase_add_test(tcase, random_forests_are_proved);
    tcase_add_test(tcase, hierarchies_are_proved);
    tcase_add_test(tcase, segments_do_not_change_sums);
    tcase_add_test(tcase, trees_are_checked);
    tcase_add_test(tcase, steps_wait_for_what_they_overlap);
    tcase_add_test(tcase, many_steps_are_linked);
    tcase_add_test(tcase, blocks_tile_the_vector);
    /* any change of a schedule changes these: mutants have to be caught by what is above */
    TCase *pictures = testing_case(suite, "pictures");
    tcase_add_loop_test(pictures, pictures_are_golden, 0, SCHEDULE_ROWS);
    return testing_run(suite);
}
