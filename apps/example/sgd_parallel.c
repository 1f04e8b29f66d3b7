/* sgd_sequential.c, data-parallel: every rank has its own samples, and a task of the same graph, between `gradient` and
 * `update`, sums the gradient over all ranks. Nothing else changes: compare the two with diff. */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

enum { FEATURES = 8, BATCH = 64, STEPS = 100 };

/* A sample's features: a fixed pseudo-random function of its number, in [-1, 1). */
static float feature(unsigned sample, unsigned index)
{
    unsigned h = (sample * 2654435761u) ^ (index * 2246822519u);
    h = (h ^ (h >> 15)) * 2246822519u;
    h = (h ^ (h >> 13)) * 3266489917u;
    return (float)((h ^ (h >> 16)) & 0xffffff) / 8388608.0f - 1.0f;
}

static float truth(unsigned index)
{
    return (float)index - 3.5f;
}

/* gradient of the mean squared error over samples first ... first+BATCH-1 */
static void gradient_task(void *buffers[], void *arg)
{
    const float *w = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    float *g = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
    unsigned first;
    starpu_codelet_unpack_args(arg, &first);
    for (unsigned f = 0; f < FEATURES; f++) g[f] = 0;
    for (unsigned s = first; s < first + BATCH; s++) {
        float error = 0;
        for (unsigned f = 0; f < FEATURES; f++) error += (w[f] - truth(f)) * feature(s, f);
        for (unsigned f = 0; f < FEATURES; f++) g[f] += 2.0f * error * feature(s, f) / BATCH;
    }
}

static void update_task(void *buffers[], void *arg)
{
    const float *g = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    float *w = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
    float rate;
    starpu_codelet_unpack_args(arg, &rate);
    for (unsigned f = 0; f < FEATURES; f++) w[f] -= rate * g[f];
}

static struct starpu_codelet gradient = {
    .cpu_funcs = {gradient_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};
static struct starpu_codelet update = {
    .cpu_funcs = {update_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};

int main(void)
{
    float w[FEATURES] = {0}, g[FEATURES] = {0}, rate = 0.3f;
    starpu_data_handle_t w_handle, g_handle;
    tutti_session *tutti;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &(int){0});
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return 77;
    rate /= (float)tutti_size(tutti); /* the mean over a batch `size` times as large */
    starpu_vector_data_register(&w_handle, STARPU_MAIN_RAM, (uintptr_t)w, FEATURES, sizeof *w);
    starpu_vector_data_register(&g_handle, STARPU_MAIN_RAM, (uintptr_t)g, FEATURES, sizeof *g);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned first = (step * (unsigned)tutti_size(tutti) + (unsigned)tutti_rank(tutti)) * BATCH;
        starpu_task_insert(&gradient, STARPU_R, w_handle, STARPU_W, g_handle, STARPU_VALUE, &first,
            sizeof first, 0);
        if (tutti_allreduce(tutti, g_handle, TUTTI_F32, TUTTI_SUM)) return EXIT_FAILURE;
        starpu_task_insert(
            &update, STARPU_R, g_handle, STARPU_RW, w_handle, STARPU_VALUE, &rate, sizeof rate, 0);
    }
    if (tutti_detach(tutti)) return EXIT_FAILURE; /* waits for every collective */
    starpu_task_wait_for_all();
    starpu_data_unregister(w_handle);
    starpu_data_unregister(g_handle);
    starpu_shutdown();
    MPI_Finalize();
    float worst = 0;
    for (unsigned f = 0; f < FEATURES; f++)
        if (fabsf(w[f] - truth(f)) > worst) worst = fabsf(w[f] - truth(f));
    printf("w0 %.6f, largest error %.1e\n", w[0], worst);
    return worst < 1e-3f ? EXIT_SUCCESS : EXIT_FAILURE;
}
