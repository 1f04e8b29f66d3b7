/* The language of deadlock cases: what is refused, with file and line; what it means; and damaged text, which is
 * at worst refused. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/deadlock/case.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUZZ_ROUNDS = 20000, TEXT_MAX = 4096 };

static const char right[] = "# A comment.\n"
                            "diagnosis two ranks, two sums\n"
                            "design naive # another\n"
                            "ranks 3\nworkers 2\nlanes 2\nsteps 4\nverify full\nverdict nok order\n"
                            "group pair 2 0\n"
                            "allreduce a 10\n"
                            "rank 0 2: broadcast b 7 root=1 dtype=i32 on pair after a\n"
                            "rank 1: allreduce c 5 op=max lost\n"
                            "barrier d\n"
                            "rank 1: leave\n"
                            "allgather e 3\n"
                            "operator turn compose\n"
                            "rank 0: operator differ xor\n"
                            "rank 2: operator differ compose\n"
                            "rank 0 2: alltoall f 10 apart parts=1,2/3,4 on pair\n"
                            "rank 0: scan g 3 op=differ\n"
                            "gather h 6 parts=1,2,3 apart\n"
                            "ready 1: c a\n"
                            "ready 0 2: d a\n";

START_TEST(a_case_means_what_it_says)
{
    deadlock_case *c;
    ck_assert_ok(deadlock_case_parse("folder/two_nok.case", right, &c));
    ck_assert_str_eq(c->name, "two_nok");
    ck_assert_str_eq(c->diagnosis, "two ranks, two sums");
    ck_assert_str_eq(c->design->name, "naive");
    ck_assert_str_eq(c->verify, "full");
    ck_assert_str_eq(c->clause, "order");
    ck_assert_int_eq(c->nok, 1);
    ck_assert_int_eq(c->ranks, 3);
    ck_assert_int_eq(c->workers, 2);
    ck_assert_int_eq(c->lanes, 2);
    ck_assert_int_eq(c->groups, 2);
    ck_assert_int_eq(deadlock_case_member(&c->group[1], 0), 1);
    ck_assert_int_eq(deadlock_case_member(&c->group[1], 1), -1);
    ck_assert_int_eq(c->program[0].ops, 7);
    ck_assert_int_eq(c->program[1].ops, 3); /* a, c, d: then it leaves */
    ck_assert_int_eq(c->program[1].steps, 1);
    ck_assert_int_eq(c->program[2].steps, 4);
    const case_op *b = &c->program[2].op[1];
    ck_assert_int_eq(b->args.kind, TUTTI_BROADCAST);
    ck_assert_int_eq(b->args.root, 1);
    ck_assert_int_eq(b->args.dtype, TUTTI_I32);
    ck_assert_int_eq((int)b->args.count, 7);
    ck_assert_int_eq(b->group, 1);
    ck_assert_int_eq(b->afters, 1);
    ck_assert_int_eq(c->program[1].op[1].lost, 1);
    ck_assert_int_eq(c->program[1].op[1].args.op, TUTTI_MAX);
    ck_assert_int_eq(c->program[1].readies, 2);
    ck_assert_ptr_null(deadlock_case_op(c, 0, c->program[1].op[1].tensor));
    free(c);
}
END_TEST

/* Lengths of parts and operators are each rank's own. */
START_TEST(a_line_means_something_else_on_each_rank)
{
    deadlock_case *c;
    ck_assert_ok(deadlock_case_parse("folder/two_nok.case", right, &c));
    /* Rank 2 is the pair's first, rank 0 its second. */
    const case_op *first = &c->program[2].op[4], *second = &c->program[0].op[4];
    ck_assert_int_eq(first->parts, 4);
    ck_assert_int_eq((int)first->args.count, 0);
    ck_assert(!memcmp(first->part, (int64_t[]){1, 2, 1, 3}, 4 * sizeof *first->part));
    ck_assert(!memcmp(second->part, (int64_t[]){3, 4, 2, 4}, 4 * sizeof *second->part));
    ck_assert_int_eq((int)deadlock_case_count(c, 2, first), 4);
    ck_assert_int_eq((int)deadlock_case_input_count(c, 2, first), 3);
    ck_assert_ptr_eq(deadlock_case_args(second).counts, second->part);
    const case_op *scan = &c->program[0].op[5], *gather = &c->program[0].op[6];
    ck_assert_int_eq(scan->args.op, TUTTI_USER_OP + 1);
    ck_assert_str_eq(scan->args.user->name, "differ");
    ck_assert_int_eq(scan->args.user->commutes, 1);
    ck_assert_int_eq(c->program[2].operator_[1].user.commutes, 0);
    ck_assert_int_eq(deadlock_case_input_count(c, 0, scan), -1);
    ck_assert_int_eq((int)deadlock_case_count(c, 0, gather), 6); /* the root's result */
    ck_assert_int_eq((int)deadlock_case_input_count(c, 0, gather), 1);
    const case_op *sent = &c->program[2].op[5];
    ck_assert_int_eq((int)deadlock_case_count(c, 2, sent), 3); /* it has an input only */
    ck_assert_int_eq((int)deadlock_case_input_count(c, 2, sent), -1);
    free(c);
}
END_TEST

START_TEST(keys_mean_what_they_say)
{
    static const char text[] = "diagnosis x\nranks 6\nserve 2 bounded:3 clients 2\nkey a 70000\nkey b 1\nverdict ok\n"
                               "push a\npull a\nrank 0 1: push b after a\nrank 2 3: die\nrank 2 3: return\n"
                               "rank 2 3: push a\nrank 0 1: meet\nrank 0 1: leave\n";
    deadlock_case *c;
    ck_assert_ok(deadlock_case_parse("folder/keys_ok.case", text, &c));
    const kv_case *kv = &c->kv;
    ck_assert_int_eq(kv->servers, 2);
    ck_assert_int_eq(kv->workers, 4);
    ck_assert_int_eq(kv->clients, 2);
    ck_assert_int_eq(kv->rule.type, TUTTI_KV_BOUNDED);
    ck_assert_int_eq((int)kv->rule.bound, 3);
    ck_assert_int_eq(kv_case_client_size(kv), 2);
    ck_assert_int_eq(kv_case_client(kv, 2), 1);
    ck_assert_int_eq((int)kv->count[0], 70000);
    ck_assert_int_eq(kv->calls[0], 5);
    ck_assert_int_eq(kv->calls[4], 0);
    ck_assert_int_eq(kv->call[1][2].after, 0);
    ck_assert_int_eq(kv_case_calls(kv, 3, KV_PUSH, 0), 2);
    ck_assert_int_eq(kv_case_calls(kv, 3, KV_RETURN, 0), 1);
    ck_assert_int_eq(kv_case_is_mortal(kv), 1);
    free(c);
}
END_TEST

START_TEST(keys_have_two_copies)
{
    static const char text[] = "diagnosis x\nranks 5\nserve 3 sync copies 2\nkey a 1\nverdict ok\n"
                               "push a\nrank 2: die\nsteps 2\n";
    int server, other;
    deadlock_case *c;
    ck_assert_ok(deadlock_case_parse("folder/keys_ok.case", text, &c));
    kv_case *kv = &c->kv;
    ck_assert_int_eq(kv->copies, 2);
    ck_assert_int_eq(kv->calls[0], 2);
    ck_assert(kv_case_crashes(kv, 0) && !kv_case_crashes(kv, 1) && !kv_case_crashes(kv, 2));
    ck_assert(kv_case_has_jobs(kv) && !kv_case_is_mortal(kv));
    ck_assert(!kv_case_loses_keys(kv, &server, &other));
    kv->call[4][kv->calls[4]++] = kv->call[2][0]; /* the last one's keys are on the first, too */
    ck_assert(kv_case_loses_keys(kv, &server, &other));
    ck_assert_int_eq(server, 2);
    ck_assert_int_eq(other, 0);
    kv->copies = 1;
    kv->calls[4] = 0;
    ck_assert(kv_case_loses_keys(kv, &server, &other));
    ck_assert_int_eq(server, 0);
    ck_assert_int_eq(other, -1);
    free(c);
}
END_TEST

/* What a value tells: how often each client's push is in it, all of it and nothing else. */
START_TEST(values_tell_what_is_in_them)
{
    kv_case kv = {.servers = 1, .workers = 2, .clients = 2, .keys = 1, .rule.type = TUTTI_KV_ASYNC};
    char what[200];
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 2; i++) kv.call[r][kv.calls[r]++] = (kv_call){.kind = KV_PUSH, .after = -1};
    const float once[] = {1, 16}, both[] = {17, 17}, all[] = {34, 34}, half[] = {17, 16};
    const float more[] = {3, 48}, part[] = {1.5f, 16};
    ck_assert_int_eq((int)kv_case_pushes(&kv, 1, 0), 16);
    ck_assert_int_eq((int)kv_case_pushes(&kv, 1, 1), 1);
    ck_assert(!kv_case_differs(&kv, 0, 0, 1, 0, once, 2, what, sizeof what));
    ck_assert(!kv_case_differs(&kv, 0, 0, 1, 0, both, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 0, 0, 2, 0, both, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 0, 0, 2, 1, both, 2, what, sizeof what));
    ck_assert(!kv_case_differs(&kv, 0, 0, 2, 1, all, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 1, 0, 1, 0, half, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 0, 0, 1, 0, more, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 0, 0, 1, 0, part, 2, what, sizeof what));
    kv.rule.type = TUTTI_KV_SYNC; /* 2^24 + 1 is 2^24 */
    const float first[] = {17, 1 << 24}, second[] = {17, (1 << 24) + 2};
    ck_assert(!kv_case_differs(&kv, 0, 0, 1, 0, first, 2, what, sizeof what));
    ck_assert(kv_case_differs(&kv, 0, 0, 1, 0, second, 2, what, sizeof what));
}
END_TEST

/* The first lines of a case, right so far. */
#define HEAD "diagnosis x\nranks 2\nverdict ok\n"

static const char *const refused[] = {
    "",
    "verdict ok\nranks 2\nallreduce a 1\n",
    "diagnosis x\nranks 2\nallreduce a 1\n",
    "diagnosis x\nverdict ok\nallreduce a 1\n",
    HEAD,
    HEAD "allreduce a 1\nranks 3\n",
    HEAD "sing a song\n",
    HEAD "allreduce\n",
    HEAD "allreduce a\n",
    HEAD "allreduce a 0\n",
    HEAD "allreduce a -1\n",
    HEAD "allreduce a 99999999999999999999\n",
    HEAD "allreduce a 1x\n",
    HEAD "allreduce a! 1\n",
    HEAD "allreduce aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\n",
    HEAD "allreduce a 1\nallreduce a 1\n",
    HEAD "allreduce a 1 op=mean\n",
    HEAD "allreduce a 1 dtype=f16\n",
    HEAD "allreduce a 1 size=3\n",
    HEAD "allreduce a 1 quickly\n",
    HEAD "allreduce a 1 vectors=0\n",
    HEAD "allreduce a 1 vectors=5\n",
    HEAD "allreduce a 1 vectors=2 op=max\n",
    HEAD "allreduce a 1 vectors=2 dtype=f64\n",
    HEAD "reduce a 1 vectors=2\n",
    HEAD "rank 0: send a 1 to 1 edge 0 vectors=2\n",
    HEAD "allreduce a 1 op=\n",
    HEAD "allreduce a 3 parts=1,2\n",
    HEAD "gather a 3 parts=1,3\n",
    HEAD "gather a 3 parts=1,-1,3\n",
    HEAD "gather a 3 parts=1,2,0\n",
    HEAD "gather a 3 parts=\n",
    HEAD "alltoall a 3 parts=1,2 apart\n",
    HEAD "alltoall a 3 parts=1,2/0,0\n",
    HEAD "broadcast a 3 apart\n",
    HEAD "barrier a apart\n",
    HEAD "operator\nallreduce a 1\n",
    HEAD "operator turn\nallreduce a 1\n",
    HEAD "operator turn round\nallreduce a 1\n",
    HEAD "operator turn xor\noperator turn xor\nallreduce a 1\n",
    HEAD "rank 0: operator turn xor\nallreduce a 1 op=turn\n",
    HEAD "operator turn xor\ngather a 1 op=turn\n",
    HEAD "broadcast a 1 root=2\n",
    HEAD "broadcast a 1 root=\n",
    HEAD "allreduce a 1 on moon\n",
    HEAD "allreduce a 1 on\n",
    HEAD "allreduce a 1 after b\n",
    HEAD "allreduce a 1 after a\n",
    HEAD "rank 0: allreduce b 1\nallreduce a 1 after b\n",
    HEAD "rank 2: allreduce a 1\n",
    HEAD "rank x: allreduce a 1\n",
    HEAD "rank : allreduce a 1\n",
    HEAD "rank 0 allreduce a 1\n",
    HEAD "rank 0:\n",
    HEAD "rank 0: lanes 2\n",
    HEAD "leave\nallreduce a 1\n",
    HEAD "group one 0\nallreduce a 1\n",
    HEAD "group g 0 0\nallreduce a 1\n",
    HEAD "group g 0 2\nallreduce a 1\n",
    HEAD "group all 0 1\nallreduce a 1\n",
    HEAD "send a 1 to 0 edge 0\n",
    HEAD "rank 0: send a 1 to 0 edge 0\n",
    HEAD "rank 0: send a 1 from 1 edge 0\n",
    HEAD "rank 0: send a 1 to 2 edge 0\n",
    HEAD "rank 0: send a 1 to 1\n",
    HEAD "rank 0: send a 1 to 1 edge 2048\n",
    HEAD "rank 0: send a 1 to 1 edge 0 apart\n",
    HEAD "rank 0: send a 1 to 1 edge 0 on all\n",
    HEAD "rank 0: recv a 1 to 1 edge 0\n",
    HEAD "rank 0: recv a 1 from 1 edge x\n",
    HEAD "rank 0: send a 1 to 1 edge 0\nrank 0: send a 1 to 1 edge 1\n",
    HEAD "allreduce a 1\nready 0: b\n",
    HEAD "allreduce a 1\nready 0: a a\n",
    HEAD "allreduce a 1\nready 0:\n",
    HEAD "allreduce a 1\nready 0: a\nready 0: a\n",
    HEAD "rank 0: allreduce a 1\nready 1: a\n",
    HEAD "allreduce a 1\nallreduce b 1 after a\nready 0: b\n",
    HEAD "design quick\nallreduce a 1\n",
    HEAD "design funneled\nlanes 2\nallreduce a 1\n",
    HEAD "workers 0\nallreduce a 1\n",
    HEAD "verify sometimes\nallreduce a 1\n",
    HEAD "steps 2\nreduce a 1\n",
    HEAD "steps 1000\nallreduce a 1\n",
    HEAD "verdict perhaps\nallreduce a 1\n",
    HEAD "verdict nok\nallreduce a 1\n",
    HEAD "verdict nok because\nallreduce a 1\n",
    HEAD "verdict nok order\nallreduce a 1\n", /* the name says ok */
    HEAD "verdict ok now\nallreduce a 1\n",
    HEAD "says something\nallreduce a 1\n", /* of a case that goes well */
    HEAD "push a\n",
    HEAD "serve 2 sync\nkey a 1\npush a\n",
    HEAD "serve 1\nkey a 1\npush a\n",
    HEAD "serve 1 sometimes\nkey a 1\npush a\n",
    HEAD "serve 1 sync clients 2\nkey a 1\npush a\n",
    HEAD "serve 1 sync two-groups\nkey a 1\npush a\n",
    HEAD "serve 1 sync\nserve 1 sync\nkey a 1\npush a\n",
    HEAD "serve 1 sync\nkey a 1\n",
    HEAD "serve 1 sync\nkey a 0\npush a\n",
    HEAD "serve 1 sync\nkey a 1\nkey a 1\npush a\n",
    HEAD "serve 1 sync\nkey a 1\npush b\n",
    HEAD "serve 1 sync\nkey a 1\npush a before a\n",
    HEAD "serve 1 sync\nkey a 1\npush a after a\n",
    HEAD "serve 1 sync\nkey a 1\npull a after a\n",
    HEAD "serve 1 sync\nkey a 1\nrank 1: push a\n",
    HEAD "serve 1 sync copies\nkey a 1\npush a\n",
    HEAD "serve 1 sync copies 2\nkey a 1\npush a\n",
    "diagnosis x\nranks 3\nverdict ok\nserve 2 async copies 2\nkey a 1\npush a\n",
    "diagnosis x\nranks 4\nverdict ok\nserve 2 sync copies 3\nkey a 1\npush a\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nrank 1: die\nrank 1: die\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nrank 1: die\nrank 1: return\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nreturn\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nleave\npull a\n",
    HEAD "serve 1 async\nkey a 1\npush a\ndie\npush a\n",
    HEAD "serve 1 async\nkey a 1\npush a\ndie\nsteps 2\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nsteps 16\n",
    HEAD "serve 1 sync\nkey a 1\npush a\nallreduce b 1\n",
    HEAD "serve 1 sync\ndesign sequential\nkey a 1\npush a\n",
};

START_TEST(what_is_wrong_is_refused)
{
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        deadlock_case *c = NULL;
        tutti_status status = deadlock_case_parse("x_ok.case", refused[i], &c);
        ck_assert_msg(status == TUTTI_ERR_FORMAT, "%s: %s", tutti_status_name(status), refused[i]);
    }
    deadlock_case *c;
    ck_assert_int_eq(deadlock_case_load("there/is/none.case", &c), TUTTI_ERR_IO);
    tutti_log_set_level(TUTTI_LOG_ERROR);
    ck_assert_ok(deadlock_case_parse("x_ok.case", HEAD "allreduce a 1", &c));
    free(c);
}
END_TEST

/* Parses the text with stderr in a file, and returns the message. */
static char *said(const char *text, char line[256])
{
    FILE *file = tmpfile();
    int before = dup(2);
    deadlock_case *c = NULL;
    dup2(fileno(file), 2);
    deadlock_case_parse("folder/x_ok.case", text, &c);
    dup2(before, 2);
    close(before);
    rewind(file);
    if (!fgets(line, 256, file)) line[0] = '\0';
    fclose(file);
    free(c);
    return line;
}

START_TEST(an_error_names_file_and_line)
{
    char line[256];
    ck_assert_ptr_nonnull(strstr(
        said(HEAD "\n# x\nallreduce a 0\n", line), "folder/x_ok.case:6: count: '0' is no number"));
    ck_assert_ptr_nonnull(strstr(said(HEAD "allreduce a 1\nready 1: b\n", line), "x_ok.case:5: "));
    ck_assert_ptr_nonnull(strstr(said(HEAD "sing\n", line), ":4: 'sing' is no directive"));
}
END_TEST

/* ---- damaged text ---- */

typedef struct dice {
    uint64_t seed, round, next;
} dice;

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->round, d->next++, bound ? bound : 1);
}

/* Swaps, doubles or removes a part, or writes a byte or a word of the language. */
static void damage(dice *d, char *text)
{
    static const char *const words[] = {"rank 0:", "ready 1:", "after", "on all", "lost", "leave",
        "group", "send m 3 to 1 edge 2", "recv m 3 from 0 edge 2", "steps 3", "root=1", "apart", "vectors=2",
        "parts=1,2", "op=turn", "operator", "99999", ":", "#", "\n", "allreduce",
        "verdict nok order", "serve 1 sync", "copies 2", "key a 3", "push a", "pull a", "meet", "die", "says"};
    size_t length = strlen(text), at = roll(d, length + 1), n = roll(d, 12);
    const char *word = words[roll(d, sizeof words / sizeof *words)];
    switch (roll(d, 4)) {
    case 0:
        if (length) text[at % length] = (char)(1 + roll(d, 255));
        break;
    case 1:
        if (at + n <= length) memmove(text + at, text + at + n, length - at - n + 1);
        break;
    case 2:
        if (length + n < TEXT_MAX && at + n <= length)
            memmove(text + at + n, text + at, length - at + 1);
        break;
    default:
        if (length + strlen(word) + 1 >= TEXT_MAX) break;
        memmove(text + at + strlen(word), text + at, length - at + 1);
        memcpy(text + at, word, strlen(word));
        break;
    }
}

START_TEST(damaged_text_is_refused_or_understood)
{
    dice d = {.seed = testing_seed(5)};
    int understood = 0;
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    for (d.round = 0; d.round < FUZZ_ROUNDS; d.round++) {
        char text[TEXT_MAX];
        deadlock_case *c = NULL;
        d.next = 0;
        strcpy(text, right);
        for (size_t n = 1 + roll(&d, 4); n > 0; n--) damage(&d, text);
        tutti_status status = deadlock_case_parse("x_nok.case", text, &c);
        ck_assert_msg(status == TUTTI_OK || status == TUTTI_ERR_FORMAT, "round %lu: %s",
            (unsigned long)d.round, tutti_status_name(status));
        understood += !status;
        free(c);
    }
    tutti_log_set_level(TUTTI_LOG_ERROR);
    ck_assert_int_gt(understood, FUZZ_ROUNDS / 100);
    ck_assert_int_lt(understood, FUZZ_ROUNDS);
}
END_TEST

/* ---- the collection ---- */

START_TEST(the_suite_is_complete)
{
    static const char *const rows[] = {"facts_1_", "facts_2_", "facts_3_", "facts_4_", "facts_5_",
        "facts_6_", "facts_7_", "order_", "missing_", "extra_", "workers_", "crossed_", "operator_",
        "type_", "root_", "count_", "kind_", "token_", "two_communicators_", "overlapping_",
        "rank_leaves_", "uneven_", "out_of_place_", "given_lengths_", "alltoall_length_",
        "own_operators_", "every_operator_", "kv_"};
    int seen[sizeof rows / sizeof *rows] = {0}, cases = 0;
    DIR *folder = opendir(testing_source("tests/deadlock/cases"));
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".case")) continue;
        cases++;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            seen[i] += !strncmp(entry->d_name, rows[i], strlen(rows[i]));
    }
    closedir(folder);
    ck_assert_int_ge(cases, 40);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(seen[i] > 0, "no case %s*", rows[i]);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("deadlock cases");
    TCase *tcase = testing_case(suite, "cases");
    tcase_add_test(tcase, a_case_means_what_it_says);
    tcase_add_test(tcase, a_line_means_something_else_on_each_rank);
    tcase_add_test(tcase, keys_mean_what_they_say);
    tcase_add_test(tcase, keys_have_two_copies);
    tcase_add_test(tcase, values_tell_what_is_in_them);
    tcase_add_test(tcase, what_is_wrong_is_refused);
    tcase_add_test(tcase, an_error_names_file_and_line);
    tcase_add_test(tcase, damaged_text_is_refused_or_understood);
    tcase_add_test(tcase, the_suite_is_complete);
    return testing_run(suite);
}
