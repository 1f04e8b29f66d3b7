/* What priorities gain: a chain of layers, trained on all ranks.
 *
 *     layers [KB of a layer's gradient [ms of a layer's task [steps of a block]]]      8000 20 3
 *
 *   forward 0 1 2 ... 7   backward 7 6 ... 1 0   forward 0 1 2 ...
 *                                  |     |   \_____/ gradient 0 is complete last, and needed first
 *                                sum 7  sum 0
 *
 * On a slow link the sums wait for each other. In the order of the calls, sum 0 is the last, and the next iteration
 * begins when all have ended. With priorities sum 0 goes before those that wait, and the other sums go on while the
 * next iteration runs. Blocks of steps run in turns in two sessions, one of which gives priorities. Prints the median
 * time of a step of both, and their ratio. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tutti/starpu.h>

enum { LAYERS = 8, BLOCKS = 5 };
enum { PLAIN, URGENT, SESSIONS };

static struct timespec
    layer_time; /* a task of a layer; it sleeps, as if another processor computed */

static void forward_task(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    nanosleep(&layer_time, NULL);
}

static void backward_task(void *buffers[], void *arg)
{
    float *g = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    nanosleep(&layer_time, NULL);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[1]); i++) g[i] = 1;
}

static void update_task(void *buffers[], void *arg)
{
    const float *g = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    float *w = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) w[i] += g[i];
}

static struct starpu_codelet forward = {
    .cpu_funcs = {forward_task}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "forward"};
static struct starpu_codelet backward = {.cpu_funcs = {backward_task},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_W},
    .name = "backward"};
static struct starpu_codelet update = {
    .cpu_funcs = {update_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "update"};

static float state[1], *w[LAYERS], *g[LAYERS];
static starpu_data_handle_t state_handle, w_handle[LAYERS], g_handle[LAYERS];

static tutti_status step(tutti_session *tutti)
{
    tutti_status status = TUTTI_OK;
    for (int l = 0; l < LAYERS; l++)
        starpu_task_insert(&forward, STARPU_RW, state_handle, STARPU_R, w_handle[l], 0);
    for (int l = LAYERS - 1; l >= 0 && !status; l--) {
        starpu_task_insert(&backward, STARPU_RW, state_handle, STARPU_W, g_handle[l], 0);
        status = tutti_allreduce(tutti, g_handle[l], TUTTI_F32, TUTTI_SUM);
        starpu_task_insert(&update, STARPU_R, g_handle[l], STARPU_RW, w_handle[l], 0);
    }
    return status;
}

/* Milliseconds per step. */
static double block(tutti_session *tutti, int steps)
{
    tutti_status status = TUTTI_OK;
    MPI_Barrier(MPI_COMM_WORLD);
    double begun_s = MPI_Wtime();
    for (int i = 0; i < steps && !status; i++) status = step(tutti);
    if (!status) status = tutti_wait(tutti, 600);
    if (status) exit(EXIT_FAILURE); /* the log says why */
    starpu_task_wait_for_all();
    return 1e3 * (MPI_Wtime() - begun_s) / steps;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double value[BLOCKS])
{
    qsort(value, BLOCKS, sizeof *value, compare);
    return value[BLOCKS / 2];
}

static void register_data(uint32_t elements)
{
    starpu_variable_data_register(&state_handle, STARPU_MAIN_RAM, (uintptr_t)state, sizeof *state);
    for (int l = 0; l < LAYERS; l++) {
        w[l] = calloc(elements, sizeof *w[l]);
        g[l] = calloc(elements, sizeof *g[l]);
        if (!w[l] || !g[l]) exit(EXIT_FAILURE);
        starpu_vector_data_register(
            &w_handle[l], STARPU_MAIN_RAM, (uintptr_t)w[l], elements, sizeof *w[l]);
        starpu_vector_data_register(
            &g_handle[l], STARPU_MAIN_RAM, (uintptr_t)g[l], elements, sizeof *g[l]);
    }
}

/* Returns whether every weight is what `want` steps give. */
static int unregister_data(uint32_t elements, float want)
{
    int right = 1;
    starpu_data_unregister(state_handle);
    for (int l = 0; l < LAYERS; l++) {
        starpu_data_unregister(w_handle[l]);
        starpu_data_unregister(g_handle[l]);
        for (uint32_t i = 0; i < elements; i++) right &= w[l][i] <= want && w[l][i] >= want;
        free(w[l]);
        free(g[l]);
    }
    return right;
}

int main(int argc, char **argv)
{
    double kb = argc > 1 ? atof(argv[1]) : 8000, ms = argc > 2 ? atof(argv[2]) : 20;
    int steps = argc > 3 ? atoi(argv[3]) : 3;
    uint32_t elements = (uint32_t)(1000 * kb / sizeof(float));
    double time_ms[SESSIONS][BLOCKS];
    tutti_session *tutti[SESSIONS];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &(int){0}); /* this program calls MPI, too */
    if (tutti_start_starpu(NULL)) return 77;
    for (int s = 0; s < SESSIONS; s++)
        if (tutti_attach(MPI_COMM_WORLD, NULL, &tutti[s])) return 77;
    layer_time = (struct timespec){(time_t)(ms / 1000), (long)(1e6 * ms) % 1000000000};
    register_data(elements);
    for (int l = 0; l < LAYERS; l++)
        if (tutti_priority(tutti[URGENT], g_handle[l], LAYERS - l)) return EXIT_FAILURE;
    for (int s = 0; s < SESSIONS; s++) block(tutti[s], 1); /* first, to warm up */
    for (int b = 0; b < BLOCKS; b++)
        for (int s = 0; s < SESSIONS; s++) time_ms[s][b] = block(tutti[s], steps);
    int rank = tutti_rank(tutti[PLAIN]), size = tutti_size(tutti[PLAIN]);
    for (int s = 0; s < SESSIONS; s++)
        if (tutti_detach(tutti[s])) return EXIT_FAILURE;
    int right = unregister_data(elements, (float)(size * SESSIONS * (BLOCKS * steps + 1)));
    double plain = median(time_ms[PLAIN]), urgent = median(time_ms[URGENT]);
    if (!right) printf("rank %d: the weights are wrong\n", rank);
    if (!rank)
        printf("%.1f ms per step in the order of the calls, %.1f ms with priorities: %.3f\n", plain,
            urgent, urgent / plain);
    starpu_shutdown();
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
