/* dag/graph: shapes, tensors, nodes, marks, edges, print and dot. */
#include "dag/graph/edges.h"
#include "dag/graph/graph.h"
#include "tests/support/graph_print.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <time.h>

static int tensor(tutti_graph *g, const char *name)
{
    int t;
    ck_assert_ok(
        tutti_graph_tensor(g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(2, 3), &t));
    return t;
}

static int node(tutti_graph *g, const char *name, int accesses, const tutti_access access[])
{
    int n, desc = 42;
    ck_assert_ok(tutti_graph_kernel(g, name, NULL, &desc, sizeof desc, accesses, access, &n));
    return n;
}

static char *captured(tutti_graph *g, void (*print)(tutti_graph *, FILE *))
{
    static char *text; /* static: gcc 12 takes what strstr returns for a pointer to a variable of this block */
    static size_t size;
    FILE *out = open_memstream(&text, &size);
    print(g, out);
    fclose(out);
    return text;
}

START_TEST(shapes)
{
    tutti_shape s = tutti_shape_of(64, 32, 32, 16);
    char text[64];
    ck_assert_int_eq(tutti_shape_count(&s), 64 * 32 * 32 * 16);
    ck_assert_str_eq(tutti_shape_print(&s, text, sizeof text), "(64,32,32,16)");
    ck_assert_str_eq(tutti_shape_print(&s, text, 6), "(64,3");
    tutti_shape huge = tutti_shape_of(INT64_MAX, 2), negative = tutti_shape_of(-1),
                scalar = {.rank = 0};
    ck_assert_int_eq(tutti_shape_count(&huge), -1);
    ck_assert_int_eq(tutti_shape_count(&negative), -1);
    ck_assert_int_eq(tutti_shape_count(&scalar), 1);
    ck_assert(!tutti_shape_equal(&s, &huge));
    ck_assert(tutti_shape_equal(&s, &s));
}
END_TEST

START_TEST(many_tensors_are_found_by_name)
{
    enum { TENSORS = 100000 };
    tutti_graph *g;
    char name[32];
    const clock_t began = clock();
    ck_assert_ok(tutti_graph_new(&g));
    ck_assert_int_eq(tutti_graph_find(g, "t0"), -1);
    for (int i = 0; i < TENSORS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(tensor(g, name), i);
    }
    for (int i = 0; i < TENSORS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        ck_assert_int_eq(tutti_graph_find(g, name), i);
    }
    ck_assert_int_eq(tutti_graph_find(g, "t"), -1);
    const double used_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    ck_assert_msg(used_s < 1, "%d tensors take %.2f s", TENSORS, used_s);
    tutti_graph_free(g);
}
END_TEST

START_TEST(bad_input_is_refused)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a"), t, n;
    ck_assert_int_eq(
        tutti_graph_tensor(g, "a", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(1), &t),
        TUTTI_ERR_INVAL);
    ck_assert_int_eq(
        tutti_graph_tensor(g, "b", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(INT64_MAX, 9), &t),
        TUTTI_ERR_INVAL);
    tutti_access twice[] = {{a, TUTTI_READ}, {a, TUTTI_WRITE}}, unknown[] = {{a + 1, TUTTI_READ}};
    ck_assert_int_eq(tutti_graph_kernel(g, "n", NULL, NULL, 0, 2, twice, &n), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_kernel(g, "n", NULL, NULL, 0, 1, unknown, &n), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_mark(g, &(tutti_mark){.tensor = 5}, &n), TUTTI_ERR_INVAL);
    int plain = node(g, "plain", 1, (tutti_access[]){{a, TUTTI_WRITE}});
    ck_assert_int_eq(tutti_graph_set_collective(g, plain, "x", 1), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_set_place(g, 99, (tutti_place){0}), TUTTI_ERR_INVAL);
    ck_assert_int_eq(
        tutti_graph_add_access(g, plain, (tutti_access){a, TUTTI_READ}), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_nodes(g), 1);
    tutti_graph_free(g);
    tutti_graph_free(NULL);
}
END_TEST

START_TEST(bytes_of_a_node)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a"), b = tensor(g, "b"), c = tensor(g, "c"), each = 2 * 3 * 4;
    int n =
        node(g, "n", 3, (tutti_access[]){{a, TUTTI_READ}, {b, TUTTI_WRITE}, {c, TUTTI_READWRITE}});
    ck_assert_int_eq(tutti_graph_node_bytes(g, n), 4 * each);
    tutti_graph_free(g);
}
END_TEST

static void print_first(tutti_graph *g, FILE *out)
{
    tutti_graph_print(g, 0, out);
}

static void print_dot(tutti_graph *g, FILE *out)
{
    ck_assert_ok(tutti_edges_dot(g, 0, out));
}

static tutti_graph *sample(void)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int x = tensor(g, "x"), w = tensor(g, "w"), dw = tensor(g, "d.w"), section, mark;
    ck_assert_ok(tutti_graph_section(g, "train", &section));
    node(g, "backward", 2, (tutti_access[]){{x, TUTTI_READ}, {dw, TUTTI_WRITE}});
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = dw}, &mark));
    node(g, "update", 2, (tutti_access[]){{dw, TUTTI_READ}, {w, TUTTI_READWRITE}});
    ck_assert_ok(tutti_graph_section(g, "eval", &section));
    node(g, "forward", 2, (tutti_access[]){{w, TUTTI_READ}, {x, TUTTI_WRITE}});
    ck_assert_int_eq(section, 1);
    return g;
}

START_TEST(print_before_and_after_placing)
{
    tutti_graph *g = sample();
    char *text = captured(g, print_first);
    ck_assert_str_eq(text, "0 backward: x r, d.w w\n"
                           "1 d.w.sum (sum over ranks): d.w rw\n"
                           "2 update: d.w r, w rw\n");
    free(text);
    int chain;
    ck_assert_ok(
        tutti_graph_tensor(g, "chain", TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){0}, &chain));
    ck_assert_uint_eq(tutti_graph_get_tensor(g, chain)->bytes, 0);
    ck_assert_ok(tutti_graph_set_collective(g, 1, "desc", 5));
    ck_assert_ok(tutti_graph_set_place(g, 1, (tutti_place){.lane = 2, .index = 5}));
    ck_assert_ok(tutti_graph_add_access(g, 1, (tutti_access){chain, TUTTI_CHAIN}));
    text = captured(g, print_first);
    ck_assert_ptr_nonnull(
        strstr(text, "1 d.w.sum (collective): d.w rw, chain chain  @ lane 2, index 5\n"));
    free(text);
    ck_assert_str_eq(tutti_graph_get_node(g, 1)->desc, "desc");
    tutti_graph_free(g);
}
END_TEST

START_TEST(dot_shows_edges)
{
    tutti_graph *g = sample();
    char *text = captured(g, print_dot);
    ck_assert_ptr_nonnull(strstr(text, "digraph \"train\""));
    ck_assert_ptr_nonnull(strstr(text, "n0 -> n1;"));
    ck_assert_ptr_nonnull(strstr(text, "n1 -> n2;"));
    ck_assert_ptr_null(strstr(text, "n0 -> n2;"));
    ck_assert_ptr_null(strstr(text, "forward"));
    free(text);
    tutti_graph_free(g);
}
END_TEST

/* Edges seen so far, as a matrix. */
static char seen[8][8];

static void see(void *ctx, int64_t from, int64_t to, tutti_edge edge)
{
    (void)ctx;
    seen[from][to] = edge == TUTTI_EDGE_START ? ':' : 'x';
}

START_TEST(edges_follow_the_rule)
{
    memset(seen, 0, sizeof seen);
    tutti_edges *e;
    ck_assert_ok(tutti_edges_new(2, &e));
    static const tutti_access rows[][2] = {
        {{0, TUTTI_WRITE}},                  /* 0 */
        {{0, TUTTI_READ}},                   /* 1 after 0 */
        {{0, TUTTI_READ}, {1, TUTTI_WRITE}}, /* 2 after 0, beside 1 */
        {{0, TUTTI_READWRITE}},              /* 3 after 0, 1, 2 */
        {{0, TUTTI_READ}, {1, TUTTI_READ}},  /* 4 after 3 and 2 */
        {{0, TUTTI_WRITE}},                  /* 5 after 3, 4 */
    };
    static const int accesses[] = {1, 1, 2, 1, 2, 1};
    for (int i = 0; i < 6; i++)
        ck_assert_ok(tutti_edges_add(e, i, accesses[i], rows[i], see, NULL));
    static const char expected[6][7] = {"-xxx--", "---x--", "---xx-", "----xx", "-----x", "------"};
    for (int from = 0; from < 6; from++)
        for (int to = 0; to < 6; to++)
            ck_assert_msg((seen[from][to] ? seen[from][to] : '-') == expected[from][to],
                "edge %d -> %d: '%c'", from, to, seen[from][to]);
    tutti_edges_free(e);
}
END_TEST

START_TEST(links_of_a_chain_wait_for_starts)
{
    memset(seen, 0, sizeof seen);
    tutti_edges *e;
    ck_assert_ok(tutti_edges_new(2, &e));
    static const tutti_access rows[][2] = {
        {{0, TUTTI_WRITE}},                       /* 0 */
        {{0, TUTTI_READWRITE}, {1, TUTTI_CHAIN}}, /* 1 after 0 */
        {{1, TUTTI_CHAIN}},                       /* 2 once 1 has started */
        {{0, TUTTI_READ}, {1, TUTTI_CHAIN}},      /* 3 after 1, once 2 has started */
        {{1, TUTTI_READ}},                        /* 4 is not a link: after 3 */
        {{1, TUTTI_CHAIN}},                       /* 5 after 4, once 3 has started */
        {{1, TUTTI_WRITE}},                       /* 6 after 5 */
        {{1, TUTTI_CHAIN}},                       /* 7 after 6, which is not a link */
    };
    static const int accesses[] = {1, 2, 1, 2, 1, 1, 1, 1};
    for (int i = 0; i < 8; i++)
        ck_assert_ok(tutti_edges_add(e, i, accesses[i], rows[i], see, NULL));
    static const char expected[8][9] = {"-x------", "--:x----", "---:----", "----x:--", "-----x--",
        "------x-", "-------x", "--------"};
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++) {
            char edge = seen[from][to] ? seen[from][to] : '-';
            ck_assert_msg(edge == expected[from][to], "edge %d -> %d: '%c'", from, to, edge);
        }
    tutti_edges_free(e);
}
END_TEST

/* The numbers that come before a node, as "0 1 2 ". */
static char *before(tutti_reach *reach, const tutti_node *node, int first, int numbers, char *text)
{
    const int *number;
    int count, used = 0;
    ck_assert_ok(tutti_reach_add(reach, node, first, numbers, &number, &count));
    text[0] = '\0';
    for (int i = 0; i < count; i++) used += sprintf(text + used, "%d ", number[i]);
    return text;
}

START_TEST(nodes_reach_the_nearest_numbers)
{
    enum { A, B, TOKEN };
    const tutti_access first[] = {{A, TUTTI_WRITE}},
                       between[] = {{A, TUTTI_READ}, {B, TUTTI_WRITE}},
                       sum[] = {{B, TUTTI_READWRITE}, {TOKEN, TUTTI_CHAIN}},
                       link[] = {{TOKEN, TUTTI_CHAIN}}, last[] = {{B, TUTTI_READ}};
    char text[64];
    tutti_reach *reach;
    ck_assert_ok(tutti_reach_new(3, &reach));
#define NODE(list)                                                                                 \
    (&(tutti_node){.accesses = (int)(sizeof(list) / sizeof *(list)), .access = (list)})
    ck_assert_str_eq(before(reach, NODE(first), 0, 1, text), "");
    ck_assert_str_eq(
        before(reach, NODE(between), 0, 0, text), "0 "); /* passes on its predecessors */
    ck_assert_str_eq(before(reach, NODE(sum), 1, 2, text), "0 ");
    ck_assert_str_eq(
        before(reach, NODE(link), 3, 1, text), "1 2 "); /* in a chain: as if it ended */
    ck_assert_str_eq(
        before(reach, NODE(last), 0, 0, text), "1 2 "); /* represents its predecessors */
    ck_assert_str_eq(before(reach, &(tutti_node){0}, 0, 0, text), "");
#undef NODE
    tutti_reach_free(reach);
    tutti_reach_free(NULL);
}
END_TEST

START_TEST(many_tensors_and_nodes)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%d", i);
        int t = tensor(g, name);
        node(g, name, 1, (tutti_access[]){{t, TUTTI_WRITE}});
        tutti_graph_set_priority(g, i, i);
    }
    ck_assert_int_eq(tutti_graph_tensors(g), 500);
    ck_assert_int_eq(tutti_graph_find(g, "t499"), 499);
    ck_assert_int_eq(tutti_graph_find(g, "t500"), -1);
    ck_assert_int_eq(tutti_graph_get_node(g, 123)->priority, 123);
    ck_assert_str_eq(tutti_graph_section_name(g, 0), "main");
    tutti_graph_free(g);
}
END_TEST

static int mark(tutti_graph *g, const char *name, int64_t count, tutti_dtype dtype)
{
    int t, n;
    ck_assert_ok(
        tutti_graph_tensor(g, name, TUTTI_ROLE_GRADIENT, dtype, tutti_shape_of(count), &t));
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = t}, &n));
    return n;
}

START_TEST(fused_marks_share_a_block)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int marks[] = {
        mark(g, "a", 3, TUTTI_F32), mark(g, "b", 17, TUTTI_F32), mark(g, "c", 1, TUTTI_F32)};
    ck_assert_ok(tutti_graph_fuse(g, 3, marks));
    static const size_t offsets[] = {0, 64, 192};
    for (int t = 0; t < 3; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(g, t);
        ck_assert_int_eq(tensor->block, 0);
        ck_assert_uint_eq(tensor->offset, offsets[t]);
        ck_assert_uint_eq(tensor->block_bytes, 196);
        ck_assert_int_eq(tutti_node_runs(tutti_graph_get_node(g, marks[t])), 0);
        ck_assert_int_eq(
            tutti_graph_get_node(g, marks[t])->kind, t < 2 ? TUTTI_NODE_ABSORBED : TUTTI_NODE_MARK);
    }
    const tutti_node *last = tutti_graph_get_node(g, marks[2]);
    ck_assert_str_eq(last->name, "c.sum+2");
    ck_assert_int_eq(last->accesses, 3);
    for (int a = 0; a < 3; a++) ck_assert_int_eq(last->access[a].tensor, a);
    ck_assert_int_eq(tutti_graph_fuse(g, 1, marks), TUTTI_ERR_INVAL); /* already fused */
    tutti_graph_free(g);
}
END_TEST

/* A mark of `name` that adds vectors of this size. */
static int mark_of(tutti_graph *g, const char *name, int64_t count, int vectors)
{
    tutti_mark mark = {.vectors = vectors};
    int n;
    for (int k = -1; k < vectors; k++) {
        char vector[32];
        snprintf(vector, sizeof vector, "%s%d", name, k);
        ck_assert_ok(tutti_graph_tensor(g, vector, TUTTI_ROLE_SCRATCH, TUTTI_F32,
            tutti_shape_of(count), k < 0 ? &mark.tensor : &mark.vector[k]));
    }
    ck_assert_ok(tutti_graph_mark(g, &mark, &n));
    return n;
}

/* The sums in one block, the first vectors in another, and so on, all alike. */
START_TEST(fused_vectors_have_blocks_of_their_own)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = mark_of(g, "a", 3, 2), b = mark_of(g, "b", 17, 2), c = mark_of(g, "c", 1, 3);
    ck_assert_int_eq(tutti_graph_fuse(g, 2, (int[]){b, c}), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_graph_fuse(g, 2, (int[]){a, b}));
    const tutti_node *last = tutti_graph_get_node(g, b);
    ck_assert_int_eq(last->accesses, 6);
    for (int i = 0; i < 6; i++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(g, i);
        ck_assert_int_eq(tensor->block, i % 3);
        ck_assert_uint_eq(tensor->offset, i < 3 ? 0 : 64);
        ck_assert_uint_eq(tensor->block_bytes, 64 + 17 * 4);
        ck_assert_int_eq(last->access[i].tensor, i);
        ck_assert_int_eq(last->access[i].mode, i % 3 ? TUTTI_READ : TUTTI_READWRITE);
    }
    int d = mark_of(g, "d", 3, 2);
    node(g, "writer of a vector of d", 1, &(tutti_access){11, TUTTI_WRITE});
    int e = mark_of(g, "e", 3, 2);
    ck_assert_int_eq(tutti_graph_fuse(g, 2, (int[]){d, e}), TUTTI_ERR_INVAL);
    tutti_graph_free(g);
}
END_TEST

START_TEST(vectors_that_a_mark_cannot_add)
{
    tutti_graph *g;
    int n;
    ck_assert_ok(tutti_graph_new(&g));
    for (int t = 0; t < 3; t++) {
        static const tutti_dtype dtype[] = {TUTTI_F32, TUTTI_F32, TUTTI_I32};
        char name[] = {(char)('a' + t), 0};
        ck_assert_ok(
            tutti_graph_tensor(g, name, TUTTI_ROLE_SCRATCH, dtype[t], tutti_shape_of(4), &n));
    }
    ck_assert_ok(
        tutti_graph_tensor(g, "longer", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(5), &n));
    const tutti_mark wrong[] = {{.vectors = 1, .vector = {2}}, {.vectors = 1, .vector = {3}},
        {.vectors = 1, .vector = {0}}, {.vectors = 2, .vector = {1, 1}},
        {.vectors = 1, .vector = {4}}, {.vectors = 1, .vector = {-1}}, {.vectors = -1},
        {.vectors = TUTTI_MARK_VECTORS + 1},
        {.verb = TUTTI_MARK_REDUCE, .vectors = 1, .vector = {1}},
        {.verb = TUTTI_MARK_BROADCAST, .vectors = 1, .vector = {1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(tutti_graph_mark(g, &wrong[i], &n), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_nodes(g), 0);
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.vectors = 1, .vector = {1}}, &n));
    tutti_graph_free(g);
}
END_TEST

/* Half the size, half the offsets; a larger element does not make them larger. */
START_TEST(gaps_are_counted_in_elements)
{
    static const struct {
        tutti_dtype dtype;
        size_t second, third;
    } rows[] = {
        {TUTTI_F32, 64, 192}, {TUTTI_BF16, 32, 96}, {TUTTI_U8, 16, 48}, {TUTTI_F64, 64, 256}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        tutti_graph *g;
        ck_assert_ok(tutti_graph_new(&g));
        int marks[] = {mark(g, "a", 3, rows[r].dtype), mark(g, "b", 17, rows[r].dtype),
            mark(g, "c", 1, rows[r].dtype)};
        ck_assert_ok(tutti_graph_fuse(g, 3, marks));
        ck_assert_uint_eq(tutti_graph_get_tensor(g, 1)->offset, rows[r].second);
        ck_assert_uint_eq(tutti_graph_get_tensor(g, 2)->offset, rows[r].third);
        tutti_graph_free(g);
    }
}
END_TEST

START_TEST(marks_that_cannot_be_fused)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = mark(g, "a", 3, TUTTI_F32), b = mark(g, "b", 3, TUTTI_I32),
        c = mark(g, "c", 3, TUTTI_F32);
    int reader = node(g, "reader of a", 1, &(tutti_access){0, TUTTI_READ});
    int d = mark(g, "d", 3, TUTTI_F32), section;
    ck_assert_ok(tutti_graph_section(g, "second", &section));
    int e = mark(g, "e", 3, TUTTI_F32);
    const int refused[][2] = {{a, b}, {c, c}, {reader, d}, {a, d}, {d, a}, {d, e}, {a, 99}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_int_eq(tutti_graph_fuse(g, 2, refused[i]), TUTTI_ERR_INVAL);
        ck_assert_int_eq(tutti_graph_get_tensor(g, 0)->block_bytes, 12);
    }
    ck_assert_int_eq(tutti_graph_fuse(g, 0, refused[0]), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_graph_fuse(g, 2, (int[]){d, c})); /* the last one, whatever the order */
    ck_assert_int_eq(tutti_graph_get_node(g, c)->kind, TUTTI_NODE_ABSORBED);
    ck_assert_int_eq(tutti_graph_get_node(g, d)->accesses, 2);
    ck_assert_uint_eq(tutti_graph_get_tensor(g, 3)->offset, 0);
    ck_assert_uint_eq(tutti_graph_get_tensor(g, 2)->offset, 64);
    tutti_graph_free(g);
}
END_TEST

/* A tensor that `writer` has written, and the mark that gathers its rows. */
static int rows(tutti_graph *g, const char *name, int64_t ranks, int64_t columns)
{
    tutti_mark mark = {.verb = TUTTI_MARK_ALLGATHER, .rows = 1};
    int n;
    ck_assert_ok(tutti_graph_tensor(
        g, name, TUTTI_ROLE_SCRATCH, TUTTI_I32, tutti_shape_of(ranks, columns), &mark.tensor));
    node(g, "writer", 1, &(tutti_access){mark.tensor, TUTTI_WRITE});
    ck_assert_ok(tutti_graph_mark(g, &mark, &n));
    return n;
}

/* Whoever named one of them names the whole, of which it writes a part. */
START_TEST(joined_marks_have_columns_of_all)
{
    static const size_t offsets[] = {0, 12, 32};
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int marks[3] = {rows(g, "a", 2, 3), rows(g, "b", 2, 5), rows(g, "c", 2, 1)};
    int reader = node(g, "reader of b", 1, &(tutti_access){1, TUTTI_READ});
    ck_assert_ok(tutti_graph_join(g, 3, marks));
    for (int t = 0; t < 3; t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(g, t);
        ck_assert_int_eq(tensor->block, 0);
        ck_assert_uint_eq(tensor->offset, offsets[t]);
        ck_assert_uint_eq(tensor->block_bytes, 72);
        const tutti_node *writer = tutti_graph_get_node(g, marks[t] - 1);
        ck_assert_int_eq(writer->access[0].tensor, 0);
        ck_assert_int_eq(writer->access[0].mode, TUTTI_READWRITE);
        ck_assert_int_eq(
            tutti_graph_get_node(g, marks[t])->kind, t < 2 ? TUTTI_NODE_ABSORBED : TUTTI_NODE_MARK);
    }
    const tutti_tensor *all = tutti_graph_get_tensor(g, 0);
    ck_assert(all->shape.dim[0] == 2 && all->shape.dim[1] == 9 && all->owns == 18);
    ck_assert_uint_eq(all->bytes, 72);
    ck_assert_int_eq(tutti_graph_get_tensor(g, 1)->shape.dim[1], 5);
    ck_assert_int_eq(tutti_graph_get_node(g, reader)->access[0].tensor, 0);
    const tutti_node *last = tutti_graph_get_node(g, marks[2]);
    ck_assert_str_eq(last->name, "c.allgather+2");
    ck_assert(last->accesses == 1 && last->access[0].tensor == 0 && last->mark.tensor == 0);
    ck_assert_int_eq(tutti_graph_join(g, 2, marks), TUTTI_ERR_INVAL); /* already joined */
    tutti_graph_free(g);
}
END_TEST

START_TEST(marks_that_cannot_be_joined)
{
    tutti_graph *g;
    int n, flat;
    ck_assert_ok(tutti_graph_new(&g));
    ck_assert_ok(
        tutti_graph_tensor(g, "flat", TUTTI_ROLE_SCRATCH, TUTTI_I32, tutti_shape_of(6), &flat));
    int a = rows(g, "a", 2, 3), b = rows(g, "b", 3, 3), c = rows(g, "c", 2, 4);
    const tutti_mark plain = {
        .verb = TUTTI_MARK_ALLGATHER, .tensor = tutti_graph_get_node(g, c)->mark.tensor};
    ck_assert_ok(tutti_graph_mark(g, &plain, &n));
    int d = rows(g, "d", 2, 5), e = rows(g, "e", 2, 5);
    node(g, "reader of d and e", 2, (tutti_access[]){{4, TUTTI_READ}, {5, TUTTI_READ}});
    const int refused[][2] = {{a, b}, {c, n}, {a, n}, {d, e}, {a, a}, {a, 99}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_int_eq(tutti_graph_join(g, 2, refused[i]), TUTTI_ERR_INVAL);
        ck_assert_uint_eq(tutti_graph_get_tensor(g, 1)->block_bytes, 24);
    }
    ck_assert_ok(tutti_graph_join(g, 2, (int[]){a, d}));
    const tutti_mark wrong[] = {{.verb = TUTTI_MARK_ALLREDUCE, .tensor = 1, .rows = 1},
        {.verb = TUTTI_MARK_ALLGATHER, .tensor = flat, .rows = 1}};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(tutti_graph_mark(g, &wrong[i], &n), TUTTI_ERR_INVAL);
    tutti_graph_free(g);
}
END_TEST

/* Each verb with the access that orders its mark among the nodes. */
START_TEST(marks_say_what_they_ask_for)
{
    tutti_graph *g;
    int a, n;
    ck_assert_ok(tutti_graph_new(&g));
    a = tensor(g, "a");
    const tutti_mark marks[] = {{.tensor = a, .priority = 3}, {.tensor = a, .group = 2},
        {.verb = TUTTI_MARK_REDUCE_SCATTER, .tensor = a},
        {.verb = TUTTI_MARK_ALLGATHER, .tensor = a},
        {.verb = TUTTI_MARK_REDUCE, .tensor = a, .group = 1},
        {.verb = TUTTI_MARK_BROADCAST, .tensor = a},
        {.verb = TUTTI_MARK_SEND, .tensor = a, .peer = 1, .edge = 4},
        {.verb = TUTTI_MARK_RECV, .tensor = a, .peer = 2, .edge = 5}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        ck_assert_ok(tutti_graph_mark(g, &marks[i], &n));
    char *text = captured(g, print_first);
    ck_assert_str_eq(text, "0 a.sum (sum over ranks): a rw\n"
                           "1 a.sum (allreduce over group 2): a rw\n"
                           "2 a.reduce_scatter (reduce_scatter over ranks): a rw\n"
                           "3 a.allgather (allgather over ranks): a rw\n"
                           "4 a.reduce (reduce over group 1): a rw\n"
                           "5 a.broadcast (broadcast over ranks): a rw\n"
                           "6 a.send (send, rank 1, edge 4): a r\n"
                           "7 a.recv (recv, rank 2, edge 5): a w\n");
    free(text);
    ck_assert_int_eq(tutti_graph_get_node(g, 0)->place.priority, 3);
    ck_assert_str_eq(tutti_verb_name(TUTTI_MARK_VERBS), "unknown");
    const tutti_mark refused[] = {{.verb = TUTTI_MARK_VERBS, .tensor = a},
        {.tensor = a, .group = -1}, {.verb = TUTTI_MARK_REDUCE, .tensor = a, .root = -1},
        {.verb = TUTTI_MARK_SEND, .tensor = a, .peer = -1},
        {.verb = TUTTI_MARK_RECV, .tensor = a, .edge = -1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_int_eq(tutti_graph_mark(g, &refused[i], &n), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_nodes(g), 8);
    tutti_graph_free(g);
}
END_TEST

/* A collective finds the one before it in its section and group. */
START_TEST(collectives_of_a_group_follow_one_another)
{
    static const int group[] = {0, 1, 0, 2, 1, 0}, previous[] = {-1, -1, 0, -1, 1, -1};
    tutti_graph *g;
    int section;
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        if (i == 5) ck_assert_ok(tutti_graph_section(g, "next", &section));
        int n = mark(g, name, 1, TUTTI_F32);
        ck_assert_ok(tutti_graph_set_collective(g, n, "", 1));
        ck_assert_ok(tutti_graph_set_group(g, n, group[i], group[i] == 2));
        ck_assert_int_eq(tutti_graph_previous(g, n), previous[i]);
        ck_assert_int_eq(tutti_graph_get_node(g, n)->edge, group[i] == 2);
    }
    tutti_graph_free(g);
}
END_TEST

START_TEST(rooted_marks_of_one_root_are_fused)
{
    const tutti_verb verb = _i ? TUTTI_MARK_BROADCAST : TUTTI_MARK_REDUCE;
    tutti_graph *g;
    int n[3];
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        const tutti_mark mark = {.verb = verb, .tensor = tensor(g, name), .root = i == 1};
        ck_assert_ok(tutti_graph_mark(g, &mark, &n[i]));
    }
    ck_assert_int_eq(tutti_graph_fuse(g, 2, (int[]){n[0], n[1]}), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_graph_fuse(g, 2, (int[]){n[0], n[2]}));
    tutti_graph_free(g);
}
END_TEST

START_TEST(only_sums_of_one_group_are_fused)
{
    tutti_graph *g;
    int n[5];
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        tutti_mark mark = {.verb = i == 1 ? TUTTI_MARK_REDUCE : TUTTI_MARK_ALLREDUCE,
            .tensor = tensor(g, name),
            .group = i >= 2 && i != 4};
        ck_assert_ok(tutti_graph_mark(g, &mark, &n[i]));
    }
    ck_assert_int_eq(tutti_graph_fuse(g, 2, (int[]){n[0], n[1]}), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_graph_fuse(g, 2, (int[]){n[0], n[2]}), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_graph_fuse(g, 2, (int[]){n[2], n[3]}));
    ck_assert_ok(tutti_graph_fuse(g, 2, (int[]){n[0], n[4]}));
    tutti_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tcase = testing_case(suite, "graph");
    tcase_add_test(tcase, shapes);
    tcase_add_test(tcase, many_tensors_are_found_by_name);
    tcase_add_test(tcase, bad_input_is_refused);
    tcase_add_test(tcase, bytes_of_a_node);
    tcase_add_test(tcase, print_before_and_after_placing);
    tcase_add_test(tcase, dot_shows_edges);
    tcase_add_test(tcase, edges_follow_the_rule);
    tcase_add_test(tcase, links_of_a_chain_wait_for_starts);
    tcase_add_test(tcase, nodes_reach_the_nearest_numbers);
    tcase_add_test(tcase, many_tensors_and_nodes);
    tcase_add_test(tcase, fused_marks_share_a_block);
    tcase_add_test(tcase, fused_vectors_have_blocks_of_their_own);
    tcase_add_test(tcase, vectors_that_a_mark_cannot_add);
    tcase_add_test(tcase, gaps_are_counted_in_elements);
    tcase_add_test(tcase, marks_that_cannot_be_fused);
    tcase_add_test(tcase, joined_marks_have_columns_of_all);
    tcase_add_test(tcase, marks_that_cannot_be_joined);
    tcase_add_test(tcase, marks_say_what_they_ask_for);
    tcase_add_test(tcase, collectives_of_a_group_follow_one_another);
    tcase_add_test(tcase, only_sums_of_one_group_are_fused);
    tcase_add_loop_test(tcase, rooted_marks_of_one_root_are_fused, 0, 2);
    return testing_run(suite);
}
