/* Run by tests/programs/release.sh: a foreign program, on public headers and libtutti alone.
 *
 *   release allreduce | broadcast | stopped [ALGORITHM]
 *
 * A large collective is in flight when the ranks' next one turns out to differ. After tutti_wait the
 * program does what the manual allows: it returns the memory to the system and maps it again for
 * another purpose. Prints the result of tutti_wait, and how many elements were written afterwards.
 * stopped: the last rank is stopped meanwhile, and a rank that still sends to it must not free anything. */
#include <tutti/starpu.h>

#include <mpi.h>
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 6000000, MARK = 7, LOOKS = 1000 };
static const double patience_s = 30, short_s = 3;

static float *take_memory(void *at)
{
    int fixed = at ? MAP_FIXED : 0;
    void *memory = mmap(at, COUNT * sizeof(float), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Lets MPI finish its pending work. */
static void make_progress(void)
{
    for (int i = 0; i < LOOKS; i++) {
        int found;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        usleep(200);
    }
}

static void reuse(int rank, float *x)
{
    size_t written = 0;
    munmap(x, COUNT * sizeof *x);
    float *y = take_memory(x);
    for (size_t i = 0; y && i < COUNT; i++) y[i] = MARK;
    make_progress();
    for (size_t i = 0; y && i < COUNT; i++) written += y[i] != MARK;
    printf("rank %d: %zu elements written\n", rank, written);
}

static void insert(tutti_session *session, int broadcasts, int rank, starpu_data_handle_t big,
    starpu_data_handle_t small)
{
    if (broadcasts)
        tutti_broadcast(session, big, TUTTI_F32, 0);
    else
        tutti_allreduce(session, big, TUTTI_F32, TUTTI_SUM);
    tutti_allreduce(session, small, TUTTI_F32, rank ? TUTTI_SUM : TUTTI_MAX);
}

int main(int argc, char **argv)
{
    int level, rank, size, stopped = argc > 1 && !strcmp(argv[1], "stopped");
    float small[16] = {0}, *big = take_memory(NULL);
    tutti_session *session;
    starpu_data_handle_t handle[2];
    const tutti_attach_options options = {.algorithm = argc > 2 ? argv[2] : NULL};
    if (argc < 2 || !big) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.catch_signals = 0;
    if (tutti_start_starpu(&conf) || tutti_attach(MPI_COMM_WORLD, &options, &session)) return 3;
    starpu_vector_data_register(&handle[0], STARPU_MAIN_RAM, (uintptr_t)big, COUNT, sizeof *big);
    starpu_vector_data_register(&handle[1], STARPU_MAIN_RAM, (uintptr_t)small, 16, sizeof *small);
    if (stopped && rank == size - 1) {
        raise(SIGSTOP);
        pause();
    }
    insert(session, !strcmp(argv[1], "broadcast"), rank, handle[0], handle[1]);
    tutti_status status = tutti_wait(session, stopped ? short_s : patience_s);
    printf("rank %d: %s\n", rank, tutti_status_name(status));
    fflush(stdout);
    if (status == TUTTI_ERR_TIMEOUT) { /* Tutti still owns the data: the program can only end */
        usleep(500000);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    starpu_data_unregister(handle[0]);
    starpu_data_unregister(handle[1]);
    reuse(rank, big);
    status = tutti_detach(session);
    starpu_shutdown();
    MPI_Finalize();
    return status == TUTTI_ERR_MISMATCH ? 0 : 5;
}
