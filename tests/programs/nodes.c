/* A program with two StarPU workers, each with its own memory node if the environment sets that up: tasks on
 * both write the data that Tutti's collectives sum, broadcast and gather. Exits with 77 if StarPU has only one node. */
#include <tutti/starpu.h>

#include <mpi.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4, ROUNDS = 6, SKIPPED = 77 };
static const double patience_s = 60;

static void add_ten(void *buffers[], void *arg)
{
    float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 0; i < COUNT; i++) x[i] += 10;
}

static void read_first(void *buffers[], void *arg)
{
    *(float *)arg = ((const float *)STARPU_VECTOR_GET_PTR(buffers[0]))[0];
}

static void read_last(void *buffers[], void *arg)
{
    const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    *(float *)arg = x[STARPU_VECTOR_GET_NX(buffers[0]) - 1];
}

static struct starpu_codelet adder = {.cpu_funcs = {add_ten}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet first = {
    .cpu_funcs = {read_first}, .nbuffers = 1, .modes = {STARPU_R}};
static struct starpu_codelet last = {.cpu_funcs = {read_last}, .nbuffers = 1, .modes = {STARPU_R}};

static void submit(struct starpu_codelet *codelet, tutti_handle data, int worker, float *arg)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->cl_arg = arg;
    task->handles[0] = data;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    if (starpu_task_submit(task)) abort();
}

static int check(int rank, const char *what, float got, float wanted)
{
    if (got == wanted) return 0;
    printf("rank %d: %s: %g, not %g\n", rank, what, (double)got, (double)wanted);
    return 1;
}

/* The program sets the values in main memory; a task on the other node adds to them. */
static void set_five(tutti_handle data)
{
    starpu_data_acquire(data, STARPU_W);
    for (int i = 0; i < COUNT; i++) ((float *)starpu_data_get_local_ptr(data))[i] = 5;
    starpu_data_release(data);
    submit(&adder, data, 1, NULL);
}

/* Returns the number of errors. */
static int run(tutti_session *tutti)
{
    int rank = tutti_rank(tutti), size = tutti_size(tutti), wrong = 0;
    float home[COUNT] = {1, 2, 3, 4}, wanted = 4, seen[5] = {0};
    tutti_handle sum, spread, gathered;
    starpu_vector_data_register(&sum, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    starpu_vector_data_register(&spread, -1, 0, COUNT, sizeof(float));
    starpu_vector_data_register(&gathered, -1, 0, (uint32_t)(COUNT * size), sizeof(float));
    for (int k = 0; k < ROUNDS; k++) {
        submit(&adder, sum, (k + rank) % 2, NULL);
        if (tutti_allreduce(tutti, sum, TUTTI_F32, TUTTI_SUM)) return 1;
        wanted = (wanted + 10) * (float)size;
    }
    submit(&last, sum, 1, &seen[0]);
    submit(&last, sum, 0, &seen[1]);
    if (tutti_allgather(tutti, sum, gathered, TUTTI_F32)) return 1;
    submit(&last, gathered, 1, &seen[2]);
    if (rank == 0) set_five(spread); /* the others have no value yet */
    if (tutti_broadcast(tutti, spread, TUTTI_F32, 0)) return 1;
    submit(&first, spread, 0, &seen[3]);
    submit(&adder, spread, 1, NULL);
    if (tutti_barrier(tutti, spread)) return 1; /* it orders, and changes nothing */
    submit(&first, spread, 0, &seen[4]);
    if (tutti_wait(tutti, patience_s)) return 1;
    starpu_task_wait_for_all();
    starpu_data_unregister(sum);
    starpu_data_unregister(spread);
    starpu_data_unregister(gathered);
    wrong += check(rank, "sum at home", home[COUNT - 1], wanted);
    wrong += check(rank, "sum on worker 1", seen[0], wanted);
    wrong += check(rank, "sum on worker 0", seen[1], wanted);
    wrong += check(rank, "gathered", seen[2], wanted);
    wrong += check(rank, "spread", seen[3], 15);
    wrong += check(rank, "after a barrier", seen[4], 25);
    return wrong;
}

int main(int argc, char **argv)
{
    int level;
    tutti_session *tutti;
    struct starpu_conf conf;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    if (tutti_start_starpu(&conf)) MPI_Abort(MPI_COMM_WORLD, 1);
    int many = starpu_memory_nodes_get_count() > 1 && starpu_cpu_worker_get_count() > 1;
    int result = SKIPPED;
    if (many) {
        if (tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) MPI_Abort(MPI_COMM_WORLD, 1);
        result = run(tutti) != 0;
        if (tutti_detach(tutti)) result = 1;
    }
    starpu_shutdown();
    MPI_Finalize();
    return result;
}
