/* Several concurrent sessions of one program, over the rows, the columns and all ranks of a grid, with
 * MPI_THREAD_SERIALIZED:
 *
 *     sessions DESIGN ALGORITHM ROUNDS
 *
 * Sums of all sessions are in flight together and depend on each other through StarPU's data. The program's
 * own MPI_ functions replace the library's and count the threads inside MPI. Exit status: 0 if every sum is
 * right and no two threads were inside MPI at once; 2 if a session is refused; else 1. */
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

static atomic_int inside, collisions;

#define ONE_AT_A_TIME(call)                                                                        \
    do {                                                                                           \
        if (atomic_fetch_add(&inside, 1)) atomic_fetch_add(&collisions, 1);                        \
        int code = call;                                                                           \
        atomic_fetch_sub(&inside, 1);                                                              \
        return code;                                                                               \
    } while (0)

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    ONE_AT_A_TIME(PMPI_Isend(data, count, type, to, tag, comm, request));
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    ONE_AT_A_TIME(PMPI_Irecv(data, count, type, from, tag, comm, request));
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    ONE_AT_A_TIME(PMPI_Test(request, done, status));
}

int MPI_Testsome(
    int count, MPI_Request requests[], int *ended, int indices[], MPI_Status statuses[])
{
    ONE_AT_A_TIME(PMPI_Testsome(count, requests, ended, indices, statuses));
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    ONE_AT_A_TIME(PMPI_Comm_idup(comm, copy, request));
}

int MPI_Comm_free(MPI_Comm *comm)
{
    ONE_AT_A_TIME(PMPI_Comm_free(comm));
}

enum { SESSIONS = 3, ELEMENTS = 3000 };

typedef struct state {
    int rank, size, sessions;
    tutti_session *session[SESSIONS];
    double data[ELEMENTS];
    starpu_data_handle_t handle;
} state;

static void set_to_one(void *buffers[], void *arg)
{
    (void)arg;
    double *x = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) x[i] = 1;
}

static struct starpu_codelet one = {
    .cpu_funcs = {set_to_one}, .nbuffers = 1, .modes = {STARPU_W}, .name = "one"};

/* Rows of two ranks; a column has the ranks of one parity. */
static tutti_status attach(state *s, const tutti_attach_options *options)
{
    MPI_Comm comm[SESSIONS] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_WORLD};
    MPI_Comm_split(MPI_COMM_WORLD, s->rank / 2, s->rank, &comm[0]);
    MPI_Comm_split(MPI_COMM_WORLD, s->rank % 2, s->rank, &comm[1]);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < SESSIONS && !status; i++) {
        status = tutti_attach(comm[i], options, &s->session[i]);
        if (!status) s->sessions++;
    }
    return status;
}

/* Sums of ones over rows, then over columns, then over all: in flight one behind another, round after round. */
static tutti_status run(state *s, int rounds)
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < rounds && !status; r++) {
        starpu_task_insert(&one, STARPU_W, s->handle, 0);
        for (int i = 0; i < SESSIONS && !status; i++)
            status = tutti_allreduce(s->session[i], s->handle, TUTTI_F64, TUTTI_SUM);
    }
    for (int i = 0; i < SESSIONS && !status; i++) status = tutti_wait(s->session[i], 60);
    return status;
}

static int wrong(state *s)
{
    int found = 0;
    double want = 0; /* over all ranks, the sum over the column of each row's sum */
    for (int rank = 0; rank < s->size; rank++)
        for (int other = rank % 2; other < s->size; other += 2)
            want += other / 2 * 2 + 1 < s->size ? 2 : 1;
    starpu_data_acquire(s->handle, STARPU_R);
    for (int i = 0; i < ELEMENTS; i++) found += s->data[i] != want;
    starpu_data_release(s->handle);
    return found;
}

int main(int argc, char **argv)
{
    static state s;
    int granted;
    if (argc != 4) return 1;
    const tutti_attach_options options = {.design = argv[1], .algorithm = argv[2]};
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    if (tutti_start_starpu(NULL)) return 77;
    starpu_vector_data_register(
        &s.handle, STARPU_MAIN_RAM, (uintptr_t)s.data, ELEMENTS, sizeof *s.data);
    tutti_status status = attach(&s, &options);
    int refused = status == TUTTI_ERR_UNSUPPORTED;
    if (!status) status = run(&s, atoi(argv[3]));
    int found = status ? 0 : wrong(&s);
    for (int i = 0; i < s.sessions; i++) {
        tutti_status left = tutti_detach(s.session[i]);
        if (!status) status = left;
    }
    printf("rank %d: %s, %d wrong, %d collisions\n", s.rank, tutti_status_name(status), found,
        collisions);
    starpu_data_unregister(s.handle);
    starpu_shutdown();
    MPI_Finalize();
    return refused ? 2 : status || found || collisions;
}
