/* collectives/sched and choose: schedules are proved, priced and compared with their pictures.
 * TUTTI_TEST_WRITE_GOLDEN=1 writes new pictures. */
#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "collectives/sched/barrier.h"
#include "collectives/sched/direct.h"
#include "collectives/sched/doubling.h"
#include "collectives/sched/forest.h"
#include "collectives/sched/hierarchical.h"
#include "collectives/sched/match.h"
#include "collectives/sched/price.h"
#include "collectives/sched/ring.h"
#include "collectives/sched/rsag.h"
#include "collectives/sched/scan.h"
#include "collectives/sched/scatter_ring.h"
#include "collectives/sched/tree.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/sched_print.h"
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
    {"chain_broadcast", TUTTI_BROADCAST, tutti_sched_chain},
    {"chain_reduce", TUTTI_REDUCE, tutti_sched_chain},
    {"chain_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain},
    {"nomial_broadcast", TUTTI_BROADCAST, tutti_sched_nomial},
    {"nomial_reduce", TUTTI_REDUCE, tutti_sched_nomial},
    {"nomial_allreduce", TUTTI_ALLREDUCE, tutti_sched_nomial},
    {"chain_binomial_broadcast", TUTTI_BROADCAST, tutti_sched_chain_binomial},
    {"chain_binomial_reduce", TUTTI_REDUCE, tutti_sched_chain_binomial},
    {"chain_binomial_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain_binomial},
    {"chain_chain_broadcast", TUTTI_BROADCAST, tutti_sched_chain_chain},
    {"chain_chain_reduce", TUTTI_REDUCE, tutti_sched_chain_chain},
    {"chain_chain_allreduce", TUTTI_ALLREDUCE, tutti_sched_chain_chain},
    {"scatter_ring_broadcast", TUTTI_BROADCAST, tutti_sched_scatter_ring_broadcast},
    {"scatter_ring_reduce", TUTTI_REDUCE, tutti_sched_scatter_ring_reduce},
    {"hierarchical_allreduce", TUTTI_ALLREDUCE, tutti_sched_hierarchical_allreduce},
    {"hierarchical_broadcast", TUTTI_BROADCAST, tutti_sched_hierarchical_broadcast},
    {"hierarchical_reduce", TUTTI_REDUCE, tutti_sched_hierarchical_reduce},
    {"direct_allreduce", TUTTI_ALLREDUCE, tutti_sched_direct_allreduce},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct all {
    int P;
    const tutti_sched *ranks[MOST_RANKS];
} all;

/* Which machine each rank is on. */
static const int hosts[MOST_RANKS] = {0, 0, 1, 1, 0, 0, 2, 3, 3, 3, 4, 5, 4, 4, 5, 5, 2};

/* Every rank's schedule of this shape; counts[r], NULL: none. */
static all build_shape(
    const struct row *row, const tutti_sched_shape *like, int64_t counts[][2 * MOST_RANKS])
{
    all a = {.P = like->P};
    for (int r = 0; r < like->P; r++) {
        tutti_sched_shape shape = *like;
        tutti_sched *sched;
        shape.rank = r;
        if (!like->radix) shape.radix = 2 + like->P % 3; /* of trees */
        if (!like->host) shape.host = hosts;
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

/* The price on a star: a latency, seconds a byte of each host's cable, and of reductions. */
static tutti_sched_price price_on_star(const all *a, size_t element, size_t wide, double latency_us,
    double beta_s_per_byte, double gamma_s_per_byte)
{
    const tutti_point_kind kind = {
        .name = "node", .reduce = gamma_s_per_byte > 0 ? 1 / gamma_s_per_byte : 0};
    tutti_topology *star;
    tutti_sched_price price;
    ck_assert_ok(
        tutti_topology_star(a->P, 1 / beta_s_per_byte, (int64_t)(1e6 * latency_us), &kind, &star));
    ck_assert_ok(tutti_sched_price_of(a->ranks, a->P, element, wide, star, &price));
    tutti_topology_free(star);
    return price;
}

static void print_all(const struct row *row, FILE *out)
{
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
        all a = build_shape(row, &shape, NULL);
        tutti_sched_price price = price_on_star(&a, 1, 1, 1, 1e-9, 0);
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
    const double S = 4 * 840;
    int log2P = 0;
    for (int P = 2; P <= 8; P++) {
        while (1 << log2P < P) log2P++;
        all a = build(&rows[0], P, 0, 840, 0, 1);
        tutti_sched_price price = price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, 2 * (P - 1));
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        double time_s = 2 * (P - 1) * (1e-6 + 1e-9 * S / P) + (P - 1) * 1e-10 * S / P;
        ck_assert_double_eq_tol(price.time_s, time_s, 1e-12);
        discard(&a);

        int power = !(P & (P - 1));
        a = build(&rows[3], P, 0, 840, 0, 1);
        price = price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, power ? log2P : log2P - 1 + 2);
        discard(&a);

        a = build(&rows[4], P, 0, 840, 0, 1);
        price = price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, power ? 2 * log2P : 2 * (log2P - 1) + 2);
        if (power) ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        discard(&a);

        a = build(&rows[6], P, P - 1, 840, 0, 1);
        price = price_on_star(&a, 4, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, most_bits_below(P));
        discard(&a);
    }
}
END_TEST

/* With 2 S / P bytes of a wider accumulator: it, and the other ranks' blocks. */
START_TEST(prices_of_direct_are_the_formulas)
{
    const double S = 2 * 840;
    for (int P = 2; P <= 8; P++) {
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = P, .count = 840, .in_place = 1, .wide = 0};
        all a = build_shape(&rows[ROWS - 1], &shape, NULL);
        shape.wide = 1;
        all b = build_shape(&rows[ROWS - 1], &shape, NULL);
        tutti_sched_price price = price_on_star(&a, 2, 4, 1, 1e-9, 1e-10);
        tutti_sched_price wide = price_on_star(&b, 2, 4, 1, 1e-9, 1e-10);
        ck_assert_int_eq(price.steps, 2);
        ck_assert_int_eq(wide.steps, 2);
        ck_assert_double_eq_tol((double)price.sent_bytes, 2 * S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.sent_bytes, price.sent_bytes);
        ck_assert_double_eq_tol((double)price.reduced_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_int_eq(wide.reduced_bytes, price.reduced_bytes);
        ck_assert_double_eq_tol((double)price.scratch_bytes, S * (P - 1) / P, 1e-6);
        ck_assert_double_eq_tol((double)wide.scratch_bytes, S * (P - 1) / P + 2 * S / P, 1e-6);
        /* Blocks travel beside each other, twice; the last ones that arrive are combined, and in the accumulator
         * rounded, before the second time. */
        double travel_s = 2 * (1e-6 + (P - 1) * 1e-9 * S / P), block_s = 1e-10 * S / P;
        ck_assert_double_eq_tol(price.time_s, travel_s + (P - 1) * block_s, 1e-12);
        ck_assert_double_ge(wide.time_s, price.time_s + block_s - 1e-12);
        discard(&a);
        discard(&b);
    }
}
END_TEST

/* P - 1 parts of S bytes pass through the root's link. */
START_TEST(prices_of_parts_are_the_formulas)
{
    const double S = 4 * 840;
    for (int i = 0; i < ROWS; i++) {
        for (int P = 2; P <= 8; P++) {
            all a = build(&rows[i], P, P / 2, 840, 0, 0);
            tutti_sched_price price = price_on_star(&a, 4, 4, 1, 1e-9, 0);
            if (rows[i].kind == TUTTI_GATHER || rows[i].kind == TUTTI_SCATTER)
                ck_assert_double_eq_tol(price.time_s, 1e-6 + (P - 1) * 1e-9 * S, 1e-12);
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
    all a = build(&rows[0], 4, 0, 1 << 20, 0, 1), b = build(&rows[0], 4, 0, 1 << 20, 1 << 14, 1);
    tutti_sched_price whole = price_on_star(&a, 4, 4, 1, 1e-9, 1e-9);
    tutti_sched_price pipelined = price_on_star(&b, 4, 4, 1, 1e-9, 1e-9);
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
    for (int b = 0; b < BUILDERS; b++) {
        const struct row row = {"", TUTTI_ALLREDUCE, builders[b]};
        tutti_sched_shape shape = {
            .kind = TUTTI_ALLREDUCE, .P = 2, .count = N, .segment = SEGMENT, .in_place = 1};
        all a = build_shape(&row, &shape, NULL);
        shape.extras = 1;
        all g = build_shape(&row, &shape, NULL);
        tutti_sched_price one = price_on_star(&a, 4, 4, 1, 1e-9, 2e-10);
        tutti_sched_price two = price_on_star(&g, 4, 4, 1, 1e-9, 2e-10);
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
            const struct row row = {"forest", kinds[c % 3], tutti_sched_forest};
            const tutti_sched_shape shape = {.kind = row.kind,
                .P = P,
                .root = draw(&at, P),
                .count = draw(&at, 150),
                .segment = draw(&at, 2) * (1 + draw(&at, 20)),
                .in_place = draw(&at, 2),
                .extras = row.kind == TUTTI_BROADCAST ? 0 : draw(&at, 3),
                .forest = f};
            all a = build_shape(&row, &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "P %d, case %d", P, c);
            discard(&a);
            tutti_forest_free(f);
        }
    }
}
END_TEST

/* Ranks on any machines, as many on each or not. */
START_TEST(hierarchies_are_proved)
{
    static const struct row kinds[] = {
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
            all a = build_shape(&kinds[c % 3], &shape, NULL);
            ck_assert_msg(!tutti_sched_match(a.ranks, P), "P %d, case %d", P, c);
            discard(&a);
        }
    }
}
END_TEST

/* Eight ranks on two machines at one switch: every rank's part crosses once each way; in a ring, nearly twice. */
START_TEST(hierarchies_pay)
{
    static const tutti_sched_builder builders[] = {
        tutti_sched_ring_allreduce, tutti_sched_hierarchical_allreduce};
    static const int host[] = {0, 0, 0, 0, 1, 1, 1, 1};
    tutti_topology *t;
    tutti_sched_price p[2];
    ck_assert_ok(tutti_topology_open("two-level:2x4,1Gbit/s", &t));
    for (int b = 0; b < 2; b++) {
        const struct row row = {"", TUTTI_ALLREDUCE, builders[b]};
        const tutti_sched_shape shape = {.kind = TUTTI_ALLREDUCE,
            .P = 8,
            .count = 1 << 22,
            .segment = 15360,
            .in_place = 1,
            .host = host};
        all a = build_shape(&row, &shape, NULL);
        ck_assert_ok(tutti_sched_price_of(a.ranks, 8, 4, 4, t, &p[b]));
        discard(&a);
    }
    ck_assert_double_lt(p[1].time_s, 0.8 * p[0].time_s);
    ck_assert_double_ge(p[1].time_s, 4.0 * (1 << 22) / 125e6);
    tutti_topology_free(t);
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
        const struct row row = {"forest", TUTTI_ALLREDUCE, tutti_sched_forest};
        const tutti_sched_shape shape = {.kind = row.kind,
            .P = P,
            .count = COUNT,
            .segment = segment,
            .in_place = 1,
            .forest = f};
        all a = build_shape(&row, &shape, NULL);
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
        discard(&a);
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

/* A segment takes a latency and its bytes for each hop, and the next follows it: (P - 1) hops, then the other
 * segments. A chain grows by a hop a rank, not by its bytes; a k-nomial tree has the fewest levels; chains under
 * others are between. */
START_TEST(prices_of_trees_are_the_formulas)
{
    enum { N = 1 << 22, SEGMENT = 15360 }; /* 16 MiB */
    double three_s = 0;
    for (int P = 2; P <= 16; P++) {
        const struct row chain = {"", TUTTI_BROADCAST, tutti_sched_chain};
        all a = build(&chain, P, 1, N, SEGMENT, 1);
        double time_s = price_on_star(&a, 4, 4, 50, 8e-9, 0).time_s;
        double first_s = (P - 1) * (50e-6 + 8e-9 * 4 * SEGMENT), rest_s = 8e-9 * 4 * (N - SEGMENT);
        ck_assert_double_eq_tol(time_s, first_s + rest_s, 1e-6);
        if (P == 3) three_s = time_s;
        if (P == 8) ck_assert_double_lt(time_s, 1.05 * three_s);
        discard(&a);
        const struct row reduce = {"", TUTTI_REDUCE, tutti_sched_chain};
        a = build(&reduce, P, P / 2, N, SEGMENT, 1);
        ck_assert_double_eq_tol(price_on_star(&a, 4, 4, 50, 8e-9, 0).time_s, time_s, 1e-6);
        discard(&a);
    }
    const struct row nomial = {"", TUTTI_BROADCAST, tutti_sched_nomial};
    const struct row chains = {"", TUTTI_REDUCE, tutti_sched_chain_binomial};
    const struct row ring = {"", TUTTI_BROADCAST, tutti_sched_scatter_ring_broadcast};
    tutti_sched_shape shape = {.kind = TUTTI_BROADCAST, .P = 16, .count = 1, .radix = 4};
    all a = build_shape(&nomial, &shape, NULL);
    tutti_sched_price p = price_on_star(&a, 4, 4, 50, 8e-9, 0);
    ck_assert_int_eq(p.steps, 2);
    discard(&a);
    shape.kind = TUTTI_REDUCE;
    a = build_shape(&chains, &shape, NULL);
    ck_assert_int_eq(price_on_star(&a, 4, 4, 50, 8e-9, 0).steps, 2 + 3);
    discard(&a);
    a = build(&ring, 16, 5, N, SEGMENT, 1);
    p = price_on_star(&a, 4, 4, 50, 8e-9, 0);
    ck_assert_int_eq(p.sent_bytes, 2 * (int64_t)4 * N / 16 * 15);
    discard(&a);
}
END_TEST

/* SimGrid 3.32 ran these schedules over its SMPI on a star of 1 Gbit/s and 50 us (model CM02 without
 * crosstraffic): 1 MiB of float32 on 16 ranks. There, segments for one rank travel beside each other: in a ring
 * and in halves, whose blocks have few, the first ones arrive later than here. */
START_TEST(prices_are_those_of_simgrid)
{
    static const struct {
        tutti_sched_builder build;
        double smpi_ms, within;
    } wanted[] = {{tutti_sched_ring_allreduce, 17.41, 0.07},
        {tutti_sched_doubling_allreduce, 33.76, 0.01}, {tutti_sched_rsag_allreduce, 25.76, 0.04},
        {tutti_sched_direct_allreduce, 15.90, 0.01}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct row row = {"", TUTTI_ALLREDUCE, wanted[i].build};
        all a = build(&row, 16, 0, 1 << 18, 15360, 1);
        tutti_sched_price price = price_on_star(&a, 4, 4, 50, 8e-9, 0);
        double apart = 1e3 * price.time_s / wanted[i].smpi_ms - 1;
        ck_assert_double_eq_tol(apart, 0, wanted[i].within);
        discard(&a);
    }
}
END_TEST

/* A rank's own time: a moment for each message it sends and receives, one after the other; long messages ask
 * first. */
START_TEST(ranks_take_their_time)
{
    const tutti_point_kind kind = {
        .name = "node", .send_s = 1e-6, .recv_s = 2e-6, .copy = 1e9, .eager = 3000};
    const struct row scatter = {"", TUTTI_SCATTER, tutti_sched_direct_scatter};
    tutti_topology *star;
    tutti_sched_price price;
    ck_assert_ok(tutti_topology_star(3, 1e9, 10000000, &kind, &star));
    all a = build(&scatter, 3, 0, 1000, 0, 0);
    /* The root copies its part (1 us), then sends at 2 us and 3 us. The first message is alone on the root's cable
     * from 12 to 13 us, when it ends; the second takes its place, and its receiver is ready at 16 us. */
    ck_assert_ok(tutti_sched_price_of(a.ranks, 3, 1, 1, star, &price));
    ck_assert_double_eq_tol(price.time_s, 16e-6, 1e-12);
    ck_assert_double_eq_tol(price.share, 2000 / (1e9 * 16e-6), 1e-9);
    discard(&a);
    /* 4 us to copy, sent at 5 and 6 us, 20 us to ask, 10 us on the way. From 35 to 36 us the first is alone, then
     * both share until it ends at 42 us; the second has 1000 bytes left, until 43 us. */
    a = build(&scatter, 3, 0, 4000, 0, 0);
    ck_assert_ok(tutti_sched_price_of(a.ranks, 3, 1, 1, star, &price));
    ck_assert_double_eq_tol(price.time_s, 45e-6, 1e-12);
    ck_assert_int_eq(tutti_sched_price_of(a.ranks, 4, 1, 1, star, &price), TUTTI_ERR_INVAL);
    discard(&a);
    tutti_topology_free(star);
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
    ck_assert_ptr_null(tutti_algorithm_find("ring:4"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:1"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:"));
    ck_assert_ptr_null(tutti_algorithm_find("k-nomial:4x"));
    ck_assert_ptr_eq(tutti_algorithm_find("k-nomial:8"), tutti_algorithm_find("k-nomial"));
    ck_assert_int_eq(tutti_algorithm_radix("k-nomial"), 4);
    ck_assert_int_eq(tutti_algorithm_radix("k-nomial:8"), 8);
    ck_assert_int_eq(tutti_algorithm_radix("chain-chain:1"), 1);
    ck_assert_int_eq(tutti_algorithm_radix("ring"), 0);
    key = (tutti_choice_key){.kind = TUTTI_REDUCE, .P = 4, .count = 9, .element = 4, .radix = 8};
    ck_assert_int_eq(tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).radix, 8);
    ck_assert(
        tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).build == tutti_sched_nomial);
    key.ordered = 1; /* trees do not combine ranks in their order */
    ck_assert(tutti_coll_choose(tutti_algorithm_find("k-nomial:8"), &key).build ==
              tutti_sched_tree_reduce);
    ck_assert_ptr_eq(tutti_algorithm_find(NULL), automatic);
    ck_assert_int_eq(tutti_algorithm_is_library("mpi"), 1);
    ck_assert_int_eq(tutti_algorithm_is_library("ring"), 0);
    char text[512], small[8];
    ck_assert_str_eq(tutti_algorithm_names(text, sizeof text),
        "auto, ring, recursive-doubling, tree, rsag, direct, pipelined-chain, k-nomial, "
        "chain-binomial, chain-chain, scatter-ring, hierarchical, mpi");
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
    tcase_add_test(tcase, random_forests_are_proved);
    tcase_add_test(tcase, hierarchies_are_proved);
    tcase_add_test(tcase, hierarchies_pay);
    tcase_add_test(tcase, segments_do_not_change_sums);
    tcase_add_test(tcase, trees_are_checked);
    tcase_add_test(tcase, prices_of_trees_are_the_formulas);
    tcase_add_test(tcase, prices_are_those_of_simgrid);
    tcase_add_test(tcase, ranks_take_their_time);
    tcase_add_test(tcase, steps_wait_for_what_they_overlap);
    tcase_add_test(tcase, many_steps_are_linked);
    tcase_add_test(tcase, match_refuses_what_is_wrong);
    tcase_add_test(tcase, match_refuses_what_no_accumulator_does);
    tcase_add_test(tcase, blocks_tile_the_vector);
    tcase_add_test(tcase, sizes_beyond_32_bits_are_planned_in_elements);
    tcase_add_test(tcase, choice_is_as_documented);
    return testing_run(suite);
}
