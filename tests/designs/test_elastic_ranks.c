/* Elastic runs whose ranks are processes: they sum over all ranks in each step, are killed, stopped, and come. What a
 * rank has at the end is what the list of epochs says, whoever died when. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "designs/elastic/elastic.h"
#include "designs/exchange/exchange.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 6, EPOCHS = 16, SNAPSHOTS = 5, COUNT = 20000, ENOUGH = 100000 };

static const char token[] = "fedcba9876543210";
static const double patience_s = 20;

/* A process, and what it shows the test: in memory that both share. */
typedef struct rank {
    tutti_elastic_options options;
    char contact[TUTTI_MEMBERSHIP_ADDRESS];
    int hangs; /* as soon as it has been taken in */
    atomic_int step, epochs, ended, finished, wrong;
    atomic_llong moved_us; /* when it ended its last step */
    tutti_membership epoch[EPOCHS];
    int held[EPOCHS]; /* descriptors and mappings in each */
    int64_t state;
    char why[TUTTI_ERROR_TEXT];
} rank;

/* Of the whole run, which the test changes. */
typedef struct world {
    rank rank[MOST];
    tutti_membership first;
    atomic_int size, end; /* the run ends after this step, in an epoch of this size */
    double join_s;        /* of newcomers */
    atomic_int holds;     /* no rank makes snapshots, so that none is taken in */
} world;

static world *w;
/* Of the test, and of no other process. */
static pid_t pids[MOST];
static tutti_tcp_listener *doors[MOST];

/* ---- a rank ---- */

/* Its weights: a number. Two generations of snapshots. */
typedef struct training {
    rank *me;
    tutti_elastic *elastic;
    tutti_exchange *exchange;
    const tutti_membership *epoch;
    int64_t state, step;
    int64_t newest, before, newest_state, before_state;
} training;

static int64_t weight_of(int64_t id)
{
    return (id + 1) * (id + 1);
}

static int64_t sum_of(const tutti_membership *epoch)
{
    int64_t sum = 0;
    for (int i = 0; i < epoch->n; i++) sum += weight_of(epoch->entry[i].id);
    return sum;
}

static void keep_snapshot(training *t)
{
    t->before = t->newest;
    t->before_state = t->newest_state;
    t->newest = t->step;
    t->newest_state = t->state;
    tutti_elastic_snapshot(t->elastic, t->newest, t->before);
}

static int is_fresh(const training *t)
{
    for (int i = 0; i < t->epoch->n; i++)
        if (t->epoch->entry[i].id == t->me->options.self.id) return t->epoch->entry[i].fresh;
    return 1;
}

/* Newcomers have the state from the first rank that is none. */
static tutti_status restore(training *t)
{
    int root = 0;
    while (t->epoch->entry[root].fresh) root++;
    const int64_t snapshot = t->epoch->snapshot;
    t->step = snapshot;
    if (!is_fresh(t)) t->state = t->newest == snapshot ? t->newest_state : t->before_state;
    if (!is_fresh(t) && t->newest != snapshot && t->before != snapshot) t->me->wrong = 1;
    const tutti_status status =
        tutti_exchange_broadcast(t->exchange, "the snapshot", TUTTI_I64, root, 1, &t->state);
    if (status) return status;
    t->newest = snapshot;
    t->newest_state = t->state;
    t->before = -1;
    return TUTTI_OK;
}

/* One step: a sum over all ranks. The first element counts those who want to stop after it. */
static tutti_status train_step(training *t, int *stop)
{
    static int64_t data[COUNT];
    const tutti_elastic_wish wish = tutti_elastic_look(t->elastic);
    const int wants = wish != TUTTI_ELASTIC_STAY || (t->step >= w->end && t->epoch->n == w->size);
    for (int i = 1; i < COUNT; i++) data[i] = weight_of(t->me->options.self.id) * t->step;
    data[0] = wants;
    const tutti_coll_args args = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I64, .op = TUTTI_SUM, .count = COUNT, .recv = data};
    const tutti_status status = tutti_exchange_call(t->exchange, "the step's sum", &args);
    if (status) return status;
    for (int i = 1; i < COUNT; i++)
        if (data[i] != sum_of(t->epoch) * t->step) t->me->wrong = 1;
    t->state += data[1];
    t->step++;
    *stop = data[0] > 0;
    t->me->moved_us = (long long)(1e6 * tutti_clock_s());
    t->me->step = (int)t->step;
    if (t->step % SNAPSHOTS == 0 && !w->holds) keep_snapshot(t);
    return TUTTI_OK;
}

/* Descriptors, and mappings of shared memory. */
static int count_held(void)
{
    char line[512];
    int held = 0;
    DIR *open = opendir("/proc/self/fd");
    FILE *maps = fopen("/proc/self/maps", "r");
    while (open && readdir(open)) held++;
    while (maps && fgets(line, sizeof line, maps)) held += strstr(line, "memfd") != NULL;
    if (open) closedir(open);
    if (maps) fclose(maps);
    return held;
}

static tutti_status open_exchange(training *t)
{
    tutti_transport *mesh;
    const tutti_exchange_options options = {.design = tutti_design_find("funneled"),
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = patience_s,
        .setup_timeout_s = 2};
    const tutti_status status = tutti_elastic_mesh(t->elastic, 2, &mesh);
    return status ? status : tutti_exchange_open_over(mesh, &options, &t->exchange);
}

/* Until the epoch ends, or the run does. */
static tutti_status train_epoch(training *t, int *finished)
{
    int stop = 0;
    tutti_status status = open_exchange(t);
    if (!status) status = restore(t);
    t->me->held[t->me->epochs - 1] = count_held();
    while (!status && !stop) {
        status = train_step(t, &stop);
        tutti_clock_sleep(200e-6);
    }
    const int is_end = !status && t->step >= w->end && t->epoch->n == w->size;
    tutti_exchange_close(t->exchange);
    t->exchange = NULL;
    return is_end ? tutti_elastic_finish(t->elastic, finished) : TUTTI_OK;
}

static void train(rank *me)
{
    training t = {.me = me, .newest = me->options.first ? 0 : -1, .before = -1};
    int finished = 0;
    tutti_status status = tutti_elastic_open(&me->options, &t.elastic);
    while (!status && !finished && me->epochs < EPOCHS) {
        status = tutti_elastic_enter(t.elastic, t.newest, t.before, &me->epoch[me->epochs]);
        if (status) break;
        t.epoch = &me->epoch[me->epochs++];
        if (me->hangs && me->epochs == 1) raise(SIGSTOP);
        status = train_epoch(&t, &finished);
    }
    me->state = t.state;
    me->finished = finished;
    snprintf(me->why, sizeof me->why, "%s", tutti_last_error());
    tutti_elastic_close(t.elastic);
    me->ended = 1;
}

/* ---- the test ---- */

static void open_door(int index, int64_t id)
{
    rank *r = &w->rank[index];
    memset((void *)r, 0, sizeof *r);
    r->options.self.id = id;
    ck_assert_ok(tutti_tcp_listener_open("127.0.0.1", 0, token, &doors[index]));
    snprintf(r->options.self.address, sizeof r->options.self.address, "127.0.0.1:%d",
        tutti_tcp_listener_port(doors[index]));
    tutti_elastic_options *o = &r->options;
    o->token = token;
    o->run = 33;
    o->options = 44;
    o->least = 1;
    o->most = MOST;
    o->settle_s = 0.02;
    o->ack_s = 10;
    o->join_s = patience_s;
    o->silence_s = 10;
}

/* The process of rank r has its door, and no other. */
static void start_process(int r)
{
    pids[r] = fork();
    ck_assert_int_ge(pids[r], 0);
    if (pids[r]) return;
    for (int other = 0; other < MOST; other++)
        if (other != r) tutti_tcp_listener_close(doors[other]);
    w->rank[r].options.door = doors[r];
    train(&w->rank[r]);
    _exit(0);
}

static void close_doors(void)
{
    for (int r = 0; r < MOST; r++) {
        tutti_tcp_listener_close(doors[r]);
        doors[r] = NULL;
    }
}

/* Ranks 0 to n - 1, with these numbers. */
static void start_ranks(int n, double silence_s)
{
    tutti_log_set_level(getenv("TUTTI_TEST_SHOW") ? TUTTI_LOG_DEBUG : TUTTI_LOG_NONE);
    memset((void *)w, 0, sizeof *w);
    w->first.n = n;
    w->size = n;
    w->end = ENOUGH;
    w->join_s = patience_s;
    for (int r = 0; r < n; r++) {
        open_door(r, r);
        w->first.entry[r] = w->rank[r].options.self;
        w->rank[r].options.first = &w->first;
        w->rank[r].options.silence_s = silence_s;
    }
    for (int r = 0; r < n; r++) start_process(r);
    close_doors();
}

static void start_newcomer(int r, int64_t id, int contact, int hangs)
{
    open_door(r, id);
    w->rank[r].options.join_s = w->join_s;
    w->rank[r].hangs = hangs;
    memcpy(w->rank[r].contact, w->rank[contact].options.self.address, sizeof w->rank[r].contact);
    w->rank[r].options.contact = w->rank[r].contact;
    start_process(r);
    close_doors();
}

static void await(int (*is_so)(const rank *r, int64_t what), int r, int64_t what, const char *said)
{
    const double until_s = tutti_clock_s() + patience_s;
    while (!is_so(&w->rank[r], what)) {
        if (tutti_clock_s() > until_s)
            for (int q = 0; q < MOST; q++)
                if (pids[q] > 0) kill(pids[q], SIGKILL);
        ck_assert_msg(tutti_clock_s() <= until_s, "rank %d: no %s %lld: step %d, %d epochs, %s", r,
            said, (long long)what, w->rank[r].step, w->rank[r].epochs, w->rank[r].why);
        tutti_clock_sleep(200e-6);
    }
}

static int has_step(const rank *r, int64_t step)
{
    return r->step >= step;
}

static int has_epochs(const rank *r, int64_t n)
{
    return r->epochs >= n;
}

static int has_ended(const rank *r, int64_t unused)
{
    (void)unused;
    return r->ended;
}

/* Since this time a step has ended there. */
static int has_moved(const rank *r, int64_t since_us)
{
    return r->moved_us > since_us;
}

/* Two ranks train, and a newcomer asks rank 1. */
static void start_two_and_one(double silence_s, int hangs)
{
    start_ranks(2, silence_s);
    await(has_step, 0, 23, "step");
    start_newcomer(2, 2, 1, hangs);
}

static void kill_rank(int r, int how)
{
    ck_assert_int_gt(pids[r], 0);
    ck_assert_int_eq(kill(pids[r], how), 0);
}

/* It stops itself a moment after it has said that its epoch has begun. */
static void await_stop(int r)
{
    int how;
    ck_assert_int_eq(waitpid(pids[r], &how, WUNTRACED), pids[r]);
    ck_assert(WIFSTOPPED(how));
}

static void reap(int r)
{
    int how;
    ck_assert_int_eq(waitpid(pids[r], &how, 0), pids[r]);
    pids[r] = 0;
}

/* The first epoch after this one that any rank was in; NULL: there is none. */
static const tutti_membership *next_epoch(int64_t after)
{
    const tutti_membership *next = NULL;
    for (int r = 0; r < MOST; r++)
        for (int e = 0; e < w->rank[r].epochs; e++) {
            const tutti_membership *one = &w->rank[r].epoch[e];
            if (one->epoch > after && (!next || one->epoch < next->epoch)) next = one;
        }
    return next;
}

/* The state that the epochs of the run make. */
static int64_t replay(int64_t end)
{
    int64_t state = 0;
    for (const tutti_membership *e = next_epoch(0), *next; e; e = next) {
        next = next_epoch(e->epoch);
        const int64_t to = next ? next->snapshot : end;
        for (int64_t s = e->snapshot; s < to; s++) state += sum_of(e) * s;
    }
    return state;
}

/* Lets those of the set finish in an epoch of their own; `old` is one of them, and trains. */
static void finish(unsigned set, int old)
{
    const int n = __builtin_popcount(set);
    w->size = n;
    w->end = w->rank[old].step + 40;
    for (int r = 0; r < MOST; r++)
        if (set & 1u << r) await(has_ended, r, 1, "end");
    const rank *like = &w->rank[old];
    for (int r = 0; r < MOST; r++) {
        const rank *one = &w->rank[r];
        if (!(set & 1u << r)) continue;
        ck_assert_msg(one->finished, "rank %d: %s", r, one->why);
        ck_assert_int_eq(one->step, like->step);
        ck_assert_int_eq(one->state, like->state);
        ck_assert_int_eq(one->epoch[one->epochs - 1].n, n);
        ck_assert_int_eq(one->epoch[one->epochs - 1].epoch, like->epoch[like->epochs - 1].epoch);
        reap(r);
    }
    for (int r = 0; r < MOST; r++) ck_assert(!w->rank[r].wrong);
    ck_assert_int_eq(like->state, replay(like->step));
}

START_TEST(all_train)
{
    start_ranks(3, 10);
    await(has_step, 0, 30, "step");
    finish(7, 0);
    ck_assert_int_eq(w->rank[0].epochs, 1);
}
END_TEST

/* Rank _i of 3 is killed, and a newcomer takes its place. */
START_TEST(killed_and_replaced)
{
    const int old = _i ? 0 : 1;
    start_ranks(3, 10);
    await(has_step, old, 23, "step");
    const long long killed_us = (long long)(1e6 * tutti_clock_s());
    kill_rank(_i, SIGKILL);
    reap(_i);
    await(has_epochs, old, 2, "epochs");
    await(has_moved, old, w->rank[old].moved_us, "step after");
    if (getenv("TUTTI_TEST_SHOW"))
        fprintf(stderr, "%.3f s from SIGKILL to the next step\n",
            1e-6 * (double)(w->rank[old].moved_us - killed_us));
    ck_assert_int_eq(w->rank[old].epoch[1].n, 2);
    start_newcomer(3, 3, old, 0);
    await(has_epochs, 3, 1, "epochs");
    finish(15u & ~(1u << _i), old);
    ck_assert_int_eq(w->rank[old].epoch[2].n, 3);
    ck_assert_int_eq(w->rank[old].held[2], w->rank[old].held[0]);
}
END_TEST

/* 3 to 1, at once. */
START_TEST(two_are_killed)
{
    start_ranks(3, 10);
    await(has_step, 2, 12, "step");
    kill_rank(0, SIGKILL);
    kill_rank(1, SIGKILL);
    reap(0);
    reap(1);
    await(has_epochs, 2, 2, "epochs");
    finish(4, 2);
}
END_TEST

/* One newcomer after the other takes the place of the oldest rank, until none of the first is left: newcomers become
 * rank 0, and take others in. The run goes on from step to step, and newcomers have what the first ranks had. */
START_TEST(all_are_replaced_in_turns)
{
    enum { FIRST = 2, LAST = MOST - 1 };
    start_ranks(FIRST, 10);
    await(has_step, 1, 12, "step");
    for (int r = FIRST; r <= LAST; r++) {
        start_newcomer(r, r, r - 1, 0);
        await(has_epochs, r, 1, "epochs");
        await(has_moved, r, 0, "step");
        const int epochs = w->rank[r].epochs;
        kill_rank(r - FIRST, SIGKILL);
        reap(r - FIRST);
        await(has_epochs, r, epochs + 1, "epochs");
        await(has_moved, r, w->rank[r].moved_us, "step after");
    }
    finish(1u << (LAST - 1) | 1u << LAST, LAST - 1);
    ck_assert_int_eq(next_epoch(0)->epoch, 1);
    ck_assert_int_eq(w->rank[LAST].epoch[w->rank[LAST].epochs - 1].entry[0].id, LAST - 1);
}
END_TEST

/* All older ranks die at once after it has come: it goes on alone, from what they gave it. */
START_TEST(a_newcomer_is_left_alone)
{
    start_two_and_one(10, 0);
    await(has_epochs, 2, 1, "epochs");
    if (_i)
        await(has_step, 2, w->rank[2].epoch[0].snapshot + SNAPSHOTS + 2, "step");
    else
        await(has_moved, 2, 0, "step");
    kill_rank(0, SIGKILL);
    kill_rank(1, SIGKILL);
    reap(0);
    reap(1);
    await(has_epochs, 2, 2, "epochs");
    finish(4, 2);
    ck_assert_int_ge(w->rank[2].epoch[1].snapshot, w->rank[2].epoch[0].snapshot);
}
END_TEST

/* Silence: two of three continue, and the third learns that it is out. */
START_TEST(stopped_and_left_out)
{
    start_ranks(3, 0.4);
    await(has_step, 1, 12, "step");
    kill_rank(_i, SIGSTOP);
    const int old = _i ? 0 : 1;
    await(has_epochs, old, 2, "epochs");
    await(has_step, old, w->rank[old].step + 10, "step");
    kill_rank(_i, SIGCONT);
    await(has_ended, _i, 1, "end");
    ck_assert(!w->rank[_i].finished);
    ck_assert_msg(strstr(w->rank[_i].why, "continue without this rank"), "%s", w->rank[_i].why);
    reap(_i);
    finish(7u & ~(1u << _i), old);
}
END_TEST

/* One of two is silent: the other may not continue, because that one might. It does, because the first has ended for
 * certain. */
START_TEST(half_is_not_enough)
{
    start_ranks(2, 0.4);
    await(has_step, 0, 12, "step");
    kill_rank(1, SIGSTOP);
    await(has_ended, 0, 1, "end");
    ck_assert(!w->rank[0].finished);
    ck_assert_msg(strstr(w->rank[0].why, "more than half"), "%s", w->rank[0].why);
    reap(0);
    kill_rank(1, SIGCONT);
    await(has_epochs, 1, 2, "epochs");
    finish(2, 1);
}
END_TEST

/* It has unread messages when it is killed: only its keeper makes that certain, and one of two is enough then. */
START_TEST(killed_while_stopped)
{
    start_ranks(2, 1.6);
    await(has_step, 0, 12, "step");
    kill_rank(1, SIGSTOP);
    tutti_clock_sleep(0.8);
    kill_rank(1, SIGKILL);
    reap(1);
    await(has_epochs, 0, 2, "epochs");
    finish(1, 0);
}
END_TEST

/* The whole job is stopped for longer than a rank may be silent, and continued: nothing has happened. */
START_TEST(all_are_stopped)
{
    start_ranks(3, 0.6);
    for (int r = 0; r < 3; r++) await(has_step, r, 12, "step");
    for (int r = 0; r < 3; r++) kill_rank(r, SIGSTOP);
    tutti_clock_sleep(1);
    for (int r = 0; r < 3; r++) kill_rank(r, SIGCONT);
    await(has_step, 0, w->rank[0].step + 10, "step");
    finish(7, 0);
    ck_assert_int_eq(w->rank[0].epochs, 1);
}
END_TEST

/* A newcomer does not even connect for its first broadcast: the others continue without it, from the same step. */
START_TEST(a_newcomer_hangs)
{
    start_two_and_one(0.4, 1);
    await(has_epochs, 0, 3, "epochs");
    ck_assert_int_eq(w->rank[0].epoch[1].n, 3);
    ck_assert_int_eq(w->rank[0].epoch[2].n, 2);
    ck_assert_int_eq(w->rank[0].epoch[2].snapshot, w->rank[0].epoch[1].snapshot);
    kill_rank(2, SIGCONT);
    await(has_ended, 2, 1, "end");
    ck_assert(!w->rank[2].finished);
    reap(2);
    finish(3, 0);
}
END_TEST

/* Newcomer 3 waits for a snapshot for longer than join_s; newcomer 2 is taken in before it, and does not answer at
 * once. Newcomer 3 has as long as at first to connect to that one, and is taken in at the next snapshot. */
START_TEST(a_newcomer_that_has_waited_for_long)
{
    start_ranks(2, 10);
    await(has_step, 0, 12, "step");
    w->holds = 1;
    w->join_s = 4;
    start_newcomer(3, 3, 0, 0);
    tutti_clock_sleep(4.1);
    start_newcomer(2, 2, 1, 1);
    tutti_clock_sleep(0.3); /* it is connected to both */
    w->holds = 0;
    await(has_epochs, 2, 1, "epochs");
    await_stop(2);
    kill_rank(2, SIGCONT);
    await(has_epochs, 3, 1, "epochs");
    finish(15, 0);
    ck_assert_int_eq(w->rank[0].epoch[1].n, 3);
    ck_assert_int_eq(w->rank[0].epochs, 3);
}
END_TEST

/* A newcomer whose contact is not there gives up; the run notices nothing. */
START_TEST(a_contact_that_leads_nowhere)
{
    start_ranks(2, 10);
    await(has_step, 0, 12, "step");
    open_door(2, 2);
    w->rank[2].options.silence_s = 0.4;
    memcpy(w->rank[2].contact, "127.0.0.1:1", 12);
    w->rank[2].options.contact = w->rank[2].contact;
    start_process(2);
    close_doors();
    await(has_ended, 2, 1, "end");
    ck_assert(!w->rank[2].finished);
    ck_assert_msg(
        strstr(w->rank[2].why, "no connection to the run: 127.0.0.1 port 1"), "%s", w->rank[2].why);
    reap(2);
    finish(3, 0);
    ck_assert_int_eq(w->rank[0].epochs, 1);
}
END_TEST

/* Ranks are killed at any moment, and others come, until one of the first is left with the newcomers. */
static void run_chaos(uint64_t seed)
{
    uint64_t dice = 0;
    const int old = (int)tutti_rng_below(seed, 1, dice++, 4);
    unsigned set = 15;
    int64_t id = 4;
    start_ranks(4, 10);
    for (int r = 0; r < 4; r++) await(has_epochs, r, 1, "epochs");
    for (int kills = 0; kills < 3; kills++) {
        const int victim = (int)tutti_rng_below(seed, 1, dice++, MOST);
        tutti_clock_sleep(1e-3 * (double)tutti_rng_below(seed, 1, dice++, 60));
        if (victim == old || !(set & 1u << victim)) continue;
        kill_rank(victim, SIGKILL);
        reap(victim);
        set &= ~(1u << victim);
        if (id == MOST || tutti_rng_below(seed, 1, dice++, 2)) continue;
        start_newcomer((int)id, id, old, 0);
        set |= 1u << id++;
    }
    finish(set, old);
}

START_TEST(chaos)
{
    const char *rounds = getenv("TUTTI_TEST_ROUNDS");
    const uint64_t seed = testing_seed(20261128);
    for (uint64_t i = 0; i < (uint64_t)(rounds ? atoi(rounds) : 4); i++) run_chaos(seed + i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_ranks");
    TCase *runs = testing_case(suite, "runs");
    w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w == MAP_FAILED) return 1;
    tcase_add_test(runs, all_train);
    tcase_add_loop_test(runs, killed_and_replaced, 0, 3);
    tcase_add_test(runs, two_are_killed);
    tcase_add_test(runs, all_are_replaced_in_turns);
    tcase_add_loop_test(runs, a_newcomer_is_left_alone, 0, 2);
    tcase_add_loop_test(runs, stopped_and_left_out, 0, 2);
    tcase_add_test(runs, half_is_not_enough);
    tcase_add_test(runs, killed_while_stopped);
    tcase_add_test(runs, all_are_stopped);
    tcase_add_test(runs, a_newcomer_hangs);
    tcase_add_test(runs, a_newcomer_that_has_waited_for_long);
    tcase_add_test(runs, a_contact_that_leads_nowhere);
    tcase_add_test(runs, chaos);
    return testing_run(suite);
}
