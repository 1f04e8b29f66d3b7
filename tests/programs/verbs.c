/* Run by tests/programs/verbs.sh: a foreign program, on public headers and libtutti alone. Every call that inserts a
 * collective, in place and not, with data of several kinds, and the calls that wait. Exits with the number of wrong
 * results. */
#include <tutti/starpu.h>

#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, MOST = 16, ROOM = 4096 };

static tutti_session *session;
static int rank, size, wrong;

static void expect(int right, const char *what, int line)
{
    if (right) return;
    printf("rank %d of %d: line %d: %s\n", rank, size, line, what);
    wrong++;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define GOOD(call) expect((call) == TUTTI_OK, #call, __LINE__)
#define REFUSED(call) expect((call) == TUTTI_ERR_INVAL, #call, __LINE__)

/* ---- data: vectors of 64-bit numbers that encode rank and index ---- */

typedef struct data {
    int64_t x[ROOM];
    int n;
    starpu_data_handle_t handle;
} data;

static int64_t number(int of, int64_t i)
{
    return 1000 * (of + 1) + i;
}

/* n elements of this rank, or -1 everywhere. */
static data *vector(int64_t n, int filled)
{
    data *d = calloc(1, sizeof *d);
    if (!d) abort();
    d->n = (int)n;
    for (int64_t i = 0; i < ROOM; i++) d->x[i] = filled ? number(rank, i) : -1;
    starpu_vector_data_register(
        &d->handle, STARPU_MAIN_RAM, (uintptr_t)d->x, (uint32_t)n, sizeof *d->x);
    return d;
}

/* Waits for the collectives on it and returns its elements. */
static int64_t *take(data *d)
{
    GOOD(tutti_wait_for(session, d->handle, 60));
    starpu_data_unregister(d->handle);
    EXPECT(d->n == ROOM || d->x[d->n] == -1 || d->x[d->n] == number(rank, d->n));
    return d->x;
}

static int64_t sum_to(int last, int64_t i)
{
    int64_t sum = 0;
    for (int r = 0; r <= last; r++) sum += number(r, i);
    return sum;
}

/* ---- the calls ---- */

static void reduce(int in_place)
{
    int root = size - 1;
    data *send = vector(N, 1), *send2 = vector(N, 1), *send3 = vector(N, 1), *send4 = vector(N, 1);
    data *all = vector(N, in_place), *one = vector(N, in_place), *part = vector(N, in_place);
    data *scan = vector(N, in_place);
    tutti_handle a = all->handle, o = one->handle, p = part->handle, s = scan->handle;
    if (in_place) {
        GOOD(tutti_allreduce(session, a, TUTTI_I64, TUTTI_SUM));
        GOOD(tutti_reduce(session, o, TUTTI_I64, TUTTI_SUM, root));
        GOOD(tutti_reduce_scatter(session, p, TUTTI_I64, TUTTI_SUM));
        GOOD(tutti_scan(session, s, s, TUTTI_I64, TUTTI_SUM));
    } else {
        GOOD(tutti_allreduce_to(session, send->handle, a, TUTTI_I64, TUTTI_SUM));
        GOOD(tutti_reduce_to(session, send2->handle, o, TUTTI_I64, TUTTI_SUM, root));
        GOOD(tutti_reduce_scatter_to(session, send3->handle, p, TUTTI_I64, TUTTI_SUM));
        GOOD(tutti_scan(session, send4->handle, s, TUTTI_I64, TUTTI_SUM));
    }
    take(all), take(one), take(part), take(scan);
    take(send), take(send2), take(send3), take(send4);
    int from = N / size * rank + (rank < N % size ? rank : N % size);
    int to = from + N / size + (rank < N % size);
    for (int i = 0; i < N; i++) {
        EXPECT(all->x[i] == sum_to(size - 1, i));
        EXPECT(rank != root || one->x[i] == sum_to(size - 1, i));
        EXPECT(i < from || i >= to || part->x[i] == sum_to(size - 1, i));
        EXPECT(scan->x[i] == sum_to(rank, i));
        EXPECT(send->x[i] == number(rank, i) && send2->x[i] == number(rank, i));
        EXPECT(send3->x[i] == number(rank, i) && send4->x[i] == number(rank, i));
    }
    data *of[] = {send, send2, send3, send4, all, one, part, scan};
    for (int i = 0; i < 8; i++) free(of[i]);
}

/* Rank r has 1 + r % 3 vectors. */
static void vectors(int in_place)
{
    data *of[3], *all = vector(N, 0), *sum;
    tutti_handle handle[3];
    int mine = 1 + rank % 3;
    for (int k = 0; k < mine; k++) {
        of[k] = vector(N, 1);
        handle[k] = of[k]->handle;
    }
    sum = in_place ? of[0] : all;
    GOOD(tutti_allreduce_vectors(session, mine, handle, sum->handle, TUTTI_I64, TUTTI_SUM));
    take(all);
    for (int k = 0; k < mine; k++) take(of[k]);
    for (int i = 0; i < N; i++) {
        int64_t expected = 0;
        for (int r = 0; r < size; r++) expected += (1 + r % 3) * number(r, i);
        EXPECT(sum->x[i] == expected);
        for (int k = in_place; k < mine; k++) EXPECT(of[k]->x[i] == number(rank, i));
    }
    for (int k = 0; k < mine; k++) free(of[k]);
    free(all);
}

/* The length of part r, which begins at *begin; counts NULL: all parts have N elements. */
static int64_t part_of(const int64_t *counts, int r, int64_t *begin)
{
    *begin = counts ? 0 : r * N;
    for (int q = 0; counts && q < r; q++) *begin += counts[q];
    return counts ? counts[r] : N;
}

static void gather(int in_place, const int64_t *counts)
{
    int root = size / 2;
    int64_t own, mine = part_of(counts, rank, &own), last;
    int64_t length = part_of(counts, size - 1, &last);
    int64_t all = last + length;
    data *send = vector(mine, 1), *everywhere = vector(all, in_place),
         *there = vector(all, in_place);
    tutti_handle e = everywhere->handle, t = there->handle, s = send->handle;
    /* in place, the part begins with the same numbers as the whole */
    if (counts) {
        GOOD(tutti_allgatherv(session, in_place ? e : s, e, TUTTI_I64, counts));
        GOOD(tutti_gatherv(session, in_place ? t : s, in_place || rank == root ? t : NULL,
            TUTTI_I64, counts, root));
    } else {
        GOOD(tutti_allgather(session, in_place ? e : s, e, TUTTI_I64));
        GOOD(tutti_gather(
            session, in_place ? t : s, in_place || rank == root ? t : NULL, TUTTI_I64, root));
    }
    take(everywhere), take(there), take(send);
    for (int r = 0; r < size; r++) {
        int64_t begin, n = part_of(counts, r, &begin);
        for (int64_t i = 0; i < n; i++) {
            int64_t value = number(r, in_place ? begin + i : i);
            EXPECT(everywhere->x[begin + i] == value);
            EXPECT(rank != root || there->x[begin + i] == value);
        }
    }
    free(send), free(everywhere), free(there);
}

static void scatter(int in_place, const int64_t *counts)
{
    int root = size - 1;
    int64_t own, mine = part_of(counts, rank, &own), last;
    int64_t length = part_of(counts, size - 1, &last);
    data *send = vector(last + length, 1),
         *recv = vector(in_place ? last + length : mine, in_place);
    tutti_handle from = in_place ? recv->handle : rank == root ? send->handle : NULL;
    if (counts)
        GOOD(tutti_scatterv(session, from, recv->handle, TUTTI_I64, counts, root));
    else
        GOOD(tutti_scatter(session, from, recv->handle, TUTTI_I64, root));
    take(recv), take(send);
    for (int64_t i = 0; i < mine; i++)
        EXPECT(recv->x[in_place ? own + i : i] == number(root, own + i));
    for (int64_t i = 0; in_place && i < last + length; i++)
        EXPECT((i >= own && i < own + mine) || recv->x[i] == number(rank, i));
    free(send), free(recv);
}

/* How many elements rank r sends to rank q; may be 0. */
static int64_t piece(int r, int q)
{
    return (r + 2 * q) % 4;
}

static void alltoall(int in_place)
{
    data *send = vector(N * size, 1), *recv = vector(N * size, in_place);
    GOOD(tutti_alltoall(session, in_place ? recv->handle : send->handle, recv->handle, TUTTI_I64));
    take(recv), take(send);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) EXPECT(recv->x[r * N + i] == number(r, rank * N + i));
    free(send), free(recv);
}

static void alltoallv(void)
{
    int64_t out[MOST], in[MOST], outs = 0, ins = 0;
    for (int r = 0; r < size; r++) {
        outs += out[r] = piece(rank, r);
        ins += in[r] = piece(r, rank);
    }
    data *send = vector(outs, 1), *recv = vector(ins, 0);
    GOOD(tutti_alltoallv(session, send->handle, recv->handle, TUTTI_I64, out, in));
    memset(out, -1, sizeof out); /* they were copied */
    take(recv), take(send);
    for (int64_t r = 0, at = 0; r < size; r++) {
        int64_t begin = 0;
        for (int q = 0; q < rank; q++) begin += piece((int)r, q);
        for (int i = 0; i < in[r]; i++) EXPECT(recv->x[at++] == number((int)r, begin + i));
    }
    free(send), free(recv);
}

/* ---- types and operators ---- */

/* x -> a x + b after x -> c x + d: does not commute. */
typedef struct line {
    double a, b;
} line;

static void after(
    void *ctx, tutti_dtype dtype, int64_t count, const void *left, const void *right, void *result)
{
    const line *l = left, *r = right;
    line *to = result;
    EXPECT(dtype == TUTTI_C128 && ctx == &session);
    for (int64_t i = 0; i < count; i++) to[i] = (line){l[i].a * r[i].a, l[i].b * r[i].a + r[i].b};
}

static void own_operator(void)
{
    tutti_reduce_op op;
    line x[N], y[N], product = {1, 0}, prefix = {1, 0};
    GOOD(tutti_operator(session, "after", after, &session, 0, &op));
    for (int i = 0; i < N; i++) x[i] = y[i] = (line){rank + 2, i};
    starpu_data_handle_t all, scan;
    starpu_vector_data_register(&all, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof *x);
    starpu_vector_data_register(&scan, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof *y);
    GOOD(tutti_allreduce(session, all, TUTTI_C128, op));
    GOOD(tutti_scan(session, scan, scan, TUTTI_C128, op));
    REFUSED(tutti_scan(session, scan, scan, TUTTI_C128, (tutti_reduce_op)(op + 1)));
    REFUSED(tutti_scan(session, scan, scan, TUTTI_C128, (tutti_reduce_op)(op - 1)));
    GOOD(tutti_wait(session, INFINITY));
    starpu_data_unregister(all);
    starpu_data_unregister(scan);
    for (int i = 0; i < N; i++) {
        product = prefix = (line){1, 0};
        for (int r = 0; r < size; r++) {
            line next = {r + 2, i};
            product = (line){product.a * next.a, product.b * next.a + next.b};
            if (r == rank) prefix = product;
        }
        EXPECT(x[i].a == product.a && x[i].b == product.b);
        EXPECT(y[i].a == prefix.a && y[i].b == prefix.b);
    }
}

/* blocks: the algorithm is MPI's, which has no type for a bf16. */
static void types(int blocks)
{
    tutti_double_int place[2] = {{-rank % 3, rank}, {(rank + 1) % size, rank}};
    double _Complex z = 1 + rank * I;
    uint16_t bits[4] = {(uint16_t)(1 << rank), 7, (uint16_t)rank, 0};
    uint16_t half[2] = {0x3f80, 0xc040}; /* 1 and -3 */
    starpu_data_handle_t matrix, variable, block, halves;
    starpu_vector_data_register(&halves, STARPU_MAIN_RAM, (uintptr_t)half, 2, sizeof *half);
    starpu_vector_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)place, 2, sizeof *place);
    starpu_variable_data_register(&variable, STARPU_MAIN_RAM, (uintptr_t)&z, sizeof z);
    starpu_matrix_data_register(&block, STARPU_MAIN_RAM, (uintptr_t)bits, 2, 2, 2, sizeof *bits);
    GOOD(tutti_allreduce(session, matrix, TUTTI_DOUBLE_INT, TUTTI_MINLOC));
    GOOD(tutti_allreduce(session, variable, TUTTI_C128, TUTTI_SUM));
    GOOD(tutti_allreduce(session, block, TUTTI_U16, TUTTI_BOR));
    if (!blocks) GOOD(tutti_allreduce(session, halves, TUTTI_BF16, TUTTI_SUM));
    REFUSED(tutti_allreduce(session, halves, TUTTI_BF16, TUTTI_BAND));
    REFUSED(tutti_allreduce(session, halves, TUTTI_F32, TUTTI_SUM));
    REFUSED(tutti_allreduce(session, block, TUTTI_U16, TUTTI_MINLOC));
    REFUSED(tutti_allreduce(session, variable, TUTTI_C128, TUTTI_MAX));
    GOOD(tutti_barrier(session, NULL));
    GOOD(tutti_barrier(session, block));
    GOOD(tutti_wait_for(session, block, INFINITY));
    GOOD(tutti_wait(session, 60));
    GOOD(tutti_wait(session, 0)); /* all have ended: no waiting */
    starpu_data_unregister(matrix);
    starpu_data_unregister(variable);
    starpu_data_unregister(block);
    starpu_data_unregister(halves);
    for (int i = 0; i < 2 && !blocks; i++) {
        uint32_t wide = (uint32_t)half[i] << 16;
        float sum;
        memcpy(&sum, &wide, sizeof sum);
        EXPECT(sum == (float)((i ? -3 : 1) * size)); /* exact up to 256 */
    }
    int least = size > 2 ? 2 : size - 1;
    EXPECT(place[0].value == -least && place[0].index == least);
    EXPECT(place[1].value == 0 && place[1].index == size - 1);
    EXPECT(z == size + size * (size - 1) / 2 * I);
    EXPECT(bits[0] == (1 << size) - 1 && bits[1] == 7 && bits[3] == 0);
}

/* Elements that hold several values of a type are taken where the call says so. */
static void several(void)
{
    const tutti_dtype doubles = tutti_several(TUTTI_F64);
    double pair[2] = {rank, 1};
    starpu_data_handle_t variable;
    double _Complex z[N];
    double point[N][3];
    starpu_data_handle_t numbers, points;
    for (int i = 0; i < N; i++) {
        z[i] = i + rank * I;
        for (int c = 0; c < 3; c++) point[i][c] = 10 * rank * (c - 1) + i;
    }
    starpu_vector_data_register(&numbers, STARPU_MAIN_RAM, (uintptr_t)z, N, sizeof *z);
    starpu_vector_data_register(&points, STARPU_MAIN_RAM, (uintptr_t)point, N, sizeof *point);
    starpu_variable_data_register(&variable, STARPU_MAIN_RAM, (uintptr_t)pair, sizeof pair);
    REFUSED(tutti_allreduce(session, numbers, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_allreduce(session, points, TUTTI_F64, TUTTI_MAX));
    REFUSED(tutti_allreduce(session, variable, TUTTI_F64, TUTTI_SUM));
    REFUSED(tutti_broadcast(session, variable, TUTTI_F64, 0));
    GOOD(tutti_allreduce(session, numbers, doubles, TUTTI_SUM));
    GOOD(tutti_allreduce(session, points, doubles, TUTTI_MAX));
    GOOD(tutti_allreduce(session, variable, doubles, TUTTI_SUM));
    REFUSED(tutti_allreduce(session, points, tutti_several(TUTTI_C128), TUTTI_SUM)); /* 1.5 */
    GOOD(tutti_wait(session, 60));
    starpu_data_unregister(variable);
    EXPECT(pair[0] == size * (size - 1) / 2 && pair[1] == size);
    starpu_data_unregister(numbers);
    starpu_data_unregister(points);
    for (int i = 0; i < N; i++) {
        EXPECT(z[i] == size * i + size * (size - 1) / 2 * I);
        EXPECT(point[i][0] == i && point[i][1] == i && point[i][2] == 10 * (size - 1) + i);
    }
}

/* ---- waiting for one handle ---- */

static void wait_until_told(void *buffers[], void *arg)
{
    (void)buffers;
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE)) starpu_sleep(1e-3);
}
static struct starpu_codelet waiting = {.cpu_funcs = {wait_until_told},
    .cpu_funcs_name = {"wait"},
    .nbuffers = 1,
    .modes = {STARPU_RW}};

/* Waiting for one handle does not wait for a collective whose data a task holds back. */
static void wait_for_one(void)
{
    static int told;
    data *early = vector(N, 1), *late = vector(N, 1);
    struct starpu_task *task = starpu_task_create();
    task->cl = &waiting;
    task->cl_arg = &told;
    task->handles[0] = late->handle;
    EXPECT(!starpu_task_submit(task));
    GOOD(tutti_allreduce(session, early->handle, TUTTI_I64, TUTTI_SUM));
    GOOD(tutti_allreduce(session, late->handle, TUTTI_I64, TUTTI_SUM));
    GOOD(tutti_wait_for(session, early->handle, 60));
    char before[1024];
    snprintf(before, sizeof before, "%s", tutti_last_error());
    EXPECT(tutti_wait_for(session, late->handle, 0) == TUTTI_ERR_TIMEOUT);
    EXPECT(tutti_wait(session, 0) == TUTTI_ERR_TIMEOUT);
    EXPECT(!strcmp(before, tutti_last_error())); /* polling is not an error */
    EXPECT(tutti_wait(session, 0.01) == TUTTI_ERR_TIMEOUT);
    REFUSED(tutti_wait_for(session, late->handle, -1));
    REFUSED(tutti_wait_for(session, NULL, 1));
    __atomic_store_n(&told, 1, __ATOMIC_RELEASE);
    take(late), take(early);
    EXPECT(late->x[1] == sum_to(size - 1, 1) && early->x[0] == sum_to(size - 1, 0));
    free(early), free(late);
}

static void refuse(void)
{
    data *d = vector(N * size + 1, 1), *e = vector(N, 1);
    int64_t counts[MOST] = {0};
    tutti_reduce_op op;
    for (int r = 0; r < size; r++) counts[r] = N;
    REFUSED(tutti_allgather(session, d->handle, d->handle, size > 1 ? TUTTI_I64 : TUTTI_F32));
    REFUSED(tutti_allgather(session, e->handle, d->handle, TUTTI_I64));
    REFUSED(tutti_allreduce_to(session, e->handle, d->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_to(session, NULL, d->handle, TUTTI_I64, TUTTI_SUM));
    tutti_handle two[] = {d->handle, e->handle}, none[] = {e->handle, NULL};
    REFUSED(tutti_allreduce_vectors(session, 0, none, e->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_vectors(session, 17, none, e->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_vectors(session, 2, none, e->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_vectors(session, 1, NULL, e->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_vectors(session, 2, two, d->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_allreduce_vectors(session, 2, two, e->handle, TUTTI_I64, TUTTI_SUM));
    REFUSED(tutti_scatter(session, NULL, e->handle, TUTTI_I64, rank));
    REFUSED(tutti_gather(session, e->handle, NULL, TUTTI_I64, rank));
    REFUSED(tutti_gather(session, e->handle, NULL, TUTTI_I64, size));
    REFUSED(tutti_gatherv(session, e->handle, d->handle, TUTTI_I64, NULL, 0));
    REFUSED(tutti_alltoallv(session, d->handle, d->handle, TUTTI_I64, counts, counts));
    REFUSED(tutti_alltoallv(session, d->handle, e->handle, TUTTI_I64, counts, NULL));
    counts[0] = -1;
    REFUSED(tutti_allgatherv(session, e->handle, d->handle, TUTTI_I64, counts));
    REFUSED(tutti_operator(session, NULL, after, NULL, 1, &op));
    REFUSED(tutti_operator(session, "x", NULL, NULL, 1, &op));
    REFUSED(tutti_operator(session, "x", after, NULL, 1, NULL));
    REFUSED(tutti_barrier(NULL, NULL));
    take(d), take(e);
    free(d), free(e);
}

int main(int argc, char **argv)
{
    const tutti_attach_options options = {
        .design = argc > 1 ? argv[1] : NULL, .algorithm = argc > 2 ? argv[2] : NULL};
    int level, blocks = argc > 2 && !strcmp(argv[2], "mpi");
    int sequential = argc > 1 && !strcmp(argv[1], "sequential");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    if (tutti_start_starpu(NULL) || tutti_attach(MPI_COMM_WORLD, &options, &session)) return 77;
    rank = tutti_rank(session);
    size = tutti_size(session);
    int64_t counts[MOST];
    for (int r = 0; r < size; r++) counts[r] = (r * 5 + 3) % 4;
    for (int in_place = 0; in_place < 2; in_place++) {
        reduce(in_place);
        vectors(in_place);
        gather(in_place, NULL);
        gather(in_place, counts);
        scatter(in_place, NULL);
        scatter(in_place, counts);
        alltoall(in_place);
    }
    alltoallv();
    types(blocks);
    several();
    refuse();
    if (!blocks) own_operator();
    if (!blocks && !sequential) wait_for_one();
    GOOD(tutti_detach(session));
    starpu_shutdown();
    MPI_Finalize();
    return wrong > 100 ? 100 : wrong;
}
