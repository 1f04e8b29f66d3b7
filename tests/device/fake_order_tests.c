/* In which order the fake runs what is on streams: all orders that are legal, and no other. */
#include "tests/device/fake_tests.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Operations that write down when they run ---- */

enum { MOST_OPS = 8, LEAST_GRAPHS = 500, MOST_GRAPHS = 50000 };

static char trace[MOST_OPS + 1];
static int traced;

static int write_down(void *arg)
{
    trace[traced++] = *(const char *)arg;
    return 1;
}

/* letter: in static storage */
static void note(cudaStream_t stream, const char *letter)
{
    const fake_work work = {.call = "note", .run = write_down, .arg = (void *)letter};
    fake_enqueue(stream, &work);
}

static void wait_on(cudaStream_t stream, cudaStream_t other)
{
    cudaEvent_t event;
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaEventRecord(event, other));
    CUDA(cudaStreamWaitEvent(stream, event, 0));
    CUDA(cudaEventDestroy(event)); /* which takes nothing back */
}

/* ---- A graph, and its legal orders ---- */

/* Operations, and pairs "ab": a is before b. */
typedef struct graph {
    const char *name, *letters;
    const char *before[MOST_OPS];
    void (*put)(void); /* puts it on streams, and waits for all */
} graph;

static int is_legal(const graph *g, const char *order)
{
    for (int i = 0; g->before[i]; i++)
        if (strchr(order, g->before[i][0]) > strchr(order, g->before[i][1])) return 0;
    return 1;
}

/* Calls with every order of the letters from `from` on. */
static int count_legal(const graph *g, char *order, size_t from)
{
    if (!order[from]) return is_legal(g, order);
    int count = 0;
    for (size_t i = from; order[i]; i++) {
        const char a = order[from], b = order[i];
        order[from] = b, order[i] = a;
        count += count_legal(g, order, from + 1);
        order[from] = a, order[i] = b;
    }
    return count;
}

/* Two streams, one of which waits for an event of the other, and a third. */
static void put_events(void)
{
    static cudaStream_t s[3];
    for (int i = 0; i < 3; i++)
        if (!s[i]) s[i] = stream_new();
    note(s[0], "a");
    wait_on(s[1], s[0]);
    note(s[0], "b");
    note(s[1], "c");
    note(s[1], "d");
    note(s[2], "e");
    CUDA(cudaDeviceSynchronize());
}

/* b, on the default stream, comes after a and before c; what is on the other stream, which does not
 * know the default stream, runs when it likes. */
static void put_default(void)
{
    static cudaStream_t with[2], without;
    for (int i = 0; i < 2 && !without; i++) CUDA(cudaStreamCreate(&with[i]));
    if (!without) without = stream_new();
    note(with[0], "a");
    note(NULL, "b");
    note(with[1], "c");
    note(without, "d");
    note(with[0], "e");
    CUDA(cudaDeviceSynchronize());
}

static const graph graphs[] = {
    {"events", "abcde", {"ab", "ac", "cd"}, put_events},
    {"the default stream", "abcde", {"ab", "bc", "be"}, put_default},
};

typedef struct seen {
    const graph *graph;
    int random, legal, orders, illegal;
    char order[256][MOST_OPS + 1];
} seen;

static void put_often(void *arg)
{
    seen *s = arg;
    for (int r = 0; r < LEAST_GRAPHS || (s->random && s->orders < s->legal && r < MOST_GRAPHS);
         r++) {
        traced = 0;
        memset(trace, 0, sizeof trace);
        s->graph->put();
        int i = 0;
        while (i < s->orders && strcmp(s->order[i], trace)) i++;
        if (i < s->orders) continue;
        s->illegal += strlen(trace) != strlen(s->graph->letters) || !is_legal(s->graph, trace);
        memcpy(s->order[s->orders++], trace, sizeof trace);
    }
}

START_TEST(every_legal_order_and_no_other)
{
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        char letters[MOST_OPS + 1];
        strcpy(letters, graphs[g].letters);
        const int legal = count_legal(&graphs[g], letters, 0);
        for (int o = 0; o < ORDERS; o++) {
            seen *s = child_shared(sizeof *s);
            s->graph = &graphs[g];
            s->legal = legal;
            s->random = !strcmp(all_orders[o], "random");
            child c = {.order = all_orders[o], .seed = (unsigned)testing_seed(20261124)};
            child_run(&c, put_often, s);
            child_check_right(&c, graphs[g].name);
            ck_assert_int_eq(s->illegal, 0);
            ck_assert_int_ge(s->orders, 1);
            if (s->random) ck_assert_int_eq(s->orders, legal);
        }
    }
    char letters[] = "abcde";
    ck_assert_int_eq(count_legal(&graphs[0], letters, 0), 15);
}
END_TEST

/* ---- Seeds ---- */

typedef struct sequence {
    char order[64][MOST_OPS + 1];
} sequence;

static void put_sequence(void *arg)
{
    sequence *s = arg;
    for (int r = 0; r < 64; r++) {
        traced = 0;
        put_events();
        memcpy(s->order[r], trace, sizeof trace);
    }
}

/* An operation that waits too long runs by itself; so a slow machine gets a few tries. */
START_TEST(a_seed_gives_an_order)
{
    sequence *s[3];
    int equal = 0, other = 0;
    for (int i = 0; i < 3; i++) s[i] = child_shared(sizeof *s[i]);
    for (int tries = 0; tries < 8 && !(equal && other); tries++) {
        for (int i = 0; i < 3; i++) {
            child c = {.order = "random", .seed = i < 2 ? 5 : 6};
            child_run(&c, put_sequence, s[i]);
            child_check_right(&c, "sequence");
        }
        equal |= !memcmp(s[0], s[1], sizeof *s[0]);
        other |= memcmp(s[0], s[2], sizeof *s[0]) != 0;
    }
    ck_assert(equal && other);
}
END_TEST

/* ---- As early, and as late, as is legal ---- */

static void early(void *unused)
{
    (void)unused;
    const cudaStream_t a = stream_new();
    note(a, "a");
    REQUIRE(traced == 1);
    CUDA(cudaStreamQuery(a));
}

/* Only what is waited for runs, and what that waits for. Slow machines get a few tries. */
static void late(void *unused)
{
    (void)unused;
    int as_late = 0;
    for (int tries = 0; tries < 20 && !as_late; tries++) {
        const cudaStream_t a = stream_new(), b = stream_new(), c = stream_new();
        traced = 0;
        note(a, "a");
        wait_on(b, a);
        note(a, "A");
        note(c, "c");
        note(b, "b");
        CUDA(cudaStreamSynchronize(b));
        as_late = !strncmp(trace, "ab", 2) && traced == 2;
        CUDA(cudaDeviceSynchronize());
    }
    REQUIRE(as_late);
}

/* A device does not stand still, and a question is answered in the end. */
static void by_itself(void *unused)
{
    (void)unused;
    const cudaStream_t a = stream_new(), b = stream_new();
    note(a, "a");
    for (int i = 0; i < 5000 && !*(volatile int *)&traced; i++) usleep(1000);
    REQUIRE(traced == 1);
    note(b, "b");
    while (cudaStreamQuery(b) == cudaErrorNotReady) continue;
    REQUIRE(traced == 2);
    CUDA(cudaStreamSynchronize(a));
}

START_TEST(early_and_late)
{
    child c = {.order = "eager"};
    child_run(&c, early, NULL);
    child_check_right(&c, "early");
    c.order = "late";
    child_run(&c, late, NULL);
    child_check_right(&c, "late");
    for (int o = 0; o < ORDERS; o++) {
        c.order = all_orders[o];
        child_run(&c, by_itself, NULL);
        child_check_right(&c, "by itself");
    }
}
END_TEST

/* ---- Host functions, and operations that wait for somebody ---- */

static atomic_int host_ran;

static void host_function(void *order)
{
    host_ran = 1;
    ((char *)order)[0] = 'h';
}

static void call_host(void *unused)
{
    (void)unused;
    static char order[2];
    const cudaStream_t a = stream_new();
    note(a, "a");
    CUDA(cudaLaunchHostFunc(a, host_function, order));
    while (!host_ran) usleep(100); /* without a call of CUDA */
    REQUIRE(traced == 1 && order[0] == 'h');
}

/* As an operation of NCCL does, whose partner has not come yet. */
static int wait_for_flag(void *flag)
{
    return *(atomic_int *)flag;
}

static void wait_for_partner(void *unused)
{
    (void)unused;
    static atomic_int flag;
    const cudaStream_t a = stream_new(), b = stream_new();
    const fake_work work = {.call = "partner", .run = wait_for_flag, .arg = &flag};
    fake_enqueue(a, &work);
    note(a, "a");
    note(b, "b");
    CUDA(cudaStreamSynchronize(b));
    REQUIRE(traced == 1 && cudaStreamQuery(a) == cudaErrorNotReady);
    flag = 1;
    CUDA(cudaStreamSynchronize(a));
    REQUIRE(traced == 2);
}

START_TEST(who_waits_for_whom)
{
    for (int o = 0; o < ORDERS; o++) {
        child c = {.order = all_orders[o]};
        child_run(&c, call_host, NULL);
        child_check_right(&c, "host function");
        child_run(&c, wait_for_partner, NULL);
        child_check_right(&c, "partner");
    }
}
END_TEST

static void time_events(void *unused)
{
    (void)unused;
    cudaEvent_t from, to;
    float ms;
    const cudaStream_t a = stream_new();
    CUDA(cudaEventCreate(&from));
    CUDA(cudaEventCreate(&to));
    CUDA(cudaEventQuery(from)); /* it was never recorded */
    CUDA(cudaEventRecord(from, a));
    note(a, "a");
    CUDA(cudaEventRecord(to, a));
    CUDA(cudaEventSynchronize(to));
    CUDA(cudaEventElapsedTime(&ms, from, to));
    REQUIRE(ms >= 0 && ms < 60000 && traced == 1);
}

START_TEST(events_have_times)
{
    for (int o = 0; o < ORDERS; o++) {
        child c = {.order = all_orders[o]};
        child_run(&c, time_events, NULL);
        child_check_right(&c, "times");
    }
}
END_TEST

void add_order_tests(Suite *suite)
{
    TCase *tests = testing_case(suite, "order");
    tcase_add_test(tests, every_legal_order_and_no_other);
    tcase_add_test(tests, a_seed_gives_an_order);
    tcase_add_test(tests, early_and_late);
    tcase_add_test(tests, who_waits_for_whom);
    tcase_add_test(tests, events_have_times);
}
