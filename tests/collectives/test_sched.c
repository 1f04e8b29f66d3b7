/* collectives/sched and choose: schedules are proved, priced and compared with their pictures.
 * TUTTI_TEST_WRITE_GOLDEN=1 writes new pictures. */
#include "collectives/choose.h"
#include "collectives/sched/barrier.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/match.h"
#include "collectives/sched/price.h"
#include "collectives/sched/print.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/rsag.h"
#include "collectives/sched/scan.h"
#include "collectives/sched/tree.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 17, DIFFERENT = -1 /* extra vectors: 1, 2, 0, 1, ... */ };

static const struct row {
    const char *name;
    tutti_coll_kind kind;
    tutti_sched_builder build;
} rows[] = {
    {"ring_allreduce", TUTTI_ALLREDUCE, tutti_sched_ring_allreduce},
    {"ring_reduce_scatter", TUTTI_REDUCE_SCATTER, tutti_sched_ring_reduce_scatter},
    {"ring_allgather", TUTTI_ALLGATHER, tutti_sched_ring_allgather},
    {"doubling_allreduce", TUTTI_ALLREDUCE, tutti_sched_doubling_allreduce},
    {"rsag_allreduce", TUTTI_ALLREDUCE, tutti_sched_rsag_allreduce},
    {"tree_allreduce", TUTTI_ALLREDUCE, tutti_sched_tree_allreduce},
    {"tree_broadcast", TUTTI_BROADCAST, tutti_sched_tree_broadcast},
    {"tree_reduce", TUTTI_REDUCE, tutti_sched_tree_reduce},
    {"barrier", TUTTI_BARRIER, tutti_sched_barrier},
    {"direct_gather", TUTTI_GATHER, tutti_sched_direct_gather},
    {"direct_scatter", TUTTI_SCATTER, tutti_sched_direct_scatter},
    {"direct_alltoall", TUTTI_ALLTOALL, tutti_sched_direct_alltoall},
    {"direct_reduce_scatter", TUTTI_REDUCE_SCATTER, tutti_sched_direct_reduce_scatter},
    {"scan", TUTTI_SCAN, tutti_sched_scan},
    {"direct_allreduce", TUTTI_ALLREDUCE, tutti_sched_direct_allreduce},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct all {
    int P;
    const tutti_sched *ranks[MOST_RANKS];
} all;

/* Every rank's schedule of this shape; counts[r], NULL: none. */
static all build_shape(
    const struct row *row, const tutti_sched_shape *like, int64_t counts[][2 * MOST_RANKS])
{
    all a = {.P = like->P};
    for (int r = 0; r < like->P; r++) {
        tutti_sched_shape shape = *like;
        tutti_sched *sched;
        shape.rank = r;
        if (like->extras == DIFFERENT) shape.extras = (r + 1) % 3;
        if (counts) shape.counts = counts[r];
        ck_assert_ok(row->build(&shape, &sched));
        a.ranks[r] = sched;
    }
    return a;
}

static all build(
    const struct row *row, int P, int root, int64_t count, int64_t segment, int in_place)
{
    const tutti_sched_shape shape = {.kind = row->kind,
        .P = P,
        .root = root,
        .count = row->kind == TUTTI_BARRIER ? 1 : count,
        .segment = segment,
        .in_place = in_place};
    return build_shape(row, &shape, NULL);
}

static void discard(all *a)
{
    for (int r = 0; r < a->P; r++) tutti_sched_free((tutti_sched *)a->ranks[r]);
}

static void prove(
    const struct row *row, int P, int root, int64_t count, int64_t segment, int in_place)
{
    all a = build(row, P, root, count, segment, in_place);
    ck_assert_msg(!tutti_sched_match(a.ranks, P),
        "%s: P %d, root %d, count %d, segment %d, in place %d", row->name, P, root, (int)count,
        (int)segment, in_place);
    discard(&a);
}

START_TEST(every_schedule_is_proved)
{
    static const int64_t counts[] = {0, 1, 5, 36}, segments[] = {0, 3};
    for (int P = 1; P <= MOST_RANKS; P++)
        for (int c = 0; c < 4; c++)
            for (int s = 0; s < 2; s++)
                for (int in_place = 0; in_place < 2; in_place++)
                    prove(&rows[_i], P, c * P / 4, counts[c], segments[s], in_place);
}
END_TEST

START_TEST(messages_are_proved)
{
    const struct row row = {"message", TUTTI_MESSAGE, tutti_sched_tree_broadcast};
    for (int count = 0; count <= 5; count++)
        for (int segment = 0; segment <= 3; segment++) prove(&row, 2, 0, count, segment, 0);
}
END_TEST

START_TEST(every_root_is_proved)
{
    for (int P = 1; P <= 9; P++)
        for (int root = 0; root < P; root++)
            for (int i = 0; i < ROWS; i++)
                if (tutti_coll_trait_of(rows[i].kind)->rooted)
                    for (int in_place = 0; in_place < 2; in_place++)
                        prove(&rows[i], P, root, 4, 0, in_place);
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
    const struct row *row = &rows[_i];
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
            all a = build_shape(row, &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "%s: P %d, case %d", row->name, P, c);
            shape.extras = 0;
            all one = build_shape(row, &shape, NULL);
            for (int r = 0; r < P; r++) ck_assert(same_messages(one.ranks[r], a.ranks[r]));
            discard(&one);
            discard(&a);
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
    const struct row *row = &rows[_i];
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
                all a = build_shape(row, &shape, counts);
                ck_assert_msg(
                    !tutti_sched_match(a.ranks, P), "%s: P %d, lengths %d", row->name, P, which);
                discard(&a);
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
    const struct row row = {"ordered", kind, builder};
    const tutti_sched_shape shape = {.kind = kind,
        .P = P,
        .root = c / 4,
        .count = 2 * P - 1,
        .segment = c / 2 % 2,
        .in_place = c % 2,
        .ordered = 1};
    all a = build_shape(&row, &shape, NULL);
    tutti_status status = tutti_sched_match(a.ranks, P);
    discard(&a);
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
    const struct row row = {"wide", kind, builder};
    const tutti_sched_shape shape = {.kind = kind,
        .P = P,
        .count = counts[c / 4],
        .segment = c / 2 % 2 * 2,
        .in_place = c % 2,
        .ordered = 1,
        .wide = 1};
    all a = build_shape(&row, &shape, NULL);
    tutti_status status = tutti_sched_match(a.ranks, P);
    *wide_count = a.ranks[0]->wide_count;
    discard(&a);
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
        all a = build(&rows[ROWS - 1], P, 0, 1 << 20, 1 << 12, 1);
        all b = build(&rows[ROWS - 1], P, 0, 1 << 24, 1 << 12, 1);
        ck_assert_int_eq(a.ranks[0]->scratch_count, b.ranks[0]->scratch_count);
        ck_assert_int_le(a.ranks[0]->scratch_count, 32 * 15360);
        discard(&a);
        discard(&b);
    }
    /* Two turns at least: one segment travels while another is combined. */
    all c = build(&rows[ROWS - 1], 9, 0, 9 << 22, 1 << 20, 1);
    ck_assert_int_eq(c.ranks[0]->scratch_count, 8 * 2 << 20);
    discard(&c);
}
END_TEST

static void print_all(const struct row *row, FILE *out)
{
    const tutti_sched_cost cost = {.alpha_s = 1};
    if (tutti_coll_trait_of(row->kind)->reduces) {
        const tutti_sched_shape shape = {
            .kind = row->kind, .P = 2, .count = 4, .segment = 1, .in_place = 1, .extras = 2};
        all a = build_shape(row, &shape, NULL);
        fprintf(out, "%s, 2 ranks, root 0, 3 vectors of 4 elements, in place, segments of 1\n",
            row->name);
        ck_assert_ok(tutti_sched_print(a.ranks, 2, out));
        fputc('\n', out);
        discard(&a);
    }
    for (int P = 2; P <= 5; P++) {
        int direct = row->build == tutti_sched_direct_allreduce, wide = direct && P % 2;
        int segmented = (direct || row->build == tutti_sched_ring_allreduce) && P == 2;
        int64_t count = tutti_coll_trait_of(row->kind)->parts ? 2 : 2 * P - 1;
        if (row->kind == TUTTI_ALLGATHER) count = 2 * P - 1;
        const tutti_sched_shape shape = {.kind = row->kind,
            .P = P,
            .root = P / 3,
            .count = row->kind == TUTTI_BARRIER ? 1 : count,
            .segment = segmented,
            .in_place = P % 2,
            .wide = wide};
        all a = build_shape(row, &shape, NULL);
        tutti_sched_price price;
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 1, 1, &cost, &price));
        fprintf(out, "%s, %d ranks, root %d, %d elements, %s%s%s\n", row->name, P, shape.root,
            (int)shape.count, shape.in_place ? "in place" : "out of place",
            segmented ? ", segments of 1" : "", wide ? ", in accumulators" : "");
        fprintf(out,
            "steps: %d; a rank sends up to %d elements, combines %d, needs %d of scratch\n",
            price.steps, (int)price.sent_bytes, (int)price.reduced_bytes, (int)price.scratch_bytes);
        ck_assert_ok(tutti_sched_print(a.ranks, P, out));
        fputc('\n', out);
        discard(&a);
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
    snprintf(path, sizeof path, "tests/golden/schedules/%s.txt", rows[_i].name);
    if (getenv("TUTTI_TEST_WRITE_GOLDEN")) {
        FILE *out = fopen(testing_source(path), "w");
        ck_assert_ptr_nonnull(out);
        print_all(&rows[_i], out);
        fclose(out);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    print_all(&rows[_i], out);
    fclose(out);
    char *golden = read_all(testing_source(path));
    int same = !strcmp(text, golden);
    if (!same) printf("%s", text); /* too long for an assertion's message */
    ck_assert_msg(same, "the pictures printed above are not those of %s", path);
    free(golden);
    free(text);
}
END_TEST

/* The depth of a binomial tree over P ranks. */
static int most_bits_below(int P)
{
    int most = 0;
    for (int v = 0; v < P; v++)
        if (__builtin_popcount((unsigned)v) > most) most = __builtin_popcount((unsigned)v);
    return most;
}

START_TEST(prices_are_the_formulas)
{
    const tutti_sched_cost cost = {
        .alpha_s = 1e-6, .beta_s_per_byte = 1e-9, .gamma_s_per_byte = 1e-10};
    const double S = 4 * 840;
    int log2P = 0;
    for (int P = 2; P <= 8; P++) {
        while (1 << log2P < P) log2P++;
        tutti_sched_price price;
        all a = build(&rows[0], P, 0, 840, 0, 1);
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 4, 4, &cost, &price));
        ck_assert_int_eq(price.steps, 2 * (P - 1));
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        double time_s = 2 * (P - 1) * (1e-6 + 1e-9 * S / P) + (P - 1) * 1e-10 * S / P;
        ck_assert_double_eq_tol(price.time_s, time_s, 1e-12);
        discard(&a);

        int power = !(P & (P - 1));
        a = build(&rows[3], P, 0, 840, 0, 1);
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 4, 4, &cost, &price));
        ck_assert_int_eq(price.steps, power ? log2P : log2P - 1 + 2);
        discard(&a);

        a = build(&rows[4], P, 0, 840, 0, 1);
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 4, 4, &cost, &price));
        ck_assert_int_eq(price.steps, power ? 2 * log2P : 2 * (log2P - 1) + 2);
        if (power) ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        discard(&a);

        a = build(&rows[6], P, P - 1, 840, 0, 1);
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 4, 4, &cost, &price));
        ck_assert_int_eq(price.steps, most_bits_below(P));
        discard(&a);
    }
}
END_TEST

/* With 2 S / P bytes of a wider accumulator: it, and the other ranks' blocks. */
START_TEST(prices_of_direct_are_the_formulas)
{
    const tutti_sched_cost cost = {
        .alpha_s = 1e-6, .beta_s_per_byte = 1e-9, .gamma_s_per_byte = 1e-10};
    const double S = 2 * 840;
    for (int P = 2; P <= 8; P++) {
        tutti_sched_price price, wide;
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = P, .count = 840, .in_place = 1, .wide = 0};
        all a = build_shape(&rows[ROWS - 1], &shape, NULL);
        shape.wide = 1;
        all b = build_shape(&rows[ROWS - 1], &shape, NULL);
        ck_assert_ok(tutti_sched_price_of(a.ranks, P, 2, 4, &cost, &price));
        ck_assert_ok(tutti_sched_price_of(b.ranks, P, 2, 4, &cost, &wide));
        ck_assert_int_eq(price.steps, 2);
        ck_assert_int_eq(wide.steps, 2);
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.sent_bytes, price.sent_bytes);
        ck_assert_double_eq_tol((double)price.reduced_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.reduced_bytes, price.reduced_bytes);
        ck_assert_double_eq_tol((double)price.scratch_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_double_eq_tol((double)wide.scratch_bytes, S * (P - 1) / P + 2 * S / P, 1e-6);
        /* At least the last segment is rounded after the last message of the first step. */
        double travel_s = 2 * (P - 1) * (1e-6 + 1e-9 * S / P);
        ck_assert_double_ge(price.time_s, travel_s);
        ck_assert_double_ge(wide.time_s, travel_s + 1e-10 * S / P);
        discard(&a);
        discard(&b);
    }
}
END_TEST

/* P - 1 parts of S bytes pass through the root's link. */
START_TEST(prices_of_parts_are_the_formulas)
{
    const tutti_sched_cost cost = {.alpha_s = 1e-6, .beta_s_per_byte = 1e-9};
    const double S = 4 * 840;
    for (int i = 0; i < ROWS; i++) {
        for (int P = 2; P <= 8; P++) {
            tutti_sched_price price;
            all a = build(&rows[i], P, P / 2, 840, 0, 0);
            ck_assert_ok(tutti_sched_price_of(a.ranks, P, 4, 4, &cost, &price));
            if (rows[i].kind == TUTTI_GATHER || rows[i].kind == TUTTI_SCATTER)
                ck_assert_double_eq_tol(price.time_s, (P - 1) * (1e-6 + 1e-9 * S), 1e-12);
            if (rows[i].kind == TUTTI_ALLTOALL) {
                ck_assert_int_eq(price.steps, 1);
                ck_assert_int_eq(price.sent_bytes, (P - 1) * S);
                ck_assert_int_eq(price.scratch_bytes, 0);
            }
            if (rows[i].kind == TUTTI_SCAN) ck_assert_int_le(1 << (price.steps - 1), P - 1);
            discard(&a);
        }
    }
}
END_TEST

START_TEST(pipelining_pays)
{
    const tutti_sched_cost cost = {
        .alpha_s = 1e-6, .beta_s_per_byte = 1e-9, .gamma_s_per_byte = 1e-9};
    tutti_sched_price whole, pipelined;
    all a = build(&rows[0], 4, 0, 1 << 20, 0, 1), b = build(&rows[0], 4, 0, 1 << 20, 1 << 14, 1);
    ck_assert_ok(tutti_sched_price_of(a.ranks, 4, 4, 4, &cost, &whole));
    ck_assert_ok(tutti_sched_price_of(b.ranks, 4, 4, 4, &cost, &pipelined));
    ck_assert_double_lt(pipelined.time_s, 0.75 * whole.time_s);
    ck_assert_int_eq(pipelined.sent_bytes, whole.sent_bytes);
    discard(&a);
    discard(&b);
}
END_TEST

/* Of two vectors as one object, all but the first segments are combined while others travel. */
START_TEST(local_sums_are_hidden)
{
    static const tutti_sched_builder builders[] = {
        tutti_sched_ring_allreduce, tutti_sched_direct_allreduce, tutti_sched_doubling_allreduce};
    enum { N = 1 << 20, SEGMENT = 1 << 14, BUILDERS = sizeof builders / sizeof *builders };
    const tutti_sched_cost cost = {
        .alpha_s = 1e-6, .beta_s_per_byte = 1e-9, .gamma_s_per_byte = 2e-10};
    for (int b = 0; b < BUILDERS; b++) {
        const struct row row = {"", TUTTI_ALLREDUCE, builders[b]};
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = 2, .count = N, .segment = SEGMENT, .in_place = 1};
        tutti_sched_price one, two;
        all a = build_shape(&row, &shape, NULL);
        shape.extras = 1;
        all g = build_shape(&row, &shape, NULL);
        ck_assert_ok(tutti_sched_price_of(a.ranks, 2, 4, 4, &cost, &one));
        ck_assert_ok(tutti_sched_price_of(g.ranks, 2, 4, 4, &cost, &two));
        double sum_s = 2e-10 * 4 * N;
        ck_assert_msg(two.time_s < one.time_s + 0.6 * sum_s, "builder %d: %g s, %g s, sum %g s", b,
            one.time_s, two.time_s, sum_s);
        ck_assert_int_eq(two.sent_bytes, one.sent_bytes);
        ck_assert_int_eq(two.steps, one.steps);
        ck_assert_int_eq(two.scratch_bytes, one.scratch_bytes);
        discard(&a);
        discard(&g);
    }
}
END_TEST

/* ---- what match must refuse: pairs of schedules written by hand ---- */

typedef void (*hand)(tutti_sched_draft *draft, int rank);

static tutti_status match_pair(hand write, int wide)
{
    all a = {.P = 2};
    for (int r = 0; r < 2; r++) {
        const tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .rank = r, .P = 2, .count = 2, .in_place = 1, .wide = wide};
        tutti_sched_draft *draft;
        tutti_sched *sched;
        ck_assert_ok(tutti_sched_begin(&shape, &draft));
        write(draft, r);
        ck_assert_ok(tutti_sched_end(draft, &sched));
        a.ranks[r] = sched;
    }
    tutti_status status = tutti_sched_match(a.ranks, 2);
    discard(&a);
    return status;
}

static void exchange(tutti_sched_draft *d, int rank, int64_t n)
{
    tutti_sched_recv(d, !rank, tutti_scratch(0), n);
    tutti_sched_send(d, !rank, tutti_out(0), n);
}

static void good(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void other_order_of_operands(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, 0);
}

static void added_twice(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void nothing_added(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
}

static void one_element_short(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 1);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 1, rank);
}

static void shifted(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(1), 1, rank);
    tutti_sched_reduce(d, tutti_out(1), tutti_scratch(0), 1, rank);
}

static void unwritten(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    tutti_sched_copy(d, tutti_out(0), tutti_scratch(2), 1);
}

static void never_received(tutti_sched_draft *d, int rank)
{
    good(d, rank);
    if (!rank) tutti_sched_send(d, 1, tutti_out(0), 1);
}

static void sizes_differ(tutti_sched_draft *d, int rank)
{
    tutti_sched_recv(d, !rank, tutti_scratch(0), 2 - rank);
    tutti_sched_send(d, !rank, tutti_out(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void circle(tutti_sched_draft *d, int rank)
{
    tutti_sched_recv(d, !rank, tutti_out(0), 2);
    tutti_sched_send(d, !rank, tutti_out(0), 2);
}

START_TEST(match_refuses_what_is_wrong)
{
    static const hand wrong[] = {other_order_of_operands, added_twice, nothing_added,
        one_element_short, shifted, unwritten, never_received, sizes_differ, circle};
    ck_assert_ok(match_pair(good, 0));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(
            match_pair(wrong[i], 0) == TUTTI_ERR_MISMATCH, "wrong schedule %d passed", (int)i);
}
END_TEST

/* Rank 0 before rank 1, in accumulators. */
static void good_wide(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_copy(d, tutti_wide(0), rank ? tutti_scratch(0) : tutti_out(0), 2);
    tutti_sched_reduce(d, tutti_wide(0), rank ? tutti_out(0) : tutti_scratch(0), 2, 0);
    tutti_sched_copy(d, tutti_out(0), tutti_wide(0), 2);
}

/* One addition rounds once, whichever way. */
static void wide_on_one_rank(tutti_sched_draft *d, int rank)
{
    (rank ? good_wide : good)(d, rank);
}

static void sent_wide(tutti_sched_draft *d, int rank)
{
    tutti_sched_copy(d, tutti_wide(0), tutti_out(0), 2);
    tutti_sched_recv(d, !rank, tutti_scratch(0), 2);
    tutti_sched_send(d, !rank, tutti_wide(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_scratch(0), 2, rank);
}

static void combined_from_wide(tutti_sched_draft *d, int rank)
{
    exchange(d, rank, 2);
    tutti_sched_copy(d, tutti_wide(0), tutti_scratch(0), 2);
    tutti_sched_reduce(d, tutti_out(0), tutti_wide(0), 2, rank);
}

START_TEST(match_refuses_what_no_accumulator_does)
{
    static const hand wrong[] = {sent_wide, combined_from_wide};
    ck_assert_ok(match_pair(good_wide, 1));
    ck_assert_ok(match_pair(wide_on_one_rank, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(
            match_pair(wrong[i], 1) == TUTTI_ERR_MISMATCH, "wrong schedule %d passed", (int)i);
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

START_TEST(sizes_beyond_32_bits_are_planned_in_elements)
{
    int64_t count = ((int64_t)5 << 31) + 3, sum = 0;
    const tutti_algorithm *automatic = tutti_algorithm_find(NULL);
    const tutti_choice_key key = {.kind = TUTTI_ALLREDUCE, .P = 3, .count = count, .element = 8};
    tutti_choice choice = tutti_coll_choose(automatic, &key);
    all a = build(&rows[0], 3, 0, count, choice.segment, 1);
    for (int i = 0; i < a.ranks[0]->n; i++)
        if (a.ranks[0]->step[i].kind == TUTTI_STEP_REDUCE) sum += a.ranks[0]->step[i].count;
    int64_t offset, own, other;
    tutti_coll_block(count, 3, 0, &offset, &own);
    tutti_coll_block(count, 3, 2, &offset, &other);
    ck_assert_int_eq(sum, own + other);
    ck_assert_int_lt(a.ranks[0]->n, 30000); /* of 8192 segments */
    discard(&a);
}
END_TEST

/* What auto takes for an allreduce of elements of 4 bytes. */
static void choose(int P, int near, int64_t count, int wide, const char *name)
{
    const tutti_choice_key key = {
        .kind = TUTTI_ALLREDUCE, .P = P, .near = near, .count = count, .element = 4, .wide = wide};
    tutti_choice choice = tutti_coll_choose(tutti_algorithm_find("auto"), &key);
    ck_assert_str_eq(choice.algorithm->name, name);
    ck_assert_int_eq(choice.wide, !strcmp(name, "direct"));
}

START_TEST(choice_is_as_documented)
{
    const tutti_algorithm *automatic = tutti_algorithm_find("auto");
    static const struct {
        int P, near;
        int64_t count;
        const char *name;
    } wanted[] = {
        {2, 0, 65536, "recursive-doubling"},
        {2, 0, 65537, "ring"},
        {9, 0, 1024, "recursive-doubling"},
        {4, 0, 1025, "rsag"},
        {4, 0, 32768, "rsag"},
        {4, 0, 32769, "ring"},
        {3, 0, 1025, "ring"},
        {2, 1, 1000, "recursive-doubling"},
        {3, 1, 1001, "rsag"},
        {2, 1, 2000, "rsag"},
        {2, 1, 2001, "recursive-doubling"},
        {2, 1, 16383, "recursive-doubling"},
        {2, 1, 16384, "ring"},
        {4, 1, 16384, "rsag"},
        {3, 1, 16384, "ring"},
        {4, 1, 65536, "ring"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        choose(wanted[i].P, wanted[i].near, wanted[i].count, 0, wanted[i].name);
    choose(2, 0, 65537, 1, "ring");
    choose(3, 0, 1024, 1, "recursive-doubling");
    choose(3, 0, 1025, 1, "direct");
    choose(64, 1, 1024, 1, "recursive-doubling");
    choose(4, 1, 1025, 1, "direct");
    choose(4, 0, 1 << 20, 1, "direct");
    tutti_choice_key key = {.kind = TUTTI_BROADCAST, .P = 4, .count = 1 << 20, .element = 4};
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_tree_broadcast);
    key.kind = TUTTI_REDUCE_SCATTER;
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_ring_reduce_scatter);
    key.wide = 1;
    ck_assert(tutti_coll_choose(automatic, &key).build == tutti_sched_direct_reduce_scatter);
    ck_assert_int_eq(tutti_coll_choose(automatic, &key).wide, 1);
    ck_assert_int_eq(tutti_coll_choose(tutti_algorithm_find("ring"), &key).wide, 0);
    ck_assert_ptr_null(tutti_algorithm_find("bubble"));
    ck_assert_ptr_eq(tutti_algorithm_find(NULL), automatic);
    ck_assert_int_eq(tutti_algorithm_is_library("mpi"), 1);
    ck_assert_int_eq(tutti_algorithm_is_library("ring"), 0);
    char text[256], small[8];
    ck_assert_str_eq(tutti_algorithm_names(text, sizeof text),
        "auto, ring, recursive-doubling, tree, rsag, direct, mpi");
    ck_assert_str_eq(tutti_algorithm_names(small, sizeof small), "auto, r");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched");
    TCase *tcase = testing_case(suite, "sched");
    tcase_add_loop_test(tcase, every_schedule_is_proved, 0, ROWS);
    tcase_add_test(tcase, messages_are_proved);
    tcase_add_test(tcase, every_root_is_proved);
    tcase_add_loop_test(tcase, extra_vectors_are_proved, 0, ROWS);
    tcase_add_loop_test(tcase, parts_of_any_length_are_proved, 0, ROWS);
    tcase_add_test(tcase, order_of_ranks_is_proved);
    tcase_add_test(tcase, one_rounding_is_proved);
    tcase_add_test(tcase, arrivals_take_turns);
    tcase_add_loop_test(tcase, pictures_are_golden, 0, ROWS);
    tcase_add_test(tcase, prices_are_the_formulas);
    tcase_add_test(tcase, prices_of_direct_are_the_formulas);
    tcase_add_test(tcase, prices_of_parts_are_the_formulas);
    tcase_add_test(tcase, pipelining_pays);
    tcase_add_test(tcase, local_sums_are_hidden);
    tcase_add_test(tcase, match_refuses_what_is_wrong);
    tcase_add_test(tcase, match_refuses_what_no_accumulator_does);
    tcase_add_test(tcase, blocks_tile_the_vector);
    tcase_add_test(tcase, sizes_beyond_32_bits_are_planned_in_elements);
    tcase_add_test(tcase, choice_is_as_documented);
    return testing_run(suite);
}
