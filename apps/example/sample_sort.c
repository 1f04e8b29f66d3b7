/* Sorts the numbers of all ranks over all ranks, by collectives on StarPU's data:
 *
 *   sort this rank's numbers -> gather samples -> the root picks splitters -> broadcast them
 *     -> cut at the splitters -> alltoall the counts -> alltoallv the numbers -> sort the received ones
 *     -> scan: how many numbers precede this rank's -> allreduce: the largest load, and whose it is
 *
 * In the end no number of a rank is less than any of the ranks before it. Run it under tutti-run. */
#include <tutti/starpu.h>

#include <mpi.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000, SAMPLES = 16 };

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort(void *buffers[], void *arg)
{
    (void)arg;
    qsort((void *)STARPU_VECTOR_GET_PTR(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]),
        sizeof(int64_t), compare);
}
static struct starpu_codelet sorting = {
    .cpu_funcs = {sort}, .cpu_funcs_name = {"sort"}, .nbuffers = 1, .modes = {STARPU_RW}};

/* Evenly spaced elements of a vector: samples of sorted numbers, splitters of sorted samples. */
static void pick(void *buffers[], void *arg)
{
    (void)arg;
    const int64_t *from = (const int64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int64_t *to = (int64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    unsigned all = STARPU_VECTOR_GET_NX(buffers[0]), few = STARPU_VECTOR_GET_NX(buffers[1]);
    for (unsigned i = 0; i < few; i++) to[i] = from[(uint64_t)all * (i + 1) / (few + 1)];
}
static struct starpu_codelet picking = {
    .cpu_funcs = {pick}, .cpu_funcs_name = {"pick"}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};

/* How many of the sorted numbers belong to each rank. */
static void cut(void *buffers[], void *arg)
{
    (void)arg;
    const int64_t *x = (const int64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const int64_t *splitter = (const int64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    int64_t *counts = (int64_t *)STARPU_VECTOR_GET_PTR(buffers[2]);
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]), ranks = STARPU_VECTOR_GET_NX(buffers[2]);
    for (unsigned r = 0, i = 0; r < ranks; r++) {
        unsigned from = i;
        while (i < n && (r + 1 == ranks || x[i] < splitter[r])) i++;
        counts[r] = i - from;
    }
}
static struct starpu_codelet cutting = {.cpu_funcs = {cut},
    .cpu_funcs_name = {"cut"},
    .nbuffers = 3,
    .modes = {STARPU_R, STARPU_R, STARPU_W}};

static starpu_data_handle_t vector(int64_t *x, int64_t n)
{
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)n, sizeof *x);
    return handle;
}

static int64_t *numbers(int64_t n)
{
    int64_t *x = calloc((size_t)n + 1, sizeof *x);
    if (!x) exit(EXIT_FAILURE);
    return x;
}

#define CHECK(call)                                                                                \
    if (call) return EXIT_FAILURE

int main(int argc, char **argv)
{
    tutti_session *tutti;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &(int){0});
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, NULL, &tutti)) return 77;
    int rank = tutti_rank(tutti), size = tutti_size(tutti), root = 0;

    int64_t *x = numbers(COUNT), *samples = numbers(SAMPLES), *all = numbers(size * SAMPLES);
    int64_t *splitters = numbers(size), *out = numbers(size), *in = numbers(size);
    uint64_t state = 88172645463325252u + (uint64_t)rank;
    for (int i = 0; i < COUNT; i++)
        x[i] = (int64_t)((state = state * 6364136223846793005u + 1) >> 44);
    starpu_data_handle_t x_handle = vector(x, COUNT), samples_handle = vector(samples, SAMPLES),
                         all_handle = vector(all, size * SAMPLES),
                         splitters_handle = vector(splitters, size - 1),
                         out_handle = vector(out, size), in_handle = vector(in, size);

    CHECK(starpu_task_insert(&sorting, STARPU_RW, x_handle, 0));
    CHECK(starpu_task_insert(&picking, STARPU_R, x_handle, STARPU_W, samples_handle, 0));
    CHECK(tutti_gather(tutti, samples_handle, all_handle, TUTTI_I64, root));
    if (rank == root) {
        CHECK(starpu_task_insert(&sorting, STARPU_RW, all_handle, 0));
        CHECK(starpu_task_insert(&picking, STARPU_R, all_handle, STARPU_W, splitters_handle, 0));
    }
    CHECK(tutti_broadcast(tutti, splitters_handle, TUTTI_I64, root));
    CHECK(starpu_task_insert(
        &cutting, STARPU_R, x_handle, STARPU_R, splitters_handle, STARPU_W, out_handle, 0));
    CHECK(tutti_alltoall(tutti, out_handle, in_handle, TUTTI_I64));

    /* The program itself needs the counts: it waits for them only. */
    CHECK(tutti_wait_for(tutti, in_handle, 60));
    starpu_data_unregister(in_handle);
    starpu_data_unregister(out_handle);
    int64_t mine = 0;
    for (int r = 0; r < size; r++) mine += in[r];
    int64_t *y = numbers(mine), upto = mine;
    tutti_long_int load = {mine, rank};
    starpu_data_handle_t y_handle = vector(y, mine), upto_handle = vector(&upto, 1), load_handle;
    starpu_variable_data_register(&load_handle, STARPU_MAIN_RAM, (uintptr_t)&load, sizeof load);
    CHECK(tutti_alltoallv(tutti, x_handle, y_handle, TUTTI_I64, out, in));
    CHECK(starpu_task_insert(&sorting, STARPU_RW, y_handle, 0));
    CHECK(tutti_scan(tutti, upto_handle, upto_handle, TUTTI_I64, TUTTI_SUM));
    CHECK(tutti_allreduce(tutti, load_handle, TUTTI_LONG_INT, TUTTI_MAXLOC));

    CHECK(tutti_wait(tutti, 60));
    starpu_data_handle_t handles[] = {
        x_handle, samples_handle, all_handle, splitters_handle, y_handle, upto_handle, load_handle};
    for (int i = 0; i < 7; i++)
        starpu_data_unregister(handles[i]); /* also waits for the last sort */
    CHECK(tutti_detach(tutti));
    for (int64_t i = 1; i < mine; i++) CHECK(y[i - 1] > y[i]);
    printf("rank %d: numbers %lld to %lld of %d, from %lld to %lld; rank %d has the most, %ld\n", rank,
        (long long)(upto - mine), (long long)upto, size * COUNT, (long long)y[0],
        (long long)(mine ? y[mine - 1] : 0), load.index, load.value);
    free(x), free(samples), free(all), free(splitters), free(out), free(in), free(y);
    starpu_shutdown();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
