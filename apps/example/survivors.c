/* Counts primes on ranks that come and go: whichever rank dies, the count is right.
 *
 *     tutti-run --elastic 1:4 -n 4 --max-restarts 10 survivors
 *
 * The ranks share the next 1000 numbers in each step, and sum how many primes they found. Every rank adds the sum to
 * its total, which is all that a snapshot holds. */
#include <inttypes.h>
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

enum { BLOCK = 1000 };

static int64_t steps = 2000, found, total;
static starpu_data_handle_t found_handle, total_handle;
static int rank, size;
static volatile int leaving;

static int64_t *number(void *data)
{
    return (int64_t *)STARPU_VARIABLE_GET_PTR(data);
}

static int is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return n > 1;
}

/* Of the numbers from `begin` on, each `size`-th. */
static void count_task(void *data[], void *arg)
{
    int64_t begin;
    int from, by;
    starpu_codelet_unpack_args(arg, &begin, &from, &by);
    *number(data[0]) = 0;
    for (int64_t n = begin + from; n < begin + BLOCK; n += by) *number(data[0]) += is_prime(n);
}

static void add_task(void *data[], void *arg)
{
    (void)arg;
    *number(data[1]) += *number(data[0]);
}

static struct starpu_codelet count = {
    .cpu_funcs = {count_task}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet add = {
    .cpu_funcs = {add_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};

/* ---- what the run calls ---- */

static void save(void *ctx, void *snapshot)
{
    (void)ctx;
    starpu_data_acquire(total_handle, STARPU_R);
    *(int64_t *)snapshot = total;
    starpu_data_release(total_handle);
}

static void load(void *ctx, const void *snapshot)
{
    (void)ctx;
    starpu_data_acquire(total_handle, STARPU_W);
    total = *(const int64_t *)snapshot;
    starpu_data_release(total_handle);
}

static tutti_status enter(void *ctx, tutti_session *session, const tutti_epoch *epoch)
{
    (void)ctx;
    (void)session;
    rank = epoch->rank;
    size = epoch->size;
    printf("number %" PRId64 " is rank %d of %d from step %" PRId64 " on: %d lost, %d joined\n",
        epoch->number, rank, size, epoch->step, epoch->lost, epoch->joined);
    fflush(stdout);
    return TUTTI_OK;
}

static tutti_status step(void *ctx, tutti_session *tutti, int64_t i, int *last)
{
    const int64_t begin = i * BLOCK;
    (void)ctx;
    starpu_task_insert(&count, STARPU_W, found_handle, STARPU_VALUE, &begin, sizeof begin,
        STARPU_VALUE, &rank, sizeof rank, STARPU_VALUE, &size, sizeof size, 0);
    const tutti_status status = tutti_allreduce(tutti, found_handle, TUTTI_I64, TUTTI_SUM);
    if (status) return status;
    starpu_task_insert(&add, STARPU_R, found_handle, STARPU_RW, total_handle, 0);
    *last = i + 1 == steps;
    return TUTTI_OK;
}

/* SIGTERM: this rank leaves the others alone. */
static void leave(int signal)
{
    (void)signal;
    leaving = 1;
}

int main(int argc, char **argv)
{
    if (argc > 1) steps = atoll(argv[1]);
    if (tutti_start_starpu(NULL)) return 1;
    signal(SIGTERM, leave);
    starpu_variable_data_register(&found_handle, STARPU_MAIN_RAM, (uintptr_t)&found, sizeof found);
    starpu_variable_data_register(&total_handle, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    char settings[64];
    snprintf(settings, sizeof settings, "steps=%" PRId64, steps);
    const tutti_membership_program program = {.bytes = sizeof total,
        .save = save,
        .load = load,
        .step = step,
        .enter = enter,
        .leaving = &leaving,
        .settings = settings};
    const tutti_status status = tutti_membership_run(NULL, &program);
    starpu_data_unregister(found_handle);
    starpu_data_unregister(total_handle);
    starpu_shutdown();
    if (!status && rank == 0)
        printf("%" PRId64 " primes below %" PRId64 "\n", total, steps * BLOCK);
    return status == TUTTI_OK ? 0 : status == TUTTI_ERR_INTERRUPTED ? 143 : 1;
}
