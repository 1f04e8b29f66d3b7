/* designs/drive/fault: the values of TUTTI_FAULT, and when a faulty collective may start. */
#include "designs/drive/fault.h"
#include "tests/support/testing.h"

#include <stdlib.h>

START_TEST(wishes)
{
    static const struct {
        const char *text;
        tutti_fault_wish wish;
    } rows[] = {
        {"rank=1,collective=17,do=skip", {TUTTI_FAULT_SKIP, 1, 17, 0, 0}},
        {"do=extra,rank=0,collective=0", {TUTTI_FAULT_EXTRA, 0, 0, 0, 0}},
        {"rank=3,do=swap,collective=2", {TUTTI_FAULT_SWAP, 3, 2, 0, 0}},
        {"rank=1,collective=17,do=resize", {TUTTI_FAULT_RESIZE, 1, 17, 0, 0}},
        {"rank=1,collective=17,do=delay:2.5", {TUTTI_FAULT_DELAY, 1, 17, 0, 2.5}},
        {"rank=1,collective=17,do=flip", {TUTTI_FAULT_FLIP, 1, 17, 0, 0}},
        {"rank=1,collective=17,do=stop", {TUTTI_FAULT_STOP, 1, 17, 0, 0}},
        {"rank=1,collective=17,do=kill", {TUTTI_FAULT_KILL, 1, 17, 0, 0}},
        {"rank=2,message=5,do=stop", {TUTTI_FAULT_STOP, 2, 5, 1, 0}},
    };
    tutti_fault_wish wish;
    ck_assert_ok(tutti_fault_parse(rows[_i].text, &wish));
    ck_assert_int_eq(wish.kind, rows[_i].wish.kind);
    ck_assert_int_eq(wish.rank, rows[_i].wish.rank);
    ck_assert_int_eq(wish.number, rows[_i].wish.number);
    ck_assert_int_eq(wish.message, rows[_i].wish.message);
    ck_assert(wish.delay_s == rows[_i].wish.delay_s);
}
END_TEST

START_TEST(refusals)
{
    static const char *const rows[] = {"", "rank=1", "rank=1,collective=17", "rank=1,do=skip",
        "collective=1,do=skip", "rank=-1,collective=17,do=skip", "rank=1,collective=x,do=skip",
        "rank=1,collective=,do=skip", "rank=1,collective=17,do=nap",
        "rank=1,collective=17,do=", "rank=1,collective=17,do=delay",
        "rank=1,collective=17,do=delay:", "rank=1,collective=17,do=delay:-1",
        "rank=1,collective=17,do=delay:x", "rank=1,collective=17,do=skip:1",
        "rank=1,collective=17,do=skip,", "rank=1,collective=17,step=3,do=skip",
        "rank=1 collective=17 do=skip", "rank=1,message=x,do=skip", "rank=1,message=3,do=extra",
        "rank=1,message=3,collective=3,do=skip"};
    tutti_fault_wish wish = {.rank = 77};
    ck_assert_int_eq(tutti_fault_parse(rows[_i], &wish), TUTTI_ERR_USAGE);
    ck_assert_int_eq(wish.rank, 77);
}
END_TEST

static tutti_fault *opened(const char *text, int rank, int size)
{
    tutti_fault *fault = NULL;
    setenv("TUTTI_FAULT", text, 1);
    ck_assert_ok(tutti_fault_open(rank, size, &fault));
    unsetenv("TUTTI_FAULT");
    return fault;
}

START_TEST(only_one_rank)
{
    tutti_fault *fault = NULL;
    ck_assert_ok(tutti_fault_open(1, 2, &fault));
    ck_assert_ptr_null(fault);
    ck_assert_ptr_null(opened("rank=1,collective=3,do=skip", 0, 2));
    fault = opened("rank=1,collective=3,do=skip", 1, 2);
    ck_assert_ptr_nonnull(fault);
    tutti_fault_close(fault);
    tutti_fault_close(NULL);
    setenv("TUTTI_FAULT", "rank=2,collective=3,do=skip", 1);
    ck_assert_int_eq(tutti_fault_open(0, 2, &fault), TUTTI_ERR_USAGE);
    unsetenv("TUTTI_FAULT");
}
END_TEST

/* Six collectives, alternating between two lanes. */
static void fill(tutti_queue *queue)
{
    int64_t sequence;
    ck_assert_ok(tutti_queue_open(queue, 2, 2));
    for (int i = 0; i < 6; i++) {
        const tutti_place place = {.lane = i % 2, .index = i};
        ck_assert_ok(tutti_queue_reserve(queue, &place, "x", &sequence));
    }
}

static tutti_entry *make_ready(tutti_queue *queue, int64_t sequence)
{
    tutti_entry *entry = tutti_queue_get(queue, sequence);
    tutti_queue_ready(queue, entry);
    return entry;
}

START_TEST(swap_waits_for_the_next_of_its_lane)
{
    tutti_queue queue;
    fill(&queue);
    tutti_fault *fault = opened("rank=0,collective=1,do=swap", 0, 2);
    tutti_entry *other = make_ready(&queue, 0), *first = make_ready(&queue, 1);
    ck_assert_ptr_eq(tutti_fault_admit(fault, &queue, other), other);
    ck_assert_ptr_null(tutti_fault_admit(fault, &queue, first));
    make_ready(&queue, 2); /* on the other lane */
    ck_assert_ptr_null(tutti_fault_admit(fault, &queue, first));
    tutti_entry *next = make_ready(&queue, 3);
    ck_assert_ptr_eq(tutti_fault_admit(fault, &queue, first), next);
    tutti_queue_start(&queue, next);
    ck_assert_ptr_eq(tutti_fault_admit(fault, &queue, first), first);
    tutti_fault_close(fault);
    tutti_queue_close(&queue);
}
END_TEST

START_TEST(delay_ends)
{
    tutti_queue queue;
    fill(&queue);
    tutti_fault *fault = opened("rank=0,collective=1,do=delay:0.05", 0, 2);
    tutti_entry *entry = make_ready(&queue, 1);
    ck_assert_ptr_null(tutti_fault_admit(fault, &queue, entry));
    while (!tutti_fault_admit(fault, &queue, entry)) continue;
    ck_assert(tutti_fault_start(fault, entry));
    tutti_fault_close(fault);
    tutti_queue_close(&queue);
}
END_TEST

START_TEST(starts_and_ends)
{
    tutti_queue queue;
    float value[3] = {0, 1, 2};
    tutti_coll_args args = {.dtype = TUTTI_F32, .count = 3, .recv = value};
    fill(&queue);
    tutti_entry *entry = make_ready(&queue, 2), *other = make_ready(&queue, 3);
    entry->args = args;

    tutti_fault *fault = opened("rank=0,collective=2,do=skip", 0, 2);
    ck_assert(tutti_fault_start(fault, other));
    ck_assert(!tutti_fault_start(fault, entry));
    tutti_fault_close(fault);

    fault = opened("rank=0,collective=2,do=resize", 0, 2);
    other->args = args;
    tutti_fault_change(fault, other);
    ck_assert_int_eq(other->args.count, 3);
    tutti_fault_change(fault, entry);
    ck_assert_int_eq(entry->args.count, 2);
    ck_assert(tutti_fault_start(fault, entry));
    entry->args = args;
    tutti_fault_close(fault);

    fault = opened("rank=0,collective=2,do=flip", 0, 2);
    tutti_fault_end(fault, other);
    ck_assert(value[0] == 0 && value[1] == 1 && value[2] == 2);
    tutti_fault_end(fault, entry);
    ck_assert(value[0] == 0 && value[1] == 1.5f && value[2] == 2);
    tutti_fault_close(fault);
    tutti_queue_close(&queue);
}
END_TEST

/* What is sent counts apart from the collectives of all ranks. */
START_TEST(messages_have_numbers_of_their_own)
{
    tutti_queue queue;
    fill(&queue);
    tutti_entry *sum = make_ready(&queue, 2), *message = make_ready(&queue, 3);
    message->message = 2;
    tutti_fault *fault = opened("rank=0,message=2,do=skip", 0, 2);
    ck_assert(tutti_fault_start(fault, sum));
    ck_assert(!tutti_fault_start(fault, message));
    tutti_fault_close(fault);
    fault = opened("rank=0,collective=3,do=skip", 0, 2);
    ck_assert(tutti_fault_start(fault, message));
    tutti_fault_close(fault);
    tutti_queue_close(&queue);
}
END_TEST

START_TEST(extra_comes_once)
{
    tutti_fault *fault = opened("rank=0,collective=2,do=extra", 0, 2);
    tutti_coll_args args;
    ck_assert(!tutti_fault_adds(fault, 1));
    ck_assert(tutti_fault_adds(fault, 3)); /* 2 is a chunk of the sum that began at 1 */
    ck_assert(!tutti_fault_adds(fault, 3));
    tutti_token *token = tutti_fault_extra(&args);
    ck_assert_ptr_nonnull(token);
    ck_assert_int_eq(args.count, 1);
    tutti_token_finish(token, TUTTI_OK); /* frees it */
    tutti_fault_close(fault);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault");
    TCase *tcase = testing_case(suite, "fault");
    tcase_add_loop_test(tcase, wishes, 0, 9);
    tcase_add_loop_test(tcase, refusals, 0, 21);
    tcase_add_test(tcase, only_one_rank);
    tcase_add_test(tcase, swap_waits_for_the_next_of_its_lane);
    tcase_add_test(tcase, delay_ends);
    tcase_add_test(tcase, starts_and_ends);
    tcase_add_test(tcase, messages_have_numbers_of_their_own);
    tcase_add_test(tcase, extra_comes_once);
    return testing_run(suite);
}
