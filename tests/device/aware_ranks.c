/* One rank of a test of --cuda-aware, run by aware.sh under mpirun over a fake of a CUDA-aware MPI: what a collective
 * leaves in the memory of a GPU has the bits of the same one in main memory, for every algorithm and
 * kind, in place and out of place; none allocates memory there; and an operator that has no kernel is refused. Exit
 * status: 0 if all of it is so. */
#include "apps/session/aware.h"
#include "collectives/boot.h"
#include "collectives/choose.h"
#include "collectives/coll.h"

#include "tests/device/fake/fake.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300000 };

static const tutti_coll_kind kinds[] = {
    TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE, TUTTI_ALLGATHER, TUTTI_REDUCE_SCATTER};

static void must(int well, const char *what)
{
    if (well) return;
    printf("%s\n", what);
    tutti_boot_abort(EXIT_FAILURE);
}

/* Bits of finite numbers, as f32 or as two bf16. */
static void fill(uint32_t *x, int64_t n, int rank)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 0x3f003f80u + (uint32_t)((i * 7919 + rank * 104729) % 16000);
}

static tutti_status run(tutti_comm *comm, const tutti_coll_args *args)
{
    tutti_coll_request *request = NULL;
    tutti_status status = tutti_coll_post(comm, 1, args, &request);
    if (!status) status = tutti_coll_wait(comm, request, 30);
    tutti_coll_free(request);
    return status;
}

static void to_gpu(void *gpu, const void *host, size_t bytes)
{
    must(!cudaMemcpy(gpu, host, bytes, cudaMemcpyDefault) && !cudaDeviceSynchronize(), "a copy");
}

/* Whether a rank's part of the result counts; its offset and length in bytes. */
static int result(const tutti_comm *comm, const tutti_coll_args *a, size_t *at, size_t *bytes)
{
    const int rank = tutti_comm_rank(comm), P = tutti_comm_size(comm);
    const size_t each = tutti_dtype_bytes(a->dtype);
    int64_t offset = 0, length = a->kind == TUTTI_ALLGATHER ? P * a->count : a->count;
    if (a->kind == TUTTI_REDUCE_SCATTER) tutti_coll_block(a->count, P, rank, &offset, &length);
    *at = (size_t)offset * each;
    *bytes = (size_t)length * each;
    return a->kind != TUTTI_REDUCE || rank == a->root;
}

typedef struct memory {
    uint32_t *in, *out, *got;
    void *gpu_in, *gpu_out;
} memory;

/* The collective in the GPU's memory allocates nothing there. */
static void run_there(tutti_comm *comm, tutti_coll_args *a, const memory *m, int in_place)
{
    size_t bytes;
    a->out_of_place = !in_place;
    a->send = in_place ? NULL : m->gpu_in;
    a->recv = m->gpu_out;
    a->memory = TUTTI_MEMORY_DEVICE;
    must(tutti_comm_tags_messages(comm, a), "messages without tags");
    must(tutti_comm_prepare(comm, a, &bytes) == TUTTI_OK, "memory for a collective");
    fake_forbid(1u << FAKE_ALLOCATIONS);
    must(run(comm, a) == TUTTI_OK, "in a GPU's memory");
    fake_forbid(0);
}

static int differs(tutti_comm *comm, const memory *m, tutti_coll_args a, int in_place)
{
    const size_t all = MOST * sizeof *m->in;
    size_t at, bytes;
    fill(m->in, MOST, tutti_comm_rank(comm));
    memcpy(m->out, m->in, all);
    to_gpu(m->gpu_in, m->in, all);
    to_gpu(m->gpu_out, m->in, all);
    a.out_of_place = !in_place;
    a.send = in_place ? NULL : m->in;
    a.recv = m->out;
    must(run(comm, &a) == TUTTI_OK, "in main memory");
    run_there(comm, &a, m, in_place);
    must(!cudaMemcpy(m->got, m->gpu_out, all, cudaMemcpyDefault), "a copy");
    if (!result(comm, &a, &at, &bytes)) return 0;
    return memcmp((char *)m->got + at, (char *)m->out + at, bytes) != 0;
}

static int check(tutti_comm *comm, const memory *m, const char *algorithm)
{
    static const int64_t counts[] = {1, 1001, MOST / 8};
    int failures = 0;
    for (int i = 0; i < 5 * 2 * 3 * 2; i++) {
        const tutti_coll_args a = {.kind = kinds[i % 5],
            .dtype = i / 5 % 2 ? TUTTI_BF16 : TUTTI_F32,
            .count = counts[i / 10 % 3],
            .root = tutti_comm_size(comm) - 1};
        if (!differs(comm, m, a, i / 30)) continue;
        printf("%s: %s of %lld %s%s: other bits\n", algorithm, tutti_coll_kind_name(a.kind),
            (long long)a.count, tutti_dtype_name(a.dtype), i / 30 ? ", in place" : "");
        failures++;
    }
    return failures;
}

/* Two sums at once need twice the memory, and one after the other no more than that. */
static void two_at_once(tutti_comm *comm, const memory *m)
{
    tutti_coll_request *request[2];
    size_t bytes;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) {
            const tutti_coll_args a = {.kind = TUTTI_ALLREDUCE,
                .dtype = TUTTI_BF16,
                .count = MOST,
                .recv = i ? m->gpu_in : m->gpu_out,
                .memory = TUTTI_MEMORY_DEVICE};
            must(turn || !tutti_comm_prepare(comm, &a, &bytes), "memory for a sum");
            if (!i) fake_forbid(turn ? 1u << FAKE_ALLOCATIONS : 0);
            if (turn) must(!tutti_coll_post(comm, i, &a, &request[i]), "a sum");
        }
        for (int i = 0; turn && i < 2; i++) {
            must(!tutti_coll_wait(comm, request[i], 30), "a sum's end");
            tutti_coll_free(request[i]);
        }
    }
    fake_forbid(0);
}

static int refuses(tutti_comm *comm, const memory *m)
{
    const tutti_coll_args a = {
        .op = TUTTI_MAX, .count = 10, .recv = m->gpu_out, .memory = TUTTI_MEMORY_DEVICE};
    return run(comm, &a) == TUTTI_ERR_UNSUPPORTED;
}

static tutti_comm *open_comm(const tutti_boot *boot, const char *algorithm)
{
    tutti_transport *transport;
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = algorithm};
    must(!tutti_transport_mpi(boot->comm, 2, &transport) && !tutti_transport_aware(transport, 0) &&
             !tutti_comm_new(transport, &options, &comm),
        "no communicator");
    return comm;
}

int main(void)
{
    tutti_boot boot;
    memory m = {malloc(4 * MOST), malloc(4 * MOST), malloc(4 * MOST), NULL, NULL};
    int failures = 0;
    if (tutti_boot_init(TUTTI_THREAD_FUNNELED, NULL, &boot)) return EXIT_FAILURE;
    must(m.in && m.out && m.got && !cudaMalloc(&m.gpu_in, 4 * MOST) &&
             !cudaMalloc(&m.gpu_out, 4 * MOST),
        "no memory");
    for (int i = 0; tutti_algorithms[i]; i++) {
        if (tutti_algorithm_is_library(tutti_algorithms[i]->name)) continue;
        tutti_comm *comm = open_comm(&boot, tutti_algorithms[i]->name);
        two_at_once(comm, &m);
        failures += check(comm, &m, tutti_algorithms[i]->name);
        tutti_comm_free(comm);
    }
    tutti_comm *comm = open_comm(&boot, NULL);
    failures += boot.size > 1 && !refuses(comm, &m);
    tutti_comm_abandon(comm);
    tutti_comm_free(comm);
    cudaFree(m.gpu_in);
    cudaFree(m.gpu_out);
    free(m.in);
    free(m.out);
    free(m.got);
    tutti_boot_finalize(&boot);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
