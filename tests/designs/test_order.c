/* The parts of a step's agreed order: buckets, chunks, what is needed first, the list, the queue that
 * follows it, and observations. Ranks that follow it are in test_designs.c and tests/deadlock. */
#include "dag/base/log.h"
#include "dag/graph/edges.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "designs/design.h"
#include "designs/passes/bucket.h"
#include "designs/queue/observed.h"
#include "designs/passes/priority.h"
#include "designs/queue/queue.h"
#include "designs/passes/chunk.h"
#include "tests/support/testing.h"

#include <limits.h>

/* ---- buckets ---- */

static void add_marks(tutti_graph *g, const char *section, int marks, int64_t kib)
{
    int t, s;
    char name[32];
    ck_assert_ok(tutti_graph_section(g, section, &s));
    for (int i = 0; i < marks; i++) {
        snprintf(name, sizeof name, "%s%d", section, i);
        ck_assert_ok(tutti_graph_tensor(
            g, name, TUTTI_ROLE_GRADIENT, TUTTI_F32, tutti_shape_of(kib * 256), &t));
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t}, NULL));
    }
}

/* KiB of the buckets in order, "64 64 16 16 " */
static const char *bucket_sizes(const tutti_graph *g, char text[128])
{
    size_t used = 0;
    text[0] = '\0';
    for (int n = 0; n < tutti_graph_nodes(g); n++) {
        const tutti_node *node = tutti_graph_get_node(g, n);
        if (node->kind != TUTTI_NODE_MARK) continue;
        size_t bytes = tutti_graph_get_tensor(g, node->access[0].tensor)->block_bytes;
        used += (size_t)snprintf(text + used, 128 - used, "%zu ", bytes >> 10);
    }
    return text;
}

START_TEST(buckets_get_smaller_towards_the_end)
{
    static const struct {
        int marks;
        int64_t kib, limit_kib;
        const char *sizes;
    } rows[] = {{64, 4, 64, "64 64 64 32 16 16 "}, {8, 4, 1024, "16 16 "},
        {6, 100, 400, "300 100 100 100 "}, {3, 4, 8, "8 4 "}, {4, 100, 50, "100 100 100 100 "},
        {64, 4, 0, NULL}};
    char text[128], twice[256];
    for (int i = 0; rows[i].sizes; i++) {
        tutti_graph *g;
        ck_assert_ok(tutti_graph_new(&g));
        add_marks(g, "one", rows[i].marks, rows[i].kib);
        add_marks(g, "two", rows[i].marks, rows[i].kib); /* a new section ends the old one */
        ck_assert_ok(tutti_bucket_fuse(g, rows[i].limit_kib << 10));
        snprintf(twice, sizeof twice, "%s%s", rows[i].sizes, rows[i].sizes);
        ck_assert_str_eq(bucket_sizes(g, text), twice);
        tutti_graph_free(g);
    }
}
END_TEST

/* Appends marks of 4 KiB: 'f' float32, 'd' float64; or 'r', a node that reads the first mark's sum. */
static void add_typed(tutti_graph *g, const char *kinds)
{
    static const tutti_sum_desc desc = {.count = 1024, .inputs = 1};
    int first = -1, t;
    for (int i = 0; kinds[i]; i++) {
        const char name[] = {kinds[i], (char)('0' + i), 0};
        tutti_dtype dtype = kinds[i] == 'd' ? TUTTI_F64 : TUTTI_F32;
        int64_t count = 4096 / (int64_t)tutti_dtype_bytes(dtype);
        ck_assert_ok(
            tutti_graph_tensor(g, name, TUTTI_ROLE_GRADIENT, dtype, tutti_shape_of(count), &t));
        if (first < 0) first = t;
        if (kinds[i] != 'r') {
            ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t}, NULL));
            continue;
        }
        ck_assert_ok(tutti_graph_kernel(g, name, &tutti_op_sum, &desc, sizeof desc, 2,
            (tutti_access[]){{first, TUTTI_READ}, {t, TUTTI_WRITE}}, NULL));
    }
}

/* Types that alternate still share buckets, and a use of one type's sum closes only its bucket. */
START_TEST(each_type_has_its_bucket)
{
    static const struct {
        const char *kinds, *sizes;
    } rows[] = {{"fdfdfd", "12 12 "}, {"fdfrdf", "8 8 4 "}, {"ffff", "16 "}};
    char text[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_graph *g;
        ck_assert_ok(tutti_graph_new(&g));
        add_typed(g, rows[i].kinds);
        ck_assert_ok(tutti_bucket_fuse(g, 1 << 20));
        ck_assert_str_eq(bucket_sizes(g, text), rows[i].sizes);
        tutti_graph_free(g);
    }
}
END_TEST

/* Marks of 4 KiB, by a letter each: a and b, sums over groups 1 and 2; A, an urgent sum over group 1; G, a gather
 * over group 1. */
static void add_grouped(tutti_graph *g, const char *kinds)
{
    for (int i = 0; kinds[i]; i++) {
        const char name[] = {kinds[i], (char)('0' + i), 0};
        tutti_mark mark = {.verb = kinds[i] == 'G' ? TUTTI_MARK_ALLGATHER : TUTTI_MARK_ALLREDUCE,
            .group = kinds[i] == 'b' ? 2 : 1,
            .priority = kinds[i] == 'A'};
        ck_assert_ok(tutti_graph_tensor(
            g, name, TUTTI_ROLE_GRADIENT, TUTTI_F32, tutti_shape_of(1024), &mark.tensor));
        ck_assert_ok(tutti_graph_mark(g, &mark, NULL));
    }
}

START_TEST(each_group_has_its_buckets)
{
    static const struct {
        const char *kinds, *sizes;
    } rows[] = {{"ababab", "12 12 "}, {"aaGaa", "4 16 "}, {"aaAAaa", "8 8 8 "}, {"abGb", "4 4 8 "}};
    char text[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_graph *g;
        ck_assert_ok(tutti_graph_new(&g));
        add_grouped(g, rows[i].kinds);
        ck_assert_ok(tutti_bucket_fuse(g, 1 << 20));
        ck_assert_str_eq(bucket_sizes(g, text), rows[i].sizes);
        tutti_graph_free(g);
    }
}
END_TEST

/* ---- chunks ---- */

static tutti_graph *graph_of(int64_t count, int holds)
{
    tutti_graph *g;
    int t, node;
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE, .count = count};
    ck_assert_ok(tutti_graph_new(&g));
    ck_assert_ok(
        tutti_graph_tensor(g, "t", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(count), &t));
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t}, &node));
    ck_assert_ok(tutti_graph_set_collective(g, node, &args, sizeof args));
    ck_assert_ok(tutti_graph_set_place(g, node, (tutti_place){.holds = holds}));
    return g;
}

/* Two groups and an edge in turn: none moves another's lanes, an edge stays on its one lane, and only
 * sums are cut. */
START_TEST(each_group_has_its_lanes)
{
    static const struct {
        int group, edge;
        tutti_coll_kind kind;
        int64_t index;
        int lane, lanes, chunks;
    } rows[] = {{1, 0, TUTTI_ALLREDUCE, 0, 0, 3, 2}, {2, 0, TUTTI_BROADCAST, 0, 0, 3, 1},
        {3, 1, TUTTI_BROADCAST, 0, 0, 1, 1}, {1, 0, TUTTI_ALLREDUCE, 1, 2, 3, 2},
        {2, 0, TUTTI_ALLREDUCE, 1, 1, 3, 2}, {3, 1, TUTTI_BROADCAST, 1, 0, 1, 1},
        {1, 0, TUTTI_REDUCE, 2, 1, 3, 1}, {0, 0, TUTTI_ALLREDUCE, 0, 0, 3, 2}};
    enum { ROWS = sizeof rows / sizeof *rows };
    tutti_graph *g;
    int node[ROWS];
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < ROWS; i++) {
        const tutti_coll_args args = {
            .kind = rows[i].kind, .dtype = TUTTI_F32, .count = 64, .group = rows[i].group};
        const char name[] = {'t', (char)('0' + i), 0};
        int t;
        ck_assert_ok(
            tutti_graph_tensor(g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(64), &t));
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t}, &node[i]));
        ck_assert_ok(tutti_graph_set_collective(g, node[i], &args, sizeof args));
        ck_assert_ok(tutti_graph_set_group(g, node[i], rows[i].group, rows[i].edge));
    }
    ck_assert_ok(tutti_design_find("concurrent")->place(g, 3));
    ck_assert_ok(tutti_chunk_cut(g, 128, 3));
    for (int i = 0; i < ROWS; i++) {
        const tutti_place *place = &tutti_graph_get_node(g, node[i])->place;
        ck_assert_int_eq((int)place->index, (int)rows[i].index);
        ck_assert_int_eq(place->lane, rows[i].lane);
        ck_assert_int_eq(place->lanes, rows[i].lanes);
        ck_assert_int_eq(tutti_chunk_count(place), rows[i].chunks);
    }
    tutti_graph_free(g);
}
END_TEST

START_TEST(chunks_are_the_whole_and_no_larger_than_asked_for)
{
    static const int64_t counts[] = {1, 2, 9, 1000, 1024, 4099, 65537, 262145, 1000003};
    static const int64_t bytes[] = {0, 1, 4, 40, 4000, 4100, 65536, 100001, 1 << 20};
    char buffer[2];
    int64_t count = counts[_i];
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++) {
        tutti_graph *g = graph_of(count, 0);
        ck_assert_ok(tutti_chunk_cut(g, bytes[b], 3));
        const tutti_node *node = tutti_graph_get_node(g, 0);
        int chunks = tutti_chunk_count(&node->place);
        int64_t at = 0;
        if (!bytes[b] || count * 4 <= bytes[b]) ck_assert_int_eq(chunks, 1);
        for (int i = 0; i < chunks; i++) {
            tutti_coll_args all = *(const tutti_coll_args *)node->desc;
            all.recv = buffer;
            all.extra[all.extras++] = buffer + 1;
            tutti_coll_args part = tutti_chunk_args(&all, chunks, i);
            ck_assert_int_eq((char *)part.recv - buffer, at * 4);
            ck_assert_int_eq((const char *)part.extra[0] - buffer, at * 4 + 1);
            ck_assert_int_gt(part.count, 0);
            if (bytes[b] >= 4 && count * 4 / 2000 < bytes[b])
                ck_assert_int_le(part.count * 4, bytes[b]);
            ck_assert_int_eq(tutti_chunk_lane(&node->place, i), i % 3);
            at += part.count;
        }
        ck_assert_int_eq(at, count);
        tutti_graph_free(g);
    }
    tutti_graph *held = graph_of(count, 1);
    ck_assert_ok(tutti_chunk_cut(held, 4, 1));
    ck_assert_int_eq(tutti_chunk_count(&tutti_graph_get_node(held, 0)->place), 1);
    tutti_graph_free(held);
}
END_TEST

START_TEST(long_chunks_of_any_type_begin_at_a_line)
{
    tutti_dtype dtype = (tutti_dtype)_i;
    size_t bytes = tutti_dtype_bytes(dtype);
    for (int64_t count = 100000; count < 100100; count += 7) {
        const tutti_coll_args args = {
            .kind = TUTTI_ALLREDUCE, .dtype = dtype, .op = TUTTI_SUM, .count = count};
        int64_t next = 0, all = 0;
        tutti_place place = tutti_chunk_place(&args, 2500 * (int64_t)bytes, 1, &next);
        ck_assert_int_ge(place.chunks, 100000 / 2500);
        for (int i = 0; i < place.chunks; i++) {
            if (64 % bytes == 0) ck_assert_uint_eq((size_t)all * bytes % 64, 0);
            all += tutti_chunk_args(&args, place.chunks, i).count;
        }
        ck_assert_int_eq(all, count);
    }
    const tutti_user_op record = {.name = "record", .whole = 1};
    const tutti_coll_args whole = {.kind = TUTTI_ALLREDUCE,
        .dtype = dtype,
        .op = TUTTI_USER_OP,
        .user = &record,
        .count = 100000};
    int64_t next = 0;
    ck_assert_int_eq(tutti_chunk_place(&whole, 2500, 1, &next).chunks, 1);
}
END_TEST

/* ---- what is needed first ---- */

/* forward0 reads w0, forward1 reads w1; then g0 and g1 are summed; n0 = g0, n1 = g1, w = n. */
START_TEST(what_the_next_step_reads_first_is_found)
{
    static const tutti_sum_desc desc = {.count = 1, .inputs = 1};
    tutti_graph *g;
    int t[2][4], node[2], needed;
    ck_assert_ok(tutti_graph_new(&g));
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < 4; k++) {
            char name[8];
            snprintf(name, sizeof name, "%c%d", "wgno"[k], p);
            ck_assert_ok(tutti_graph_tensor(
                g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(1), &t[p][k]));
        }
#define SUM(x, y)                                                                                  \
    ck_assert_ok(tutti_graph_kernel(g, "k", &tutti_op_sum, &desc, sizeof desc, 2,                  \
        (tutti_access[]){{x, TUTTI_READ}, {y, TUTTI_WRITE}}, NULL))
    SUM(t[0][0], t[0][3]);
    SUM(t[1][0], t[1][3]);
    SUM(t[1][3], t[1][1]);
    SUM(t[0][3], t[0][1]);
    for (int p = 1; p >= 0; p--)
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t[p][1]}, &node[p]));
    SUM(t[1][1], t[1][2]);
    SUM(t[1][2], t[1][0]);
    SUM(t[0][1], t[0][2]);
    if (_i) SUM(t[0][2], t[0][0]);
    ck_assert_ok(tutti_reach_next_step(g, node[1], &needed));
    ck_assert_int_eq(needed, 1);
    ck_assert_ok(tutti_reach_next_step(g, node[0], &needed));
    ck_assert_int_eq(needed, _i ? 0 : INT_MAX); /* without the last node nothing reads it */
    tutti_graph_free(g);
}
END_TEST

/* ---- the list ---- */

static void check_order(int pieces, const tutti_piece piece[], double rate, const char *wanted)
{
    int32_t order[64];
    char text[64] = "";
    tutti_priority_order(pieces, piece, rate, order);
    int slots = 0, begin[8];
    for (int p = 0; p < pieces; p++) {
        begin[p] = slots;
        slots += piece[p].chunks;
    }
    for (int s = 0; s < slots; s++) {
        int p = pieces - 1;
        while (order[s] < begin[p]) p--;
        text[s] = (char)('a' + p);
    }
    ck_assert_str_eq(text, wanted);
}

START_TEST(what_is_needed_first_overtakes)
{
    /* A chunk of 1000 bytes takes 10 ms. */
    const tutti_piece three[] = {{.chunks = 3, .bytes = 3000, .needed = 9},
        {.chunks = 3, .bytes = 3000, .needed = 5, .ready_s = 0.004},
        {.chunks = 2, .bytes = 2000, .needed = 1, .ready_s = 0.016}};
    check_order(3, three, 1e-5, "abbccbaa"); /* what is needed last comes at the end */
    check_order(3, three, 1e-7, "aaabbbcc"); /* a fast link: in order of arrival */
    /* Expected at 20 ms; if it came a little later, the others would wait for it. */
    const tutti_piece late[] = {{.chunks = 4, .bytes = 4000, .needed = 9},
        {.chunks = 1, .bytes = 1000, .needed = 1, .ready_s = 0.020}};
    check_order(2, late, 1e-5, "aaaba");
    const tutti_piece equal[] = {{.chunks = 2, .bytes = 2000, .needed = INT_MAX},
        {.chunks = 2, .bytes = 2000, .needed = INT_MAX}};
    check_order(2, equal, 1e-5, "aabb");
}
END_TEST

START_TEST(the_urgent_one_is_played)
{
    const tutti_piece two[] = {{.chunks = 2, .bytes = 2000, .needed = 9},
        {.chunks = 1, .bytes = 1000, .needed = 1, .ready_s = 0.005}};
    ck_assert_double_eq_tol(
        tutti_priority_urgent_s(2, two, 1e-5, (const int32_t[]){0, 1, 2}), 0.030, 1e-9);
    ck_assert_double_eq_tol(
        tutti_priority_urgent_s(2, two, 1e-5, (const int32_t[]){0, 2, 1}), 0.020, 1e-9);
    ck_assert_double_eq_tol(
        tutti_priority_urgent_s(2, two, 1e-5, (const int32_t[]){2, 0, 1}), 0.015, 1e-9);
}
END_TEST

/* A program without a graph: the places are those of the same collectives in one section. */
START_TEST(places_without_a_graph_are_those_of_one_section)
{
    static const int64_t counts[] = {5, 300, 40, 1000, 1, 41};
    enum { LANES = 3, MOST_BYTES = 160, COUNTS = 6 };
    int64_t next = 0;
    int lane = 0;
    for (int i = 0; i < COUNTS; i++) {
        const tutti_coll_args args = {.dtype = TUTTI_F32, .count = counts[i]};
        tutti_place place = tutti_chunk_place(&args, MOST_BYTES, LANES, &next);
        ck_assert_int_eq(tutti_chunk_count(&place), (counts[i] + 39) / 40);
        for (int c = 0; c < tutti_chunk_count(&place); c++, lane++)
            ck_assert_int_eq(tutti_chunk_lane(&place, c), lane % LANES);
    }
    ck_assert_int_eq(next, lane);
    const tutti_coll_args whole = {.kind = TUTTI_BROADCAST, .dtype = TUTTI_F32, .count = 1000};
    tutti_place place = tutti_chunk_place(&whole, MOST_BYTES, LANES, &next);
    ck_assert_int_eq(tutti_chunk_count(&place), 1);
}
END_TEST

START_TEST(a_list_has_every_chunk_once)
{
    unsigned long seed = testing_seed(5);
    for (uint64_t n = 0; n < 2000; n++) {
        tutti_piece piece[8];
        int32_t order[64], begin = 0;
        int pieces = 1 + (int)tutti_rng_below(seed, n, 0, 8), slots = 0, next[8], seen[64] = {0};
        for (int p = 0; p < pieces; p++) {
            uint64_t key = 4 * (uint64_t)p;
            piece[p] = (tutti_piece){.chunks = 1 + (int)tutti_rng_below(seed, n, key + 1, 8),
                .bytes = 1 + (int64_t)tutti_rng_below(seed, n, key + 2, 100000),
                .ready_s = 1e-3 * (double)tutti_rng_below(seed, n, key + 3, 100),
                .needed = (int)tutti_rng_below(seed, n, key + 4, 5)};
            slots += piece[p].chunks;
        }
        tutti_priority_order(pieces, piece, 1e-6, order);
        for (int s = 0; s < slots; s++) ck_assert(!seen[order[s]]++);
        for (int p = 0; p < pieces; begin += piece[p++].chunks) next[p] = begin;
        for (int s = 0; s < slots; s++) { /* chunks of a piece stay in order */
            int p = 0;
            while (p < pieces && next[p] != order[s]) p++;
            ck_assert_int_lt(p, pieces);
            next[p]++;
        }
        tutti_priority_program_order(slots, order);
        ck_assert(tutti_priority_is_program_order(slots, order));
    }
}
END_TEST

/* ---- the queue ---- */

static void reserve(tutti_queue *q, int index, int chunks, int lanes)
{
    int64_t sequence;
    const tutti_place place = {
        .lane = 0, .index = index, .chunks = chunks, .lanes = lanes, .slots = 4};
    ck_assert_ok(tutti_queue_reserve(q, &place, "c", &sequence));
    for (int i = 0; i < chunks; i++) {
        tutti_entry *entry = tutti_queue_get(q, sequence + i);
        entry->args = (tutti_coll_args){.dtype = TUTTI_F32, .count = 25};
        tutti_queue_ready(q, entry);
    }
}

static int64_t startable(tutti_queue *q, int lane)
{
    const tutti_entry *entry = tutti_queue_startable(q, lane);
    return entry ? entry->sequence : -1;
}

START_TEST(a_queue_follows_an_order_and_waits_for_it)
{
    static const int32_t order[] = {3, 1, 2, 0};
    tutti_queue q;
    ck_assert_ok(tutti_queue_open(&q, 1, 1));
    reserve(&q, 0, 4, 1); /* before it: 0, 1, 2, 3 */
    q.ordering = 1;
    q.slots = 4;
    reserve(&q, 0, 3, 1);
    for (int64_t s = 0; s < 4; s++) {
        ck_assert_int_eq(startable(&q, 0), s);
        tutti_queue_start(&q, tutti_queue_get(&q, s));
        tutti_queue_forget(&q, tutti_queue_get(&q, s));
    }
    ck_assert_int_eq(startable(&q, 0), -1); /* the order is not known */
    q.order = order;
    ck_assert_int_eq(startable(&q, 0), -1); /* 7 has the first slot, but is not submitted */
    reserve(&q, 1, 1, 1);
    for (int slot = 0; slot < 4; slot++) {
        int64_t sequence = 4 + order[slot];
        ck_assert_int_eq(startable(&q, 0), sequence);
        ck_assert_ptr_eq(tutti_queue_oldest(&q), tutti_queue_get(&q, sequence));
        tutti_queue_start(&q, tutti_queue_get(&q, sequence));
        ck_assert_int_eq(
            tutti_queue_is_last(&q, tutti_queue_get(&q, sequence)), slot == 3 || !slot);
        tutti_queue_forget(&q, tutti_queue_get(&q, sequence));
        /* Kept until all of the group are gone. */
        ck_assert_int_eq((int)q.lowest, slot == 3 ? 8 : 4);
    }
    ck_assert_ptr_null(tutti_queue_oldest(&q));
    tutti_queue_close(&q);
}
END_TEST

START_TEST(a_window_holds_back_its_own_lane_only)
{
    static const int32_t order[] = {1, 0, 3, 2};
    tutti_queue q;
    ck_assert_ok(tutti_queue_open(&q, 2, 2));
    q.ordering = 1;
    q.slots = 4;
    q.order = order;
    q.window = 100; /* one of them */
    reserve(&q, 0, 4, 2);
    ck_assert_int_eq(startable(&q, 1), 1);
    tutti_queue_start(&q, tutti_queue_get(&q, 1));
    ck_assert_int_eq(startable(&q, 1), -1);
    ck_assert_int_eq(startable(&q, 0), 0);
    tutti_queue_forget(&q, tutti_queue_get(&q, 1));
    ck_assert_int_eq(startable(&q, 1), 3);
    q.window = 0;
    tutti_queue_start(&q, tutti_queue_get(&q, 0));
    ck_assert_int_eq(startable(&q, 0), 2);
    tutti_queue_close(&q);
}
END_TEST

/* ---- what is observed ---- */

START_TEST(the_first_step_is_left_out_and_the_median_counts)
{
    tutti_observed o;
    ck_assert_ok(tutti_observed_open(&o, 2, 3));
    ck_assert_double_eq(tutti_observed_ready_s(&o, 1), 0);
    for (int step = 0; step < 3; step++) {
        double at = 10 * step, late = step == 0 ? 5 : step == 1 ? 0.2 : 0.1;
        int64_t base = 3 * step;
        tutti_observed_ready(&o, base, 0, at);
        tutti_observed_start(&o, base, at);
        tutti_observed_ready(&o, base, 1, at + late);
        tutti_observed_start(&o, base, at + late);
        tutti_observed_end(&o, base, 100, at + late);
        tutti_observed_end(&o, base, 100, at + late + step);
        tutti_observed_start(&o, base, at + late + step + 1);
        tutti_observed_end(&o, base, 200, at + late + step + 2);
        tutti_observed_end(&o, base - 3, 1000, at); /* from an earlier step: too late */
        ck_assert_int_eq(o.steps, step);
    }
    ck_assert_double_eq_tol(tutti_observed_ready_s(&o, 0), 0, 1e-9);
    ck_assert_double_eq_tol(tutti_observed_ready_s(&o, 1), 0.15, 1e-9);
    ck_assert_double_eq_tol(o.seconds_per_byte, (0.2 + 1 + 1) / 400, 1e-9);
    tutti_observed_close(&o);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("order");
    TCase *tcase = testing_case(suite, "order");
    tcase_add_test(tcase, buckets_get_smaller_towards_the_end);
    tcase_add_test(tcase, each_type_has_its_bucket);
    tcase_add_test(tcase, each_group_has_its_buckets);
    tcase_add_test(tcase, each_group_has_its_lanes);
    tcase_add_loop_test(tcase, chunks_are_the_whole_and_no_larger_than_asked_for, 0, 9);
    tcase_add_loop_test(tcase, long_chunks_of_any_type_begin_at_a_line, 0, TUTTI_DTYPE_COUNT);
    tcase_add_loop_test(tcase, what_the_next_step_reads_first_is_found, 0, 2);
    tcase_add_test(tcase, what_is_needed_first_overtakes);
    tcase_add_test(tcase, the_urgent_one_is_played);
    tcase_add_test(tcase, places_without_a_graph_are_those_of_one_section);
    tcase_add_test(tcase, a_list_has_every_chunk_once);
    tcase_add_test(tcase, a_queue_follows_an_order_and_waits_for_it);
    tcase_add_test(tcase, a_window_holds_back_its_own_lane_only);
    tcase_add_test(tcase, the_first_step_is_left_out_and_the_median_counts);
    return testing_run(suite);
}
