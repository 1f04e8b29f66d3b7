/* Heat in a plate, which is divided among the ranks by rows. In each step a rank needs the rows of its
 * neighbours next to its own: they are put into its memory, as remote buffers.
 *
 *     TUTTI_TRANSPORT=shm mpirun -np 4 halo
 *
 * A rank has two buffers for each neighbour: one that it puts, with its own border, and one that it gets.
 * A task that computes a step reads the buffers that were got, and writes the next borders. StarPU's
 * dependencies do the rest: a put follows the task that wrote its buffer, and the next task follows the
 * gets. The plate is the same on any number of ranks, bit for bit. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/starpu.h>

enum { ROWS = 60, COLUMNS = 2000, STEPS = 50 };
enum { DOWN, UP, EDGES };   /* edges: to the next rank, and to the last one */
enum { PUT, GET, BUFFERS }; /* a rank's buffers of an edge */

static int rank, size, rows;
static float *plate, *next_plate;
static starpu_data_handle_t plate_handle, buffer[EDGES][BUFFERS]; /* NULL: no neighbour there */
static starpu_data_handle_t cold, unread[EDGES];                  /* where there is no neighbour */

static float *floats(void *data)
{
    return (float *)STARPU_VECTOR_GET_PTR(data);
}

/* Row i of this rank's, or the neighbour's. */
static const float *row(const float *all, const float *above, const float *below, int i)
{
    return i < 0 ? above : i == rows ? below : all + (size_t)i * COLUMNS;
}

static void step_task(void *data[], void *arg)
{
    float *all = floats(data[0]), *first = floats(data[3]), *last = floats(data[4]);
    const float *above = floats(data[1]), *below = floats(data[2]);
    (void)arg;
    for (int i = 0; i < rows; i++) {
        const float *here = row(all, above, below, i), *up = row(all, above, below, i - 1),
                    *down = row(all, above, below, i + 1);
        float *next = next_plate + (size_t)i * COLUMNS;
        for (int j = 0; j < COLUMNS; j++) {
            float left = j ? here[j - 1] : 0, right = j + 1 < COLUMNS ? here[j + 1] : 0;
            next[j] = 0.2f * (here[j] + up[j] + down[j] + left + right);
        }
    }
    memcpy(all, next_plate, (size_t)rows * COLUMNS * sizeof *all);
    memcpy(first, all, COLUMNS * sizeof *all);
    memcpy(last, all + (size_t)(rows - 1) * COLUMNS, COLUMNS * sizeof *all);
}

static struct starpu_codelet step = {.cpu_funcs = {step_task},
    .nbuffers = 5,
    .modes = {STARPU_RW, STARPU_R, STARPU_R, STARPU_W, STARPU_W}};

/* The plate is warm at one end. */
static void borders_task(void *data[], void *arg)
{
    const float *all = floats(data[0]);
    (void)arg;
    memcpy(floats(data[1]), all, COLUMNS * sizeof *all);
    memcpy(floats(data[2]), all + (size_t)(rows - 1) * COLUMNS, COLUMNS * sizeof *all);
}

static struct starpu_codelet borders = {
    .cpu_funcs = {borders_task}, .nbuffers = 3, .modes = {STARPU_R, STARPU_W, STARPU_W}};

/* What is put down is the last row, and what is got from above belongs to the same edge of the rank above. */
static tutti_status open_buffers(tutti_session *tutti)
{
    tutti_status status = TUTTI_OK;
    if (rank + 1 < size) {
        status = tutti_register(tutti, TUTTI_F32, COLUMNS, rank + 1, DOWN, &buffer[DOWN][PUT]);
        if (!status)
            status = tutti_register(tutti, TUTTI_F32, COLUMNS, rank + 1, UP, &buffer[UP][GET]);
    }
    if (rank > 0 && !status) {
        status = tutti_register(tutti, TUTTI_F32, COLUMNS, rank - 1, UP, &buffer[UP][PUT]);
        if (!status)
            status = tutti_register(tutti, TUTTI_F32, COLUMNS, rank - 1, DOWN, &buffer[DOWN][GET]);
    }
    return status;
}

static tutti_status exchange(tutti_session *tutti)
{
    tutti_status status = TUTTI_OK;
    for (int edge = 0; edge < EDGES && !status; edge++) {
        if (buffer[edge][PUT]) status = tutti_put(tutti, buffer[edge][PUT]);
        if (buffer[edge][GET] && !status) status = tutti_get(tutti, buffer[edge][GET]);
    }
    return status;
}

static starpu_data_handle_t handle_of(int edge, int use)
{
    if (buffer[edge][use]) return buffer[edge][use];
    return use == PUT ? unread[edge] : cold;
}

static void register_floats(starpu_data_handle_t *handle, float *data, int count)
{
    starpu_vector_data_register(
        handle, STARPU_MAIN_RAM, (uintptr_t)data, (uint32_t)count, sizeof *data);
}

static tutti_status run_steps(tutti_session *tutti)
{
    tutti_status status = TUTTI_OK;
    starpu_data_handle_t first = handle_of(UP, PUT), last = handle_of(DOWN, PUT);
    starpu_task_insert(&borders, STARPU_R, plate_handle, STARPU_W, first, STARPU_W, last, 0);
    for (int i = 0; i < STEPS && !status; i++) {
        status = exchange(tutti);
        if (!status)
            starpu_task_insert(&step, STARPU_RW, plate_handle, STARPU_R, handle_of(DOWN, GET),
                STARPU_R, handle_of(UP, GET), STARPU_W, first, STARPU_W, last, 0);
    }
    return status;
}

int main(int argc, char **argv)
{
    int granted;
    tutti_session *tutti;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return EXIT_FAILURE;
    rank = tutti_rank(tutti);
    size = tutti_size(tutti);
    rows = ROWS / size;
    if (ROWS % size) {
        fprintf(stderr, "halo: %d rows do not divide among %d ranks\n", ROWS, size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    plate = calloc((size_t)rows * COLUMNS, sizeof *plate);
    next_plate = calloc((size_t)rows * COLUMNS, sizeof *plate);
    float *others = calloc((EDGES + 1) * COLUMNS, sizeof *others);
    if (!plate || !next_plate || !others) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < rows * COLUMNS; i++) plate[i] = rank == 0 && i < COLUMNS ? 100 : 0;
    register_floats(&plate_handle, plate, rows * COLUMNS);
    register_floats(&cold, others, COLUMNS);
    for (int edge = 0; edge < EDGES; edge++)
        register_floats(&unread[edge], others + (edge + 1) * COLUMNS, COLUMNS);
    tutti_status status = open_buffers(tutti);
    if (!status) status = run_steps(tutti);
    if (!status) status = tutti_detach(tutti); /* waits for all puts and gets */
    starpu_task_wait_for_all();
    starpu_data_unregister(plate_handle);
    starpu_data_unregister(cold);
    for (int edge = 0; edge < EDGES; edge++) starpu_data_unregister(unread[edge]);
    starpu_shutdown();
    double heat = 0, all_heat = 0;
    for (int i = 0; i < rows * COLUMNS; i++) heat += plate[i];
    MPI_Reduce(&heat, &all_heat, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (!status && rank == 0) printf("%d steps: the heat is %.6f\n", STEPS, all_heat);
    free(plate);
    free(next_plate);
    free(others);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
