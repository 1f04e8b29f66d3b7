/* A ring of messages: every rank's block of data visits all ranks.
 *
 *     mpirun -np 4 ring
 *
 *     rank 0 -> rank 1 -> rank 2 -> rank 3 -> rank 0 ...
 *
 * In each of size - 1 rounds a rank sends on the block that it has received and receives the next,
 * while a task adds the one that it has. Nobody waits for a round to end: StarPU's dependencies on the
 * two buffers say when a block may go on. With blocking sends the ring would stand still. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

enum { COUNT = 100000, EDGE = 3 };

static void add_task(void *buffers[], void *arg)
{
    const float *block = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    float *sum = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) sum[i] += block[i];
}

static struct starpu_codelet add = {
    .cpu_funcs = {add_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "add"};

static float block[2][COUNT], sum[COUNT];

int main(int argc, char **argv)
{
    int granted;
    starpu_data_handle_t handle[2], sum_handle;
    tutti_session *tutti;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return 1;
    int rank = tutti_rank(tutti), size = tutti_size(tutti);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < COUNT; i++) block[0][i] = (float)(rank + i % 100);
    for (int b = 0; b < 2; b++)
        starpu_vector_data_register(
            &handle[b], STARPU_MAIN_RAM, (uintptr_t)block[b], COUNT, sizeof(float));
    starpu_vector_data_register(&sum_handle, STARPU_MAIN_RAM, (uintptr_t)sum, COUNT, sizeof(float));
    tutti_status status = TUTTI_OK;
    for (int round = 0; round < size && !status; round++) {
        starpu_data_handle_t now = handle[round % 2], next = handle[(round + 1) % 2];
        starpu_task_insert(&add, STARPU_R, now, STARPU_RW, sum_handle, 0);
        if (round < size - 1)
            status = tutti_sendrecv(tutti, now, right, next, left, TUTTI_F32, EDGE);
    }
    if (!status) status = tutti_wait(tutti, 60);
    for (int b = 0; b < 2; b++) starpu_data_unregister(handle[b]);
    starpu_data_unregister(sum_handle);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != (float)(size * (size - 1) / 2 + size * (i % 100));
    if (!status && !rank) printf("%d ranks: %d wrong sums of %d\n", size, wrong, COUNT);
    if (!status) status = tutti_detach(tutti);
    starpu_shutdown();
    MPI_Finalize();
    return status || wrong;
}
