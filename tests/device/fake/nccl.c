/* The fake NCCL: a libnccl.so.2 on the fake device.
 *
 * Ranks are threads or processes of one machine; those of a communicator share a piece of memory, whose name is its
 * unique id. A collective that reaches the head of its stream takes one of its device's device slots, in the order
 * in which collectives were launched there, and keeps it until all ranks' have one and it is done. So ranks that
 * launch in different orders on two communicators deadlock, as they may on a GPU. Sums are added in the order of
 * ranks. Communicators do not block: a call returns ncclInProgress, and is only over when ncclCommGetAsyncError has
 * been asked often enough. What a rank has sent arrives with the threads of that rank: if it aborts its
 * communicator while another rank has not finished, that one's collective is lost (ncclRemoteError). A communicator
 * is finalized when all ranks finalize it, and only then destroyed. A part of one has an id made of the whole's.
 *
 * A communicator takes memory of its device for each of its algorithms, of which one sums little and the other much:
 * when the ranks connect, or with NCCL_RUNTIME_CONNECT at 1, as by default, when it is first used.
 *
 *   TUTTI_FAKE_NCCL_SEATS      of each device (1)
 *   TUTTI_FAKE_NCCL_TRAVEL_MS  how long what the others have sent is on its way to the last rank (0)
 *
 * Ranks whose collectives differ in kind, count, type, operator or root get ncclInvalidUsage, as do two ranks on one
 * GPU. */
#include "tests/device/fake/fake.h"

#include <fcntl.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 16, MOST_DEVICES = 16, MOST_SPLITS = 64, AREA = 64 << 20, POLLS = 3 };
enum { ALGORITHMS = 2, MUCH = 2048, CONNECTED = 1 << 10 /* bytes */ };
typedef enum kind { ALLREDUCE, BROADCAST, REDUCE, ALLGATHER, REDUCE_SCATTER } kind;

typedef struct shape {
    int kind, type, op, root;
    size_t count;
} shape;

/* What the ranks of a communicator share; behind it, an area for each rank's input. */
typedef struct shared {
    atomic_int joined, wrong, finalized, torn;
    char bus[MOST_RANKS][32];
    /* of each split: what the ranks have given, and how many have */
    atomic_int split[MOST_SPLITS];
    int color[MOST_SPLITS][MOST_RANKS], key[MOST_SPLITS][MOST_RANKS];
    atomic_long arrived[MOST_RANKS], finished[MOST_RANKS];
    shape shape[MOST_RANKS];
} shared;

struct ncclComm {
    shared *all;
    char name[NCCL_UNIQUE_ID_BYTES];
    int size, rank, device;
    long launched;    /* collectives */
    int polls;        /* of ncclCommGetAsyncError until the last call is over */
    int connecting, finalizing;
    int splits;             /* calls */
    struct ncclComm **part; /* where the split in progress leaves its communicator; NULL: there is none */
    atomic_int aborted;
    void *connected[ALGORITHMS]; /* their memory */
    struct operation *pending, **pending_end; /* launched by the last call, which is not over */
};

typedef struct operation {
    struct operation *next; /* of those pending */
    struct ncclComm *comm;
    shape shape;
    long number, ticket; /* on its communicator; of its device */
    int sits, arrived;
    double met_ms; /* when all ranks had arrived */
    const char *in;
    char *out;
    const void *send;
    void *recv;
    size_t in_bytes, out_bytes;
    cudaStream_t stream;
} operation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects what follows */
static long tickets[MOST_DEVICES], next_resident[MOST_DEVICES];
static int resident[MOST_DEVICES];

static int setting(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

static int device_slots(void)
{
    return setting("TUTTI_FAKE_NCCL_SEATS", 1);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static size_t bytes_of(int type)
{
    switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclBfloat16: return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 4;
    }
}

/* ---- arithmetic ---- */

#define COMBINE(NAME, TYPE)                                                                        \
    static void NAME(int op, void *to, const void *from, size_t n)                                 \
    {                                                                                              \
        TYPE *a = to;                                                                              \
        const TYPE *b = from;                                                                      \
        for (size_t i = 0; i < n; i++)                                                             \
            a[i] = (TYPE)(op == ncclSum    ? a[i] + b[i]                                           \
                          : op == ncclProd ? a[i] * b[i]                                           \
                          : op == ncclMax  ? (a[i] > b[i] ? a[i] : b[i])                           \
                                           : (a[i] < b[i] ? a[i] : b[i]));                         \
    }
COMBINE(combine_i8, int8_t)
COMBINE(combine_u8, uint8_t)
COMBINE(combine_i32, int32_t)
COMBINE(combine_u32, uint32_t)
COMBINE(combine_i64, int64_t)
COMBINE(combine_u64, uint64_t)
COMBINE(combine_f32, float)
COMBINE(combine_f64, double)

static float widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void combine_bf16(int op, void *to, const void *from, size_t n)
{
    uint16_t *a = to;
    const uint16_t *b = from;
    for (size_t i = 0; i < n; i++) {
        float x = widen(a[i]), y = widen(b[i]);
        combine_f32(op, &x, &y, 1);
        a[i] = narrow(x);
    }
}

static void combine(const shape *s, void *to, const void *from, size_t n)
{
    static void (*const table[ncclNumTypes])(int, void *, const void *, size_t) = {
        [ncclInt8] = combine_i8,
        [ncclUint8] = combine_u8,
        [ncclInt32] = combine_i32,
        [ncclUint32] = combine_u32,
        [ncclInt64] = combine_i64,
        [ncclUint64] = combine_u64,
        [ncclFloat32] = combine_f32,
        [ncclFloat64] = combine_f64,
        [ncclBfloat16] = combine_bf16,
    };
    if (!table[s->type]) fake_fail("NCCL: no arithmetic of type %d", s->type);
    table[s->type](s->op, to, from, n);
}

static char *area(const struct ncclComm *c, int rank)
{
    return (char *)c->all + sizeof *c->all + (size_t)rank * AREA;
}

/* Elements from `at` on of all ranks' inputs, in the order of ranks. */
static void add_all(const operation *o, size_t at, size_t n)
{
    size_t each = bytes_of(o->shape.type);
    memcpy(o->out, area(o->comm, 0) + at * each, n * each);
    for (int r = 1; r < o->comm->size; r++)
        combine(&o->shape, o->out, area(o->comm, r) + at * each, n);
}

static void compute(const operation *o)
{
    const struct ncclComm *c = o->comm;
    size_t n = o->shape.count, bytes = n * bytes_of(o->shape.type);
    switch ((kind)o->shape.kind) {
    case ALLREDUCE: add_all(o, 0, n); return;
    case REDUCE:
        if (c->rank == o->shape.root) add_all(o, 0, n);
        return;
    case REDUCE_SCATTER: add_all(o, (size_t)c->rank * n, n); return;
    case BROADCAST: memcpy(o->out, area(c, o->shape.root), bytes); return;
    case ALLGATHER:
        for (int r = 0; r < c->size; r++) memcpy(o->out + (size_t)r * bytes, area(c, r), bytes);
        return;
    }
}

/* ---- an operation on its stream ---- */

static int sit_down(operation *o)
{
    int device = o->comm->device;
    pthread_mutex_lock(&lock);
    if (next_resident[device] == o->ticket && resident[device] < device_slots()) {
        next_resident[device]++;
        resident[device]++;
        o->sits = 1;
    }
    pthread_mutex_unlock(&lock);
    return o->sits;
}

static void leave(operation *o)
{
    pthread_mutex_lock(&lock);
    if (o->sits)
        resident[o->comm->device]--;
    else if (next_resident[o->comm->device] == o->ticket)
        next_resident[o->comm->device]++;
    else
        fake_fail("NCCL: an operation was aborted behind one that was not");
    pthread_mutex_unlock(&lock);
}

static int all_reached(struct ncclComm *c, atomic_long of[], long number)
{
    for (int r = 0; r < c->size; r++)
        if (atomic_load(&of[r]) < number) return 0;
    return 1;
}

static int is_equal(const struct ncclComm *c)
{
    for (int r = 1; r < c->size; r++)
        if (memcmp(&c->all->shape[r], &c->all->shape[0], sizeof(shape))) return 0;
    return 1;
}

/* Those that were launched before it end first, so that device slots are left in order. */
static int end_aborted(operation *o)
{
    int turn;
    pthread_mutex_lock(&lock);
    turn = o->sits || next_resident[o->comm->device] == o->ticket;
    pthread_mutex_unlock(&lock);
    if (!turn) return 0;
    leave(o);
    free(o);
    return 1;
}

static int travels(operation *o)
{
    if (!(o->met_ms > 0)) o->met_ms = now_ms();
    return o->comm->rank == o->comm->size - 1 &&
           now_ms() < o->met_ms + setting("TUTTI_FAKE_NCCL_TRAVEL_MS", 0);
}

/* What has not arrived from a rank that has aborted never does. */
static int run(void *arg)
{
    operation *o = arg;
    struct ncclComm *c = o->comm;
    if (atomic_load(&c->aborted)) return end_aborted(o);
    if (atomic_load(&c->all->torn)) return 0;
    if (!o->sits && !sit_down(o)) return 0;
    if (!o->arrived) {
        if (!all_reached(c, c->all->finished, o->number - 1)) return 0;
        memcpy(area(c, c->rank), o->in, o->in_bytes);
        c->all->shape[c->rank] = o->shape;
        atomic_store(&c->all->arrived[c->rank], o->number);
        o->arrived = 1;
        return 0; /* the others' input travels meanwhile */
    }
    if (!all_reached(c, c->all->arrived, o->number)) return 0;
    if (travels(o)) return 0;
    if (is_equal(c))
        compute(o);
    else
        atomic_store(&c->all->wrong, 1);
    leave(o);
    atomic_store(&c->all->finished[c->rank], o->number); /* then the communicator may go */
    free(o);
    return 1;
}

/* Whether what this rank has launched is not finished. */
static int is_behind(const struct ncclComm *c)
{
    return atomic_load(&c->all->finished[c->rank]) < c->launched;
}

static void enqueue(operation *o)
{
    struct ncclComm *c = o->comm;
    pthread_mutex_lock(&lock);
    o->ticket = tickets[c->device]++;
    pthread_mutex_unlock(&lock);
    o->number = ++c->launched;
    o->in = fake_inside("NCCL", o->send, o->in_bytes);
    o->out = fake_inside("NCCL", o->recv, o->out_bytes);
    const fake_access access[] = {{o->send, o->in_bytes, o->send == o->recv ? FAKE_WRITE : FAKE_READ, 0, 0},
        {o->recv, o->out_bytes, FAKE_WRITE, 0, 0}};
    const fake_work work = {.call = "NCCL", .run = run, .arg = o, .access = access, .accesses = 2};
    fake_enqueue(o->stream, &work);
}

static __thread int grouped;
static __thread struct ncclComm *group; /* of the calls since ncclGroupStart */

static ncclResult_t begin_call(struct ncclComm *c)
{
    if (c->pending) c->polls = POLLS;
    return c->pending ? ncclInProgress : ncclSuccess;
}

ncclResult_t ncclGroupStart(void); /* nccl.h has no prototypes of these two */
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
    grouped = 1;
    group = NULL;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    grouped = 0;
    return group ? begin_call(group) : ncclSuccess;
}

static void connect_algorithm(struct ncclComm *c, int algorithm)
{
    if (!c->connected[algorithm] && cudaMalloc(&c->connected[algorithm], CONNECTED))
        fake_fail("NCCL: no memory to connect with");
}

/* NVIDIA's can be captured. Tutti's transport does not: a graph with a collective could only be launched when all ranks
 * launch theirs. */
static void check_not_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    if (cudaStreamIsCapturing(stream, &status)) fake_fail("NCCL: a stream that is none");
    if (status != cudaStreamCaptureStatusNone)
        fake_fail("NCCL: a collective on a stream that is captured");
}

static ncclResult_t launch(struct ncclComm *c, const shape *s, const void *send, void *recv,
    size_t in, size_t out, cudaStream_t stream)
{
    size_t each = bytes_of(s->type);
    int device = -1;
    cudaGetDevice(&device);
    if (device != c->device) fake_fail("NCCL: a launch while another device is current");
    check_not_captured(stream);
    if (in * each > AREA) fake_fail("NCCL: more than %d bytes", AREA);
    if (c->polls || c->part) fake_fail("NCCL: a call while the one before is in progress");
    if (c->finalizing) fake_fail("NCCL: a collective after ncclCommFinalize");
    connect_algorithm(c, in * each > MUCH);
    operation *o = calloc(1, sizeof *o);
    if (!o) fake_fail("NCCL: no memory");
    *o = (operation){.comm = c, .shape = *s, .send = send, .recv = recv, .in_bytes = in * each,
        .out_bytes = out * each, .stream = stream};
    if (!c->pending) c->pending_end = &c->pending;
    *c->pending_end = o;
    c->pending_end = &o->next;
    if (!grouped) return begin_call(c);
    if (group && group != c) fake_fail("NCCL: a group on several communicators");
    group = c;
    return ncclSuccess;
}

/* ---- communicators ---- */

static const char id_prefix[] = "/tutti-fake-nccl-";

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static atomic_int made;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s%d-%d", id_prefix, (int)getpid(),
        atomic_fetch_add(&made, 1));
    return ncclSuccess;
}

/* A communicator of this name, which other ranks have still to join; NULL: it cannot be shared. */
static struct ncclComm *join(const char *name, int size, int rank, int device)
{
    struct ncclComm *c = calloc(1, sizeof *c);
    if (!c) fake_fail("NCCL: no memory");
    *c = (struct ncclComm){
        .size = size, .rank = rank, .device = device, .connecting = 1, .polls = POLLS};
    snprintf(c->name, sizeof c->name, "%s", name);
    int file = shm_open(c->name, O_RDWR | O_CREAT, 0600);
    size_t bytes = sizeof(shared) + (size_t)size * AREA;
    void *all = MAP_FAILED;
    if (file >= 0 && !ftruncate(file, (off_t)bytes))
        all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (all == MAP_FAILED) {
        free(c);
        return NULL;
    }
    c->all = all;
    for (int i = 0; i < ALGORITHMS && !setting("NCCL_RUNTIME_CONNECT", 1); i++)
        connect_algorithm(c, i);
    cudaDeviceGetPCIBusId(c->all->bus[rank], sizeof c->all->bus[rank], c->device);
    atomic_fetch_add(&c->all->joined, 1);
    return c;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    int device = -1;
    if (config->blocking) fake_fail("NCCL: a communicator that blocks");
    if (nranks > MOST_RANKS || strncmp(id.internal, id_prefix, sizeof id_prefix - 1))
        return ncclInvalidArgument;
    cudaGetDevice(&device);
    *comm = join(id.internal, nranks, rank, device);
    return *comm ? ncclInProgress : ncclSystemError;
}

/* Like NCCL's, it leaves the part where it was asked to when all ranks have come, and not before. */
ncclResult_t ncclCommSplit(
    ncclComm_t c, int color, int key, ncclComm_t *part, ncclConfig_t *config)
{
    if (config->blocking) fake_fail("NCCL: a communicator that blocks");
    if (c->polls || c->part) fake_fail("NCCL: a split while a call is in progress");
    if (c->splits == MOST_SPLITS) fake_fail("NCCL: more than %d splits", MOST_SPLITS);
    if (is_behind(c)) fake_fail("NCCL: a split while a collective of the communicator is under way");
    *part = NULL;
    c->part = part;
    c->all->color[c->splits][c->rank] = color;
    c->all->key[c->splits][c->rank] = key;
    atomic_fetch_add(&c->all->split[c->splits++], 1);
    return ncclInProgress;
}

/* Those of a color, in the order of their keys. */
static void leave_part(struct ncclComm *c)
{
    const int n = c->splits - 1, color = c->all->color[n][c->rank];
    int size = 0, rank = 0;
    char name[NCCL_UNIQUE_ID_BYTES + 32];
    for (int r = 0; r < c->size; r++) {
        if (c->all->color[n][r] != color) continue;
        const int mine = c->all->key[n][c->rank], theirs = c->all->key[n][r];
        size++;
        rank += theirs < mine || (theirs == mine && r < c->rank);
    }
    snprintf(name, sizeof name, "%s.%d.%d", c->name, n, color);
    if (color != NCCL_SPLIT_NOCOLOR) {
        *c->part = join(name, size, rank, c->device);
        if (!*c->part) fake_fail("NCCL: a part cannot be shared");
    }
    c->part = NULL;
}

static int has_twice(const struct ncclComm *c)
{
    for (int r = 0; r < c->size; r++)
        for (int q = 0; q < r; q++)
            if (!strcmp(c->all->bus[r], c->all->bus[q])) return 1;
    return 0;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    *error = ncclInProgress;
    if (c->connecting && atomic_load(&c->all->joined) < c->size) return ncclSuccess;
    if (c->connecting) shm_unlink(c->name);
    c->connecting = 0;
    if (c->polls && --c->polls) return ncclSuccess;
    if (c->part && atomic_load(&c->all->split[c->splits - 1]) < c->size) return ncclSuccess;
    if (c->part) leave_part(c);
    for (operation *o = c->pending, *next; o; o = next) {
        next = o->next;
        enqueue(o);
    }
    c->pending = NULL;
    *error = atomic_load(&c->all->wrong) || has_twice(c) ? ncclInvalidUsage : ncclSuccess;
    if (!*error && atomic_load(&c->all->torn) && (is_behind(c) || c->finalizing))
        *error = ncclRemoteError;
    if (!*error && c->finalizing && atomic_load(&c->all->finalized) < c->size)
        *error = ncclInProgress;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    if (c->finalizing) return ncclInvalidArgument;
    if (c->polls || c->part) fake_fail("NCCL: finalized while a call is in progress");
    c->finalizing = 1;
    atomic_fetch_add(&c->all->finalized, 1);
    return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    if (!c->finalizing || atomic_load(&c->all->finalized) < c->size || is_behind(c))
        fake_fail("NCCL: a communicator is destroyed that is not finalized");
    for (int i = 0; i < ALGORITHMS; i++) cudaFree(c->connected[i]);
    munmap(c->all, sizeof(shared) + (size_t)c->size * AREA);
    free(c);
    return ncclSuccess;
}

/* Operations still use it until they have seen the abort: it is kept. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
    atomic_store(&c->aborted, 1);
    atomic_store(&c->all->torn, 1);
    c->part = NULL;
    for (operation *o = c->pending, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    c->pending = NULL;
    if (c->connecting) shm_unlink(c->name);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const names[] = {"no error", "unhandled cuda error", "system error",
        "internal error", "invalid argument", "invalid usage", "remote error", "in progress"};
    return (unsigned)result < ncclNumResults ? names[result] : "unknown";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm && atomic_load(&comm->all->wrong) ? "the ranks' collectives differ" : "";
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

/* ---- collectives ---- */

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    const shape s = {.kind = ALLREDUCE, .type = type, .op = op, .count = count};
    return launch(comm, &s, send, recv, count, count, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
    ncclComm_t comm, cudaStream_t stream)
{
    const shape s = {.kind = BROADCAST, .type = type, .root = root, .count = count};
    return launch(comm, &s, comm->rank == root ? send : recv, recv, count, count, stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
    ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    const shape s = {.kind = REDUCE, .type = type, .op = op, .root = root, .count = count};
    return launch(comm, &s, send, recv, count, count, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
    ncclComm_t comm, cudaStream_t stream)
{
    const shape s = {.kind = ALLGATHER, .type = type, .count = count};
    return launch(comm, &s, send, recv, count, (size_t)comm->size * count, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    const shape s = {.kind = REDUCE_SCATTER, .type = type, .op = op, .count = count};
    return launch(comm, &s, send, recv, (size_t)comm->size * count, count, stream);
}
