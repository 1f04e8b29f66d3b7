/* Shared memory: its blocks; memory that is too small, another process's, or damaged; two threads, one that sleeps, and
 * two processes. tests/collectives/test_places.c has what happens to receives in the arena, and test_tcp.c the cases
 * that all connections share. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/collectives/shared_pair.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(blocks_of_the_arena)
{
    enum { MANY = 200 };
    uint64_t seed = testing_seed(3);
    unsigned char *at[MANY] = {NULL};
    size_t bytes[MANY];
    void *none;
    open_pair();
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t k = tutti_rng_below(seed, i, 0, MANY);
        if (at[k]) {
            ck_assert(is_filled(at[k], bytes[k], (unsigned)k));
            tutti_shm_give(shared[0], at[k]);
            at[k] = NULL;
            continue;
        }
        bytes[k] = tutti_rng_below(seed, i, 1, 30000);
        at[k] = take(0, bytes[k]);
        ck_assert_uint_eq((uintptr_t)at[k] % 64, 0);
        fill(at[k], bytes[k], (unsigned)k);
    }
    for (int k = 0; k < MANY; k++) tutti_shm_give(shared[0], at[k]);
    ck_assert_uint_eq(tutti_shm_used(shared[0]), 0);
    ck_assert_int_eq(tutti_shm_take(shared[0], ARENA + 1, &none), TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(
        strstr(tutti_last_error(), "8388609 bytes does not fit into the 8388608"));
    ck_assert_int_eq(tutti_shm_take(shared[0], SIZE_MAX, &none), TUTTI_ERR_NOMEM);
    ck_assert_ok(tutti_shm_take(shared[0], ARENA, &none)); /* all are one piece again */
    close_pair();
}
END_TEST

/* After a failure, tasks that never end may use memory that was never given back. */
START_TEST(taken_memory_stays_mapped)
{
    tutti_connection_message *r, *s;
    static unsigned char out[LARGE];
    tutti_shm_name name;
    tutti_shm *theirs;
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &shared[e]));
    tutti_shm_get_name(shared[1], &name);
    ck_assert_ok(tutti_shm_map(&name, &theirs));
    ck_assert_ok(tutti_shm_connect(shared[0], 0, theirs, 0, &through, &a));
    ck_assert_ok(tutti_shm_connect(shared[1], 0, shared[0], 0, &through, &b));
    unsigned char *in = take(1, LARGE);
    fill(out, LARGE, 7);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    tutti_connection_pass(b);
    tutti_connection_abandon(b, r);
    tutti_connection_close(b);
    tutti_shm_close(shared[1]);
    ck_assert_uint_eq(in[LARGE - 1], 0xEE);
    /* the other end writes nothing more to a process that has closed */
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    tutti_connection_pass(a);
    ck_assert(has_ended(s, TUTTI_ERR_COMM));
    ck_assert_uint_eq(in[0], 0xEE);
    tutti_connection_close(a);
    tutti_shm_close(theirs);
    tutti_shm_close(shared[0]);
}
END_TEST

START_TEST(memory_is_missing)
{
    struct rlimit before, limit;
    tutti_shm *s;
    const int which = _i ? RLIMIT_AS : RLIMIT_FSIZE;
    const tutti_shm_options large = {
        .rings = 1, .ring_bytes = RING, .arena_bytes = (size_t)1 << 42};
    ck_assert_int_eq(getrlimit((__rlimit_resource_t)which, &before), 0);
    limit = (struct rlimit){(rlim_t)1 << 36, before.rlim_max};
    ck_assert_int_eq(setrlimit((__rlimit_resource_t)which, &limit), 0);
    tutti_status status = tutti_shm_create(&large, &s);
    ck_assert_int_eq(setrlimit((__rlimit_resource_t)which, &before), 0);
    ck_assert_int_eq(status, TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "43980465"));
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), _i ? "ulimit -v" : "ulimit -f"));
}
END_TEST

START_TEST(wrong_arguments)
{
    tutti_shm *s;
    const tutti_shm_options bad[] = {{0, RING, 0}, {1, 100, 0}, {1, 32, 0}, {1, RING, SIZE_MAX}};
    for (int i = 0; i < 4; i++) ck_assert_int_eq(tutti_shm_create(&bad[i], &s), TUTTI_ERR_INVAL);
    open_pair();
    tutti_shm_name name;
    tutti_connection *c;
    ck_assert_int_eq(tutti_shm_connect(shared[0], 1, shared[1], 0, &through, &c), TUTTI_ERR_INVAL);
    tutti_shm_get_name(shared[0], &name);
    name.key += 2;
    ck_assert_int_eq(tutti_shm_map(&name, &s), TUTTI_ERR_COMM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "is another one here"));
    name.file = 12345;
    ck_assert_int_eq(tutti_shm_map(&name, &s), TUTTI_ERR_COMM);
    close_pair();
}
END_TEST

/* The other end writes what it must not: frames into the ring, as a connection would, and its counts. */
START_TEST(the_other_end_is_wrong)
{
    static const struct {
        tutti_tcp_frame frame;
        const char *why;
    } rows[] = {
        {{.kind = TUTTI_TCP_WANT, .bytes = 16, .place = ARENA + 1}, "that it does not share"},
        {{.kind = TUTTI_TCP_WANT, .bytes = ARENA, .place = 2}, "that it does not share"},
        {{.kind = TUTTI_TCP_WANT, .bytes = 16, .place = UINT64_MAX}, "that it does not share"},
        {{.kind = TUTTI_TCP_PLACED, .tag = 1, .bytes = 1}, "places data that was not requested"},
        {{.kind = TUTTI_TCP_PLACED, .tag = 2, .bytes = 0}, "places data that was not requested"},
        {{.kind = TUTTI_TCP_REVOKED, .tag = 1, .bytes = 0}, "answers what was not asked"},
        {{.kind = TUTTI_TCP_EARLY, .bytes = 257}, "sends data that was not requested"},
    };
    const size_t row = (size_t)_i;
    unsigned char out[1000] = {0}, header[TUTTI_TCP_HEADER_BYTES];
    tutti_connection_message *s, *r;
    int done;
    tutti_shm_name name;
    char path[64];
    open_pair();
    unsigned char *in = take(1, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r)); /* number 0 */
    if (row < 3) ck_assert_ok(tutti_connection_isend(b, 0, 0, out, sizeof out, &s));
    tutti_shm_get_name(shared[1], &name);
    snprintf(path, sizeof path, "/proc/self/fd/%lld", (long long)name.file);
    FILE *file = fopen(path, "r+b");
    const uint64_t bytes = row < sizeof rows / sizeof *rows ? sizeof header : 2 * RING;
    if (bytes == sizeof header) tutti_tcp_frame_write(&rows[row].frame, header);
    /* the first ring is behind the first page: the count, and two lines later the bytes */
    ck_assert(file && !fseek(file, 4096 + 128, SEEK_SET) && fwrite(header, sizeof header, 1, file));
    ck_assert(!fseek(file, 4096, SEEK_SET) && fwrite(&bytes, sizeof bytes, 1, file));
    fclose(file);
    tutti_connection_pass(b);
    ck_assert_ptr_nonnull(tutti_connection_broken(b));
    const char *why = bytes == sizeof header ? rows[row].why : "has damaged the shared memory";
    ck_assert_msg(strstr(tutti_connection_broken(b), why), "%s", tutti_connection_broken(b));
    ck_assert_int_eq(tutti_connection_test(r, &done), TUTTI_ERR_COMM);
    if (row < 3) (void)tutti_connection_test(s, &done);
    close_pair();
}
END_TEST
enum { WRONG = 8 };

/* ---- two threads ---- */

enum { ROUNDS = 150, AT_ONCE = 3 };

typedef struct side {
    tutti_connection *c;
    tutti_shm *mine;
    unsigned salt, other;
    int wrong;
} side;

/* Sends and receives messages of three sizes, of which the second lies in the arena, and looks at every byte. */
static void *exchange(void *arg)
{
    static const size_t size[AT_ONCE] = {200, 500000, 9000};
    side *it = arg;
    unsigned char *in[AT_ONCE], *out[AT_ONCE];
    void *placed;
    const int rounds = testing_fewer() ? ROUNDS / 8 : ROUNDS;
    if (tutti_shm_take(it->mine, size[1], &placed)) abort();
    for (int i = 0; i < AT_ONCE; i++) {
        in[i] = i == 1 ? placed : malloc(size[i]);
        out[i] = malloc(size[i]);
    }
    for (int round = 0; round < rounds; round++) {
        tutti_connection_message *m[2 * AT_ONCE];
        int left = 2 * AT_ONCE, done[2 * AT_ONCE] = {0};
        for (int i = 0; i < AT_ONCE; i++) {
            const int tag = round % 2 ? i : 0;
            fill(out[i], size[i], it->salt + (unsigned)(round * AT_ONCE + i));
            if (tutti_connection_irecv(it->c, 0, tag, in[i], size[i], &m[2 * i])) abort();
            if (tutti_connection_isend(it->c, 0, tag, out[i], size[i], &m[2 * i + 1])) abort();
        }
        for (double until_s = tutti_clock_s() + 60; left && tutti_clock_s() < until_s;) {
            tutti_connection_pass(it->c);
            for (int i = 0; i < 2 * AT_ONCE; i++) {
                if (done[i]) continue;
                it->wrong += tutti_connection_test(m[i], &done[i]) != TUTTI_OK;
                left -= done[i];
                if (done[i] && i % 2 == 0)
                    it->wrong += !is_filled(
                        in[i / 2], size[i / 2], it->other + (unsigned)(round * AT_ONCE + i / 2));
            }
        }
        it->wrong += left;
        if (left) break;
    }
    for (int i = 0; i < AT_ONCE; i++) {
        if (i != 1) free(in[i]);
        free(out[i]);
    }
    tutti_shm_give(it->mine, placed);
    return NULL;
}

/* The data are there before the word that they are: with the word first, a byte is seen too early. */
START_TEST(of_two_threads)
{
    pthread_t other;
    open_pair();
    side sides[2] = {{a, shared[0], 5, 1000, 0}, {b, shared[1], 1000, 5, 0}};
    ck_assert_int_eq(pthread_create(&other, NULL, exchange, &sides[1]), 0);
    exchange(&sides[0]);
    pthread_join(other, NULL);
    ck_assert_int_eq(sides[0].wrong + sides[1].wrong, 0);
    ck_assert_uint_eq(tutti_shm_used(shared[0]) + tutti_shm_used(shared[1]), 0);
    close_pair();
}
END_TEST

/* ---- one that sleeps ---- */

/* What wakes it: a message; one that comes as it falls asleep; room in a ring that was full; the other end, which
 * closes; a thread of its own; nothing. With a message there, it does not sleep. */
enum { BY_MESSAGE, AS_IT_SLEEPS, BY_ROOM, BY_THE_END, BY_ITSELF, BY_NOBODY, AWAKE, WAKES };

typedef struct sleeper {
    tutti_connection *c; /* of who sleeps */
    int way;
} sleeper;

static void send_one(void)
{
    static const char out = 1;
    tutti_connection_message *s;
    if (tutti_connection_isend(a, 0, 0, &out, 1, &s)) abort();
    tutti_connection_pass(a);
    if (!has_ended(s, TUTTI_OK)) abort();
}

static int may_move(void *arg)
{
    const sleeper *it = arg;
    const int moves = tutti_connection_may_move(it->c);
    if (it->way == AS_IT_SLEEPS) send_one();
    return moves;
}

static void *disturb(void *arg)
{
    const sleeper *it = arg;
    tutti_clock_sleep(20e-3);
    if (it->way == BY_MESSAGE) send_one();
    if (it->way == BY_ROOM) tutti_connection_pass(b);
    if (it->way == BY_THE_END) tutti_connection_shut(a);
    if (it->way == BY_ITSELF) tutti_shm_wake(shared[1]);
    return NULL;
}

START_TEST(sleeps_until_woken)
{
    static const double most_s = 5, soon_s = 2;
    tutti_connection_message *small[RING + 1];
    static const char out = 1;
    pthread_t other;
    int count = 0;
    open_pair();
    sleeper it = {_i == BY_ROOM ? a : b, _i};
    if (_i == AWAKE) send_one();
    if (_i == BY_ROOM) {
        count = fill_ring(a, 2, small);
        ck_assert_ok(tutti_connection_isend(a, 0, 2, &out, 1, &small[count++]));
        tutti_connection_pass(a);
    }
    ck_assert_int_eq(pthread_create(&other, NULL, disturb, &it), 0);
    const double begun_s = tutti_clock_s();
    const int slept =
        tutti_shm_sleep(shared[_i != BY_ROOM], may_move, &it, _i == BY_NOBODY ? 50e-3 : most_s);
    const double took_s = tutti_clock_s() - begun_s;
    pthread_join(other, NULL);
    ck_assert_int_eq(slept, _i != AWAKE);
    ck_assert_msg(took_s < soon_s, "slept for %g s", took_s);
    if (_i == BY_NOBODY) ck_assert_double_ge(took_s, 45e-3);
    for (int i = 0; i < count; i++) {
        tutti_connection_pass(a);
        ck_assert(has_ended(small[i], TUTTI_OK));
    }
    close_pair();
}
END_TEST

/* ---- two processes ---- */

/* Both names go over a socket, and both sides map the other's memory. */
static tutti_connection *meet(int socket, tutti_shm **mine, tutti_shm **theirs)
{
    tutti_shm_name name;
    tutti_connection *c;
    if (tutti_shm_create(&memory, mine)) abort();
    tutti_shm_get_name(*mine, &name);
    if (write(socket, &name, sizeof name) != sizeof name) abort();
    if (read(socket, &name, sizeof name) != sizeof name) abort();
    if (tutti_shm_map(&name, theirs)) abort();
    if (tutti_shm_connect(*mine, 0, *theirs, 0, &through, &c)) abort();
    return c;
}

/* How the child ends: after it has exchanged messages, with or without closing; with a signal when its data are written
 * and its word is not. */
enum { CLOSES, EXITS, DIES, ENDS };

static void run_child(int socket, int end)
{
    tutti_shm *mine, *theirs;
    tutti_connection *c = meet(socket, &mine, &theirs);
    side it = {c, mine, 1000, 5, 0};
    char go;
    if (end != DIES) {
        exchange(&it);
        if (read(socket, &go, 1) != 1) abort();
        if (end == CLOSES) {
            tutti_connection_close(c);
            tutti_shm_close(mine);
            tutti_shm_close(theirs);
        }
        _exit(it.wrong != 0);
    }
    /* it writes to the memory that it was lent, and never says so */
    if (read(socket, &go, 1) != 1) abort();
    tutti_connection_message *s;
    static unsigned char out[LARGE];
    if (tutti_connection_isend(c, 0, 1, out, LARGE, &s)) abort();
    raise(SIGSTOP); /* the parent sees that it is silent, and not dead */
    raise(SIGKILL);
}

START_TEST(of_two_processes)
{
    int socket[2], status;
    tutti_shm *mine, *theirs;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, socket), 0);
    pid_t child = fork();
    if (!child) {
        close(socket[0]);
        alarm(60);
        run_child(socket[1], _i);
    }
    close(socket[1]);
    tutti_connection *c = meet(socket[0], &mine, &theirs);
    side it = {c, mine, 5, 1000, 0};
    tutti_connection_message *r;
    void *in;
    if (_i != DIES) exchange(&it);
    ck_assert_int_eq(it.wrong, 0);
    ck_assert_ok(tutti_shm_take(mine, LARGE, &in));
    ck_assert_ok(tutti_connection_irecv(c, 0, 1, in, LARGE, &r));
    tutti_connection_pass(c);
    ck_assert_int_eq(write(socket[0], "g", 1), 1);
    if (_i == DIES) {
        ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
        ck_assert(WIFSTOPPED(status));
        for (double until_s = tutti_clock_s() + 0.2; tutti_clock_s() < until_s;)
            tutti_connection_pass(c);
        ck_assert_ptr_null(tutti_connection_broken(c));
        kill(child, SIGCONT);
    }
    /* not waited for yet, it is a zombie */
    for (double until_s = tutti_clock_s() + 30; !tutti_connection_broken(c);) {
        tutti_connection_pass(c);
        ck_assert_msg(tutti_clock_s() < until_s, "the end of a process is not seen");
    }
    ck_assert_str_eq(
        tutti_connection_broken(c), _i == CLOSES ? "has closed the connection" : "has died");
    ck_assert(has_ended(r, TUTTI_ERR_COMM));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, _i == DIES ? SIGKILL : 0);
    /* what it could write to stays */
    tutti_shm_give(mine, in);
    ck_assert_uint_eq(tutti_shm_used(mine), LARGE);
    tutti_connection_close(c);
    tutti_shm_close(mine);
    tutti_shm_close(theirs);
    close(socket[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm");
    TCase *steps = testing_case(suite, "steps");
    tcase_add_test(steps, blocks_of_the_arena);
    tcase_add_test(steps, taken_memory_stays_mapped);
    tcase_add_loop_test(steps, memory_is_missing, 0, 2);
    tcase_add_test(steps, wrong_arguments);
    tcase_add_loop_test(steps, the_other_end_is_wrong, 0, WRONG);
    TCase *apart = testing_case(suite, "apart");
    tcase_add_test(apart, of_two_threads);
    tcase_add_loop_test(apart, sleeps_until_woken, 0, WAKES);
    tcase_add_loop_test(apart, of_two_processes, 0, ENDS);
    return testing_run(suite);
}
