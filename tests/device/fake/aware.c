/* A CUDA-aware MPI, for the fake device: preloaded (LD_PRELOAD) into a program over an MPI that knows no GPU. It says
 * that MPI takes the memory of GPUs (TUTTI_FAKE_AWARE=0: that it does not), and carries it through
 * memory of the host, as such an MPI may: what is sent is read when the send starts, and what has arrived
 * is written when the program is told of it. Both are copies on a stream of its own, so to read what a
 * stream has not yet written, as far as the program has seen, is the misuse that the fake device finds. As some do,
 * it works on the calling thread's device, which must be that of the memory. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message of GPU memory under way. */
typedef struct message {
    struct message *next;
    MPI_Request request;
    void *memory; /* of the GPU; NULL: it has been sent from `stage` */
    void *stage;
    size_t bytes;
    int device;
} message;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects what follows */
static message *under_way;
static cudaStream_t stream[8]; /* of each GPU */

int MPIX_Query_cuda_support(void)
{
    const char *says = getenv("TUTTI_FAKE_AWARE");
    return !says || strcmp(says, "0") != 0;
}

static void must(int well, const char *what)
{
    if (well) return;
    fprintf(stderr, "fake device: a CUDA-aware MPI: %s\n", what);
    abort();
}

static int is_device(const void *memory, int *device)
{
    struct cudaPointerAttributes a;
    must(cudaPointerGetAttributes(&a, memory) == cudaSuccess, "whose memory it is given");
    *device = a.device;
    return a.type == cudaMemoryTypeDevice;
}

static void copy(int device, void *to, const void *from, size_t bytes)
{
    int current;
    must(cudaGetDevice(&current) == cudaSuccess && current == device,
        "the calling thread's device is another one than that of the memory");
    pthread_mutex_lock(&lock);
    if (!stream[device])
        must(cudaStreamCreateWithFlags(&stream[device], cudaStreamNonBlocking) == cudaSuccess,
            "a stream");
    pthread_mutex_unlock(&lock);
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream[device]) == cudaSuccess &&
             cudaStreamSynchronize(stream[device]) == cudaSuccess,
        "a copy");
}

static message *message_new(int device, size_t bytes)
{
    message *m = calloc(1, sizeof *m);
    if (m) m->stage = malloc(bytes + 1);
    must(m && m->stage, "no memory");
    m->bytes = bytes;
    m->device = device;
    return m;
}

static void enlist(message *m, MPI_Request request)
{
    m->request = request;
    pthread_mutex_lock(&lock);
    m->next = under_way;
    under_way = m;
    pthread_mutex_unlock(&lock);
}

static message *delist(MPI_Request request)
{
    pthread_mutex_lock(&lock);
    message **at = &under_way;
    while (*at && (*at)->request != request) at = &(*at)->next;
    message *m = *at;
    if (m) *at = m->next;
    pthread_mutex_unlock(&lock);
    return m;
}

static size_t size_of(int count, MPI_Datatype type)
{
    int each;
    PMPI_Type_size(type, &each);
    return (size_t)count * (size_t)each;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    int device;
    if (!count || !is_device(data, &device))
        return PMPI_Isend(data, count, type, to, tag, comm, request);
    message *m = message_new(device, size_of(count, type));
    copy(device, m->stage, data, m->bytes);
    int code = PMPI_Isend(m->stage, count, type, to, tag, comm, request);
    enlist(m, *request);
    return code;
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    int device;
    if (!count || !is_device(data, &device))
        return PMPI_Irecv(data, count, type, from, tag, comm, request);
    message *m = message_new(device, size_of(count, type));
    m->memory = data;
    int code = PMPI_Irecv(m->stage, count, type, from, tag, comm, request);
    enlist(m, *request);
    return code;
}

/* What was cancelled has not arrived. */
static void end(MPI_Request request, const MPI_Status *status)
{
    int cancelled = 0;
    message *m = delist(request);
    if (!m) return;
    PMPI_Test_cancelled(status, &cancelled);
    if (m->memory && !cancelled) copy(m->device, m->memory, m->stage, m->bytes);
    free(m->stage);
    free(m);
}

int MPI_Testsome(
    int count, MPI_Request requests[], int *ended, int indices[], MPI_Status statuses[])
{
    MPI_Request *before = malloc(((size_t)count + 1) * sizeof *before);
    must(before != NULL, "no memory");
    memcpy(before, requests, (size_t)count * sizeof *before);
    int code = PMPI_Testsome(count, requests, ended, indices, statuses);
    for (int i = 0; i < *ended; i++) end(before[indices[i]], &statuses[i]);
    free(before);
    return code;
}

/* MPI may still read what it sends. */
int MPI_Request_free(MPI_Request *request)
{
    (void)delist(*request);
    return PMPI_Request_free(request);
}
