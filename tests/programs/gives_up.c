/* A program of tutti_membership_run whose rank number 1 fails in step 25; the others continue without it. In each step
 * the ranks add up how many they are; the first one says in how many steps that was right, so many seconds after the
 * run: gives_up SECONDS. */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>
#include <unistd.h>

enum { STEPS = 60, BAD = 25 };

static int64_t ones, right, number, size, rank;
static starpu_data_handle_t handle;

static void save(void *ctx, void *snapshot)
{
    (void)ctx;
    *(int64_t *)snapshot = right;
}

static void load(void *ctx, const void *snapshot)
{
    (void)ctx;
    right = *(const int64_t *)snapshot;
}

static tutti_status enter(void *ctx, tutti_session *session, const tutti_epoch *epoch)
{
    (void)ctx;
    (void)session;
    number = epoch->number;
    rank = epoch->rank;
    size = epoch->size;
    return TUTTI_OK;
}

static tutti_status step(void *ctx, tutti_session *tutti, int64_t i, int *last)
{
    (void)ctx;
    if (number == 1 && i == BAD) return TUTTI_ERR_IO;
    starpu_data_acquire(handle, STARPU_W);
    ones = 1;
    starpu_data_release(handle);
    const tutti_status status = tutti_allreduce(tutti, handle, TUTTI_I64, TUTTI_SUM);
    if (status) return status;
    starpu_data_acquire(handle, STARPU_R);
    right += ones == size;
    starpu_data_release(handle);
    *last = i + 1 == STEPS;
    return TUTTI_OK;
}

int main(int argc, char **argv)
{
    if (tutti_start_starpu(NULL)) return 1;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&ones, sizeof ones);
    const tutti_membership_program program = {
        .bytes = sizeof right, .save = save, .load = load, .step = step, .enter = enter};
    const tutti_status status = tutti_membership_run(NULL, &program);
    starpu_data_unregister(handle);
    starpu_shutdown();
    if (!status && rank == 0) {
        sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
        printf("%" PRId64 " of %d steps with %" PRId64 " ranks at last\n", right, STEPS, size);
    }
    return status != TUTTI_OK;
}
