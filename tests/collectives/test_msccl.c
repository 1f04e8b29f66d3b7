/* apps/trees/msccl: algorithms of MSCCL are read, proved, and refused where they are wrong. */
#include "apps/trees/msccl.h"
#include "collectives/sched/match.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15, MOST_GPUS = 6, ROUNDS = 3000 };

typedef struct writer {
    char text[MOST];
    int n, s;
} writer;

static void add(writer *w, const char *type, int src, int dst, int after_block, int after_step)
{
    w->n += snprintf(w->text + w->n, (size_t)(MOST - w->n),
        "   <step s=\"%d\" type=\"%s\" srcbuf=\"i\" srcoff=\"%d\" dstbuf=\"o\" dstoff=\"%d\" "
        "cnt=\"1\" "
        "depid=\"%d\" deps=\"%d\" hasdep=\"0\"/>\n",
        w->s++, type, src, dst, after_block, after_step);
}

static void begin_block(writer *w, int id, int send, int recv)
{
    w->s = 0;
    w->n += snprintf(w->text + w->n, (size_t)(MOST - w->n),
        "  <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"0\">\n", id, send, recv);
}

static void put(writer *w, const char *text)
{
    w->n += snprintf(w->text + w->n, (size_t)(MOST - w->n), "%s", text);
}

static int mod(int a, int P)
{
    return (a % P + P) % P;
}

/* A ring: one threadblock for each GPU, as MSCCL's own example. */
static void write_ring(writer *w, int P)
{
    *w = (writer){.n = 0};
    w->n += snprintf(w->text, MOST,
        "<!-- a ring -->\n<algo name=\"ring\" nchannels=\"1\" nchunksperloop=\"%d\" "
        "proto=\"Simple\" "
        "coll=\"allreduce\" inplace=\"1\" ngpus=\"%d\">\n",
        P, P);
    for (int g = 0; g < P; g++) {
        w->n += snprintf(w->text + w->n, (size_t)(MOST - w->n),
            " <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"0\" s_chunks=\"1\">\n", g, P);
        begin_block(w, 0, mod(g + 1, P), mod(g - 1, P));
        add(w, "s", g, g, -1, -1);
        for (int k = 1; k < P - 1; k++) add(w, "rrs", mod(g - k, P), mod(g - k, P), -1, -1);
        add(w, "rrcs", mod(g + 1, P), mod(g + 1, P), -1, -1);
        for (int k = 0; k < P - 2; k++) add(w, "rcs", mod(g - k, P), mod(g - k, P), -1, -1);
        add(w, "r", mod(g + 2, P), mod(g + 2, P), -1, -1);
        put(w, "  </tb>\n </gpu>\n");
    }
    put(w, "</algo>\n");
}

/* GPU 1 sends to GPU 0, which adds, and sends the sum back from another threadblock, when the first is done. */
static void write_pair(writer *w)
{
    *w = (writer){.n = 0};
    put(w, "<?xml version=\"1.0\"?>\n<algo nchunksperloop=\"1\" coll=\"allreduce\" inplace=\"1\" "
           "ngpus=\"2\">\n<gpu id=\"0\" s_chunks=\"1\">\n");
    begin_block(w, 3, 1, -1);
    add(w, "nop", 0, 0, -1, -1);
    add(w, "s", 0, 0, 5, 0);
    put(w, "</tb>\n");
    begin_block(w, 5, -1, 1);
    add(w, "rrc", 0, 0, -1, -1);
    put(w, "</tb></gpu>\n<gpu id=\"1\" s_chunks=\"0\">\n");
    begin_block(w, 0, 0, 0);
    add(w, "s", 0, 0, -1, -1);
    add(w, "r", 0, 0, -1, -1);
    put(w, "</tb></gpu></algo>");
}

/* GPU 0 sends to GPU 1, where a threadblock adds, and another one sends the sum back. */
static void write_two_blocks(writer *w, int waits)
{
    *w = (writer){.n = 0};
    put(w, "<algo nchunksperloop=\"1\" coll=\"allreduce\" inplace=\"1\" ngpus=\"2\">\n"
           "<gpu id=\"0\" s_chunks=\"0\">\n");
    begin_block(w, 0, 1, 1);
    add(w, "s", 0, 0, -1, -1);
    add(w, "r", 0, 0, -1, -1);
    put(w, "</tb></gpu>\n<gpu id=\"1\" s_chunks=\"0\">\n");
    begin_block(w, 0, -1, 0);
    add(w, "rrc", 0, 0, -1, -1);
    put(w, "</tb>\n");
    begin_block(w, 1, 0, -1);
    add(w, "s", 0, 0, waits ? 0 : -1, waits ? 0 : -1);
    put(w, "</tb></gpu></algo>");
}

/* GPUs 1 and 2 send to GPU 0, where a threadblock for each adds to the same chunk. Whichever is first, each GPU gets
 * the sum; but both may add to what the other has not written yet. */
static void write_two_sums(writer *w, int waits)
{
    *w = (writer){.n = 0};
    put(w, "<algo nchunksperloop=\"1\" coll=\"allreduce\" inplace=\"1\" ngpus=\"3\">\n"
           "<gpu id=\"0\" s_chunks=\"0\">\n");
    for (int g = 1; g < 3; g++) {
        begin_block(w, g, g, g);
        add(w, "rrc", 0, 0, waits && g == 2 ? 1 : -1, waits && g == 2 ? 0 : -1);
        add(w, "s", 0, 0, 3 - g, 0);
        put(w, "</tb>\n");
    }
    put(w, "</gpu>\n");
    for (int g = 1; g < 3; g++) {
        put(w, g == 1 ? "<gpu id=\"1\" s_chunks=\"0\">\n" : "<gpu id=\"2\" s_chunks=\"0\">\n");
        begin_block(w, 0, 0, 0);
        add(w, "s", 0, 0, -1, -1);
        add(w, "r", 0, 0, -1, -1);
        put(w, "</tb></gpu>\n");
    }
    put(w, "</algo>");
}

/* Reads, builds and proves. */
static tutti_status prove(const char *text, int64_t chunk)
{
    tutti_msccl *m;
    tutti_sched *ranks[64];
    tutti_lines lines;
    ck_assert_ok(tutti_lines_copy("t", text, &lines));
    tutti_status status = tutti_msccl_read(&lines, &m);
    tutti_lines_close(&lines);
    if (status) return status;
    int gpus = tutti_msccl_gpus(m);
    status = tutti_msccl_build(m, chunk, ranks);
    if (!status) status = tutti_sched_match((const tutti_sched *const *)ranks, gpus);
    for (int g = 0; g < gpus; g++) tutti_sched_free(ranks[g]);
    tutti_msccl_free(m);
    return status;
}

static writer w;

START_TEST(rings_are_proved)
{
    for (int P = 2; P <= MOST_GPUS; P++) {
        write_ring(&w, P);
        ck_assert_ok(prove(w.text, 1));
        ck_assert_ok(prove(w.text, 3));
        /* It has the input and the output apart, too. */
        memcpy(strstr(w.text, "inplace=\"1\""), "inplace=\"0\"", 11);
        ck_assert_ok(prove(w.text, 1));
    }
    write_pair(&w);
    ck_assert_ok(prove(w.text, 2));
    /* Without its wait, the sum is sent before it is there. */
    char *wait = strstr(w.text, "depid=\"5\"");
    memcpy(wait, "depid=\"3\"", 9);
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(prove(w.text, 1), TUTTI_ERR_MISMATCH);
    tutti_log_set_level(TUTTI_LOG_INFO);
}
END_TEST

static void expect_race(const char *says)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(prove(w.text, 1), TUTTI_ERR_MISMATCH);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_msg(strstr(tutti_last_error(), says) != NULL, "%s", tutti_last_error());
}

/* A wait is missing that the order of the text would hide. */
START_TEST(steps_without_an_order_are_found)
{
    write_two_blocks(&w, 1);
    ck_assert_ok(prove(w.text, 1));
    write_two_blocks(&w, 0);
    expect_race("t:9: neither this step nor that of line 12 waits for the other");
    write_two_sums(&w, 1);
    ck_assert_ok(prove(w.text, 1));
    write_two_sums(&w, 0);
    expect_race("t:4: neither this step nor that of line 8 waits for the other");
}
END_TEST

static const struct {
    const char *from, *to, *says;
    tutti_status status;
} wrong[] = {
    {"type=\"rrcs\"", "type=\"rcs\"", "", TUTTI_ERR_MISMATCH}, /* not added */
    {"type=\"rrs\"", "type=\"rsr\"", "t: line 6: type=\"rsr\": must be s, r, rcs",
        TUTTI_ERR_FORMAT},
    {"type=\"s\"", "type=\"r\"", "this step never runs", TUTTI_ERR_FORMAT},
    {"ngpus=\"4\"", "ngpus=\"3\"", "recv=\"3\": must be -1 to 2", TUTTI_ERR_FORMAT},
    {"ngpus=\"4\"", "gpus=\"4\"", "t: line 2: <algo> has no ngpus", TUTTI_ERR_FORMAT},
    {"\"allreduce\"", "\"alltoall\"", "only allreduce is read", TUTTI_ERR_UNSUPPORTED},
    {"inplace=\"1\"", "inplace=\"2\"", "inplace=\"2\": must be 0 to 1", TUTTI_ERR_FORMAT},
    {"srcoff=\"0\"", "srcoff=\"4\"", "srcoff=\"4\": must be 0 to 3", TUTTI_ERR_FORMAT},
    {"srcbuf=\"i\"", "srcbuf=\"x\"", "must be i, o or s", TUTTI_ERR_FORMAT},
    {"send=\"1\"", "send=\"0\"", "sends to its own GPU", TUTTI_ERR_FORMAT},
    {"send=\"1\"", "send=\"2\"", "no rank sends what this step receives", TUTTI_ERR_FORMAT},
    {"depid=\"-1\"", "depid=\"7\"", "this step never runs", TUTTI_ERR_FORMAT},
    {"<algo", "<alga", "<alga>: must be algo", TUTTI_ERR_FORMAT},
    {"cnt=\"1\"", "cnt=\"2\"", "receives another number of chunks", TUTTI_ERR_FORMAT},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

START_TEST(wrong_ones_are_refused)
{
    write_ring(&w, 4);
    char *at = strstr(w.text, wrong[_i].from);
    ck_assert_ptr_nonnull(at);
    size_t from = strlen(wrong[_i].from), to = strlen(wrong[_i].to);
    memmove(at + to, at + from, strlen(at + from) + 1);
    memcpy(at, wrong[_i].to, to);
    tutti_log_set_level(TUTTI_LOG_NONE);
    tutti_status status = prove(w.text, 1);
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_msg(status == wrong[_i].status && strstr(tutti_last_error(), wrong[_i].says),
        "'%s': %d, %s", wrong[_i].to, status, tutti_last_error());
}
END_TEST

/* Bytes of right ones are changed: whatever comes, it is read and proved, or refused. */
START_TEST(damaged_ones_are_refused)
{
    static const char bytes[] = "<>/=\"- 0123456789rscioe\n";
    unsigned long seed = testing_seed(45);
    uint64_t at = 0;
    int right = 0, rounds = testing_fewer() ? ROUNDS / 10 : ROUNDS;
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int i = 0; i < rounds; i++) {
        if (i % 2)
            write_ring(&w, 3);
        else
            write_pair(&w);
        for (uint64_t k = tutti_rng_below(seed, 2, at++, 3); k; k--) {
            size_t where = (size_t)tutti_rng_below(seed, 2, at++, (uint64_t)w.n);
            w.text[where] = bytes[tutti_rng_below(seed, 2, at++, sizeof bytes - 1)];
        }
        tutti_status status = prove(w.text, 1);
        ck_assert_msg(!status || status == TUTTI_ERR_FORMAT || status == TUTTI_ERR_MISMATCH ||
                          status == TUTTI_ERR_UNSUPPORTED,
            "%d, %s", status, tutti_last_error());
        right += !status;
    }
    tutti_log_set_level(TUTTI_LOG_INFO);
    ck_assert_int_gt(right, rounds / 10);
    ck_assert_int_lt(right, 9 * rounds / 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("msccl");
    TCase *tcase = testing_case(suite, "msccl");
    tcase_add_test(tcase, rings_are_proved);
    tcase_add_test(tcase, steps_without_an_order_are_found);
    tcase_add_loop_test(tcase, wrong_ones_are_refused, 0, WRONG);
    tcase_add_test(tcase, damaged_ones_are_refused);
    return testing_run(suite);
}
