/* A pipeline of two stages: rank 0 has the first layer of a network, rank 1 the second.
 *
 *     mpirun -np 2 pipeline          the same on one rank: mpirun -np 1 pipeline
 *
 *     rank 0   F0 F1    B0 F2 B1 F3 B2 B3 update
 *     rank 1      F0 B0 F1 B1 F2 B2 F3 B3 update
 *
 * A batch is cut into micro-batches, so that both ranks have something to do. Rank 0 keeps the hidden
 * values of two of them, in two slots: the forward pass F2 writes where B0 has read, and StarPU's
 * dependencies make it wait. So the order of the calls is all the flow control there is; had F2 been
 * submitted before B0, B0 would use the values of another micro-batch. The weights are the same on one
 * rank and on two, bit for bit. */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/starpu.h>

enum { INPUTS = 4, HIDDEN = 16, IMAGES = 32, MICRO_BATCHES = 4, SLOTS = 2, STEPS = 60 };
enum { VALUES, GRADIENTS }; /* edges: what rank 0 sends to rank 1, and what comes back */

typedef struct layer {
    float weights[HIDDEN * INPUTS], gradient[HIDDEN * INPUTS];
    starpu_data_handle_t weights_handle, gradient_handle;
    int count;
} layer;

static layer first = {.count = HIDDEN * INPUTS}, second = {.count = HIDDEN};
static float hidden[SLOTS][IMAGES * HIDDEN], dhidden[SLOTS][IMAGES * HIDDEN], loss;
static starpu_data_handle_t hidden_handle[SLOTS], dhidden_handle[SLOTS], loss_handle;
static int has_first, has_second; /* which layers this rank has */

/* A number in [-1, 1) that depends on `key` alone. */
static float noise(unsigned key)
{
    unsigned h = (key ^ (key >> 16)) * 2246822519u;
    h = (h ^ (h >> 13)) * 3266489917u;
    return (float)((h ^ (h >> 16)) & 0xffffff) / 8388608.0f - 1.0f;
}

static float input(unsigned sample, unsigned i)
{
    return noise(sample * INPUTS + i + 1);
}

static float wanted(unsigned sample)
{
    return tanhf(2 * input(sample, 0) - input(sample, 1)) + 0.5f * input(sample, 2);
}

static float *floats(void *buffer)
{
    return (float *)STARPU_VECTOR_GET_PTR(buffer);
}

/* hidden = tanh(weights input) */
static void forward_task(void *buffers[], void *arg)
{
    const float *w = floats(buffers[0]);
    float *h = floats(buffers[1]);
    unsigned sample;
    starpu_codelet_unpack_args(arg, &sample);
    for (unsigned n = 0; n < IMAGES; n++)
        for (unsigned k = 0; k < HIDDEN; k++) {
            float x = 0;
            for (unsigned i = 0; i < INPUTS; i++) x += w[k * INPUTS + i] * input(sample + n, i);
            h[n * HIDDEN + k] = tanhf(x);
        }
}

/* output = weights hidden; adds to the loss and to the gradient of the weights, writes that of hidden. */
static void loss_task(void *buffers[], void *arg)
{
    const float *w = floats(buffers[0]), *h = floats(buffers[1]);
    float *dw = floats(buffers[2]), *dh = floats(buffers[3]), *sum = floats(buffers[4]);
    unsigned sample;
    starpu_codelet_unpack_args(arg, &sample);
    for (unsigned n = 0; n < IMAGES; n++) {
        float error = -wanted(sample + n);
        for (unsigned k = 0; k < HIDDEN; k++) error += w[k] * h[n * HIDDEN + k];
        sum[0] += error * error / (IMAGES * MICRO_BATCHES);
        for (unsigned k = 0; k < HIDDEN; k++) {
            float d = 2 * error / (IMAGES * MICRO_BATCHES);
            dw[k] += d * h[n * HIDDEN + k];
            dh[n * HIDDEN + k] = d * w[k];
        }
    }
}

static void backward_task(void *buffers[], void *arg)
{
    const float *h = floats(buffers[0]), *dh = floats(buffers[1]);
    float *dw = floats(buffers[2]);
    unsigned sample;
    starpu_codelet_unpack_args(arg, &sample);
    for (unsigned n = 0; n < IMAGES; n++)
        for (unsigned k = 0; k < HIDDEN; k++) {
            float y = h[n * HIDDEN + k], d = dh[n * HIDDEN + k] * (1 - y * y);
            for (unsigned i = 0; i < INPUTS; i++) dw[k * INPUTS + i] += d * input(sample + n, i);
        }
}

static void update_task(void *buffers[], void *arg)
{
    float *w = floats(buffers[0]), *dw = floats(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) {
        w[i] -= 0.2f * dw[i];
        dw[i] = 0;
    }
}

static void clear_task(void *buffers[], void *arg)
{
    (void)arg;
    floats(buffers[0])[0] = 0;
}

static struct starpu_codelet forward = {
    .cpu_funcs = {forward_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};
static struct starpu_codelet judge = {.cpu_funcs = {loss_task},
    .nbuffers = 5,
    .modes = {STARPU_R, STARPU_R, STARPU_RW, STARPU_W, STARPU_RW}};
static struct starpu_codelet backward = {
    .cpu_funcs = {backward_task}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}};
static struct starpu_codelet update = {
    .cpu_funcs = {update_task}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}};
static struct starpu_codelet clear = {
    .cpu_funcs = {clear_task}, .nbuffers = 1, .modes = {STARPU_W}};

static unsigned sample_of(unsigned step, unsigned m)
{
    return (step * MICRO_BATCHES + m) * IMAGES;
}

/* The forward pass of a micro-batch through the first layer. */
static tutti_status submit_forward(tutti_session *tutti, unsigned step, unsigned m)
{
    unsigned sample = sample_of(step, m);
    if (!has_first) return TUTTI_OK;
    starpu_task_insert(&forward, STARPU_R, first.weights_handle, STARPU_W, hidden_handle[m % SLOTS],
        STARPU_VALUE, &sample, sizeof sample, 0);
    return has_second ? TUTTI_OK
                      : tutti_send(tutti, hidden_handle[m % SLOTS], TUTTI_F32, 1, VALUES);
}

/* The rest: through the second layer and the loss, and back. */
static tutti_status submit_backward(tutti_session *tutti, unsigned step, unsigned m)
{
    unsigned sample = sample_of(step, m);
    starpu_data_handle_t h = hidden_handle[m % SLOTS], dh = dhidden_handle[m % SLOTS];
    tutti_status status = TUTTI_OK;
    if (has_second && !has_first) status = tutti_recv(tutti, h, TUTTI_F32, 0, VALUES);
    if (status) return status;
    if (has_second)
        starpu_task_insert(&judge, STARPU_R, second.weights_handle, STARPU_R, h, STARPU_RW,
            second.gradient_handle, STARPU_W, dh, STARPU_RW, loss_handle, STARPU_VALUE, &sample,
            sizeof sample, 0);
    if (has_second && !has_first) return tutti_send(tutti, dh, TUTTI_F32, 0, GRADIENTS);
    if (!has_second) status = tutti_recv(tutti, dh, TUTTI_F32, 1, GRADIENTS);
    if (status) return status;
    starpu_task_insert(&backward, STARPU_R, h, STARPU_R, dh, STARPU_RW, first.gradient_handle,
        STARPU_VALUE, &sample, sizeof sample, 0);
    return TUTTI_OK;
}

static tutti_status submit_step(tutti_session *tutti, unsigned step)
{
    tutti_status status = TUTTI_OK;
    starpu_task_insert(&clear, STARPU_W, loss_handle, 0);
    for (unsigned m = 0; m < SLOTS && !status; m++) status = submit_forward(tutti, step, m);
    for (unsigned m = 0; m < MICRO_BATCHES && !status; m++) {
        status = submit_backward(tutti, step, m);
        if (!status && m + SLOTS < MICRO_BATCHES) status = submit_forward(tutti, step, m + SLOTS);
    }
    if (has_first)
        starpu_task_insert(
            &update, STARPU_RW, first.weights_handle, STARPU_RW, first.gradient_handle, 0);
    if (has_second)
        starpu_task_insert(
            &update, STARPU_RW, second.weights_handle, STARPU_RW, second.gradient_handle, 0);
    return status;
}

static void register_floats(starpu_data_handle_t *handle, float *data, int count)
{
    starpu_vector_data_register(
        handle, STARPU_MAIN_RAM, (uintptr_t)data, (uint32_t)count, sizeof *data);
}

static void open_layer(layer *l, unsigned seed)
{
    for (int i = 0; i < l->count; i++) l->weights[i] = noise(seed + (unsigned)i);
    register_floats(&l->weights_handle, l->weights, l->count);
    register_floats(&l->gradient_handle, l->gradient, l->count);
}

static void close_layer(layer *l)
{
    starpu_data_unregister(l->weights_handle);
    starpu_data_unregister(l->gradient_handle);
}

int main(int argc, char **argv)
{
    int granted;
    tutti_session *tutti;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return EXIT_FAILURE;
    int rank = tutti_rank(tutti), size = tutti_size(tutti);
    if (size > 2) {
        fprintf(stderr, "pipeline: 1 or 2 ranks, not %d\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    has_first = rank == 0;
    has_second = rank == size - 1;
    open_layer(&first, 1u << 30);
    open_layer(&second, 1u << 31);
    register_floats(&loss_handle, &loss, 1);
    for (int s = 0; s < SLOTS; s++) {
        register_floats(&hidden_handle[s], hidden[s], IMAGES * HIDDEN);
        register_floats(&dhidden_handle[s], dhidden[s], IMAGES * HIDDEN);
    }
    tutti_status status = TUTTI_OK;
    for (unsigned step = 0; step < STEPS && !status; step++) status = submit_step(tutti, step);
    if (!status) status = tutti_detach(tutti); /* waits for every message */
    starpu_task_wait_for_all();
    close_layer(&first);
    close_layer(&second);
    starpu_data_unregister(loss_handle);
    for (int s = 0; s < SLOTS; s++) {
        starpu_data_unregister(hidden_handle[s]);
        starpu_data_unregister(dhidden_handle[s]);
    }
    starpu_shutdown();
    MPI_Finalize();
    if (!status && has_first) printf("first layer: weight 0 is %.9g\n", first.weights[0]);
    if (!status && has_second)
        printf("second layer: weight 0 is %.9g, loss %.9g\n", second.weights[0], loss);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
