/* Several threads inside MPI: one thread's request gets a handle that another thread has just freed; and all threads
 * learn at the same time that the run ends. */
#include "tests/mpicheck/programs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* If set, the library's calls below return late after they have freed a request, so that other threads are sure to
 * get the handle in between. The library calls these functions by their dynamic names. */
static bool slow;

static void later(int found)
{
    if (slow && found) usleep(300);
}

#define REAL(name, type)                                                                           \
    static type *real;                                                                             \
    if (!real) real = (type *)dlsym(RTLD_NEXT, #name)

__attribute__((visibility("default"))) int PMPI_Test(
    MPI_Request *request, int *flag, MPI_Status *status)
{
    typedef int test(MPI_Request *, int *, MPI_Status *);
    REAL(PMPI_Test, test);
    int rc = real(request, flag, status);
    later(*flag);
    return rc;
}

__attribute__((visibility("default"))) int PMPI_Testsome(
    int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses)
{
    typedef int testsome(int, MPI_Request *, int *, int *, MPI_Status *);
    REAL(PMPI_Testsome, testsome);
    int rc = real(count, requests, found, indices, statuses);
    later(*found);
    return rc;
}

/* Must be called by one thread at a time. */
__attribute__((visibility("default"))) int PMPI_Abort(MPI_Comm comm, int code)
{
    typedef int stop(MPI_Comm, int);
    static atomic_int inside;
    REAL(PMPI_Abort, stop);
    if (atomic_fetch_add(&inside, 1) > 0) real(comm, 99);
    usleep(300000);
    return real(comm, code);
}

enum { THREADS = 3, ROUNDS = 60, LENGTH = 64 };

/* Runs one function in several threads, each with its number. */
static void in_threads(void *(*run)(void *))
{
    pthread_t threads[THREADS];
    slow = true;
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    slow = false;
}

static void *exchange_and_wait(void *number)
{
    int tag = (int)(intptr_t)number;
    for (int n = 0; n < ROUNDS; n++) {
        int out[LENGTH], in[LENGTH];
        MPI_Request r[2];
        for (int i = 0; i < LENGTH; i++) out[i] = n + i;
        MPI_Irecv(in, LENGTH, MPI_INT, 1 - check_rank, tag, WORLD, &r[0]);
        MPI_Isend(out, LENGTH, MPI_INT, 1 - check_rank, tag, WORLD, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        memset(out, -1, sizeof(out));
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        if (in[1] != n + 1) MPI_Abort(WORLD, 3);
    }
    return NULL;
}

static void threads_wait(void)
{
    in_threads(exchange_and_wait);
}

static void *exchange_and_poll(void *number)
{
    int tag = 2 * (int)(intptr_t)number, found, indices[4];
    int *out = malloc(2 * LENGTH * sizeof(int)), in[2][LENGTH];
    if (!out) abort();
    for (int n = 0; n < ROUNDS; n++) {
        MPI_Request r[4];
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < LENGTH; i++) out[k * LENGTH + i] = n + k + i;
            MPI_Irecv(in[k], LENGTH, MPI_INT, 1 - check_rank, tag + k, WORLD, &r[2 * k]);
            MPI_Isend(
                out + k * LENGTH, LENGTH, MPI_INT, 1 - check_rank, tag + k, WORLD, &r[2 * k + 1]);
        }
        for (int left = 4; left > 0; left -= found) {
            MPI_Testsome(4, r, &found, indices, MPI_STATUSES_IGNORE);
            if (found == MPI_UNDEFINED) break;
            for (int i = 0; i < found; i++)
                if (indices[i] % 2) memset(out + indices[i] / 2 * LENGTH, -1, LENGTH * sizeof(int));
        }
        if (in[1][2] != n + 3) MPI_Abort(WORLD, 3);
    }
    free(out);
    return NULL;
}

static void threads_testsome(void)
{
    in_threads(exchange_and_poll);
}

static void *receive(void *number)
{
    int x;
    MPI_Recv(&x, 1, MPI_INT, 1 - check_rank, (int)(intptr_t)number, WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Nobody sends; every thread is ordered to end the run. */
static void threads_all_receive(void)
{
    in_threads(receive);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool over;

static void *wait_until_over(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!over) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void end_all(void)
{
    pthread_mutex_lock(&lock);
    over = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *send_late(void *unused)
{
    int x = 1;
    sleep(3);
    MPI_Send(&x, 1, MPI_INT, 1 - check_rank, 0, WORLD);
    return unused;
}

/* Of more threads than most programs have, the last one computes, and then sends. */
static void threads_many(void)
{
    enum { MANY = 300 };
    pthread_t threads[MANY + 1];
    pthread_attr_t small;
    int x;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 0; i <= MANY; i++)
        if (pthread_create(&threads[i], &small, i < MANY ? wait_until_over : send_late, NULL))
            MPI_Abort(WORLD, 3);
    MPI_Recv(&x, 1, MPI_INT, 1 - check_rank, 0, WORLD, MPI_STATUS_IGNORE);
    end_all();
    for (int i = 0; i <= MANY; i++) pthread_join(threads[i], NULL);
}

static atomic_bool computed;

static void *compute(void *unused)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec + 9);
    computed = true;
    return unused;
}

/* One thread computes, and another one polls meanwhile. */
static void funneled_compute(void)
{
    pthread_t thread;
    int flag;
    if (check_rank == 0) {
        pthread_create(&thread, NULL, compute, NULL);
        while (!computed) MPI_Iprobe(MPI_ANY_SOURCE, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(WORLD);
}

/* One thread polls for ever, and the other one waits for it. */
static void funneled_waits(void)
{
    pthread_t thread;
    int flag = 0;
    if (check_rank == 0) {
        pthread_create(&thread, NULL, wait_until_over, NULL);
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        end_all();
        pthread_join(thread, NULL);
    }
    MPI_Barrier(WORLD);
}

static const check_case cases[] = {
    {"threads_wait_ok", 2, NULL, threads_wait},
    {"threads_testsome_ok", 2, NULL, threads_testsome},
    {"threads_all_receive_nok", 2, "deadlock", threads_all_receive},
    {"threads_many_ok", 2, NULL, threads_many},
    {"funneled_compute_ok", 2, NULL, funneled_compute},
    {"funneled_waits_nok", 2, "deadlock", funneled_waits},
};
const check_table check_threads = {cases, sizeof cases / sizeof *cases};
