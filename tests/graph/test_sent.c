/* dag/graph/sent.h: which kernels write a tensor only so that it is sent. */
#include "collectives/value/args.h"
#include "dag/graph/sent.h"
#include "tests/support/testing.h"

#include <string.h>

/* A program as text, a node after the other: "w", "m" and "r" are kernels that write, change and read tensor a;
 * "b" one that writes a and tensor z; "s" sends a, and "c" with a link of a chain; "t" adds it over all ranks; "|"
 * begins a section. Answers: of each kernel, F if it is the first of a message that counts, L the last, B both, x
 * in between, - neither; of each other node, S if it is such a message, else -. */
static const struct {
    const char *program, *answers;
} rows[] = {
    {"ws", "BS"}, {"wc", "BS"}, {"wmms", "FxLS"}, {"wsws", "BSBS"}, {"bs", "BS"},
    {"wrs", "---"},                     /* it is read before it is sent */
    {"wsr", "---"},                     /* and afterwards */
    {"wsm", "---"},                     /* it is changed afterwards: that reads it, too */
    {"wss", "---"},                     /* it is sent twice */
    {"wst", "---"},                     /* it is summed, too */
    {"wsrws", "---BS"},                 /* the first time alone */
    {"wrws", "--BS"},                   /* what is sent was written later */
    {"ms", "--"},                       /* it may keep what an earlier step left */
    {"s", "-"},                         /* it is fed */
    {"ws|ws", "BSBS"}, {"ws|r", "---"}, /* another section reads what this one has written */
    {"ws|ms", "----"}, {"w|s", "--"},   /* sections may run in any order */
};

static int add_tensor(tutti_graph *graph, const char *name, tutti_role role)
{
    int t;
    ck_assert_ok(tutti_graph_tensor(graph, name, role, TUTTI_F32, tutti_shape_of(4), &t));
    return t;
}

static int add_node(tutti_graph *graph, char what, int a, int z, int token)
{
    static const tutti_mode modes[] = {
        ['w'] = TUTTI_WRITE, ['b'] = TUTTI_WRITE, ['m'] = TUTTI_READWRITE, ['r'] = TUTTI_READ};
    int n;
    if (!strchr("sct", what)) {
        const tutti_access access[] = {{z, TUTTI_WRITE}, {a, modes[(int)what]}};
        const int both = what == 'b';
        ck_assert_ok(
            tutti_graph_kernel(graph, "kernel", NULL, NULL, 0, 1 + both, access + !both, &n));
        return n;
    }
    const int sends = what != 't';
    const tutti_mark mark = {.verb = sends ? TUTTI_MARK_SEND : TUTTI_MARK_ALLREDUCE, .tensor = a};
    const tutti_coll_args args = {.group = sends};
    ck_assert_ok(tutti_graph_mark(graph, &mark, &n));
    ck_assert_ok(tutti_graph_set_collective(graph, n, &args, sizeof args));
    ck_assert_ok(tutti_graph_set_group(graph, n, sends, sends));
    if (what == 'c')
        ck_assert_ok(tutti_graph_add_access(graph, n, (tutti_access){token, TUTTI_CHAIN}));
    return n;
}

static char answer_of(const tutti_sent_tensors *sent, int n, char what)
{
    const tutti_sent_kernel *k = &sent->kernel[n];
    if (strchr("sct", what)) return sent->message_of[n] == TUTTI_SENT_NONE ? '-' : 'S';
    if (k->message == TUTTI_SENT_NONE) return '-';
    return "xFLB"[k->first + 2 * k->last];
}

/* role: of the tensor; a parameter is read by whoever saves it. */
static void check_program(const char *program, const char *answers, tutti_role role)
{
    tutti_graph *graph;
    tutti_sent_tensors sent;
    char got[16];
    int count = 0, section, node[16];
    char what[16];
    ck_assert_ok(tutti_graph_new(&graph));
    const int z = add_tensor(graph, "z", TUTTI_ROLE_SCRATCH), a = add_tensor(graph, "a", role);
    const int token = add_tensor(graph, "token", TUTTI_ROLE_TOKEN);
    for (const char *c = program; *c; c++) {
        if (*c == '|') {
            ck_assert_ok(tutti_graph_section(graph, "more", &section));
            continue;
        }
        what[count] = *c;
        node[count++] = add_node(graph, *c, a, z, token);
    }
    ck_assert_ok(tutti_sent_tensors_find(graph, &sent));
    for (int i = 0; i < count; i++) got[i] = answer_of(&sent, node[i], what[i]);
    got[count] = 0;
    ck_assert_msg(strcmp(got, answers) == 0, "%s: %s instead of %s", program, got, answers);
    tutti_sent_tensors_free(&sent);
    tutti_graph_free(graph);
}

START_TEST(what_is_only_sent)
{
    check_program(rows[_i].program, rows[_i].answers, TUTTI_ROLE_SCRATCH);
}
END_TEST

START_TEST(what_others_have)
{
    check_program("ws", "--", TUTTI_ROLE_PARAMETER);
    check_program("ws", "--", TUTTI_ROLE_OUTPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sent");
    TCase *sent = testing_case(suite, "sent");
    tcase_add_loop_test(sent, what_is_only_sent, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(sent, what_others_have);
    return testing_run(suite);
}
