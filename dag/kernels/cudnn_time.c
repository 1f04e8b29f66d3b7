/* Engines run on tensors of the convolution's sizes, which exist only meanwhile. */
#include "dag/kernels/cudnn_time.h"

enum {
    MOST_ENGINES = 64,
    MOST_RUNS = 8,
    ROUNDS = 3,
    IDLE_BYTES =
        256 << 20, /* clearing them keeps the GPU busy while the host puts runs on the stream */
    IDLE_FILLS = 4,
};
static const double round_ms = 2; /* about so long all runs of a round may take */
/* An engine is not taken for being faster by less than this; one that is slower by a factor is run once. */
static const double clearly = 0.97, hopeless = 2;

typedef struct timing {
    tutti_cudnn *k;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *tensor[TUTTI_CUDNN_TENSORS], *workspace;
    void *idle; /* NULL: small convolutions are timed less well */
    int wants_idle;
    int64_t workspace_bytes;
} timing;

/* All bytes are those of small numbers, in float32 and in bf16. */
static int make_tensor(timing *t, int i)
{
    const int number = 0x3c;
    return !cudaMalloc(&t->tensor[i], t->k->bytes[i]) &&
           !cudaMemsetAsync(t->tensor[i], number, t->k->bytes[i], t->stream);
}

static int open_timing(timing *t, tutti_cudnn *k)
{
    *t = (timing){.k = k};
    int open = !cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking) &&
               !cudaEventCreate(&t->begin) && !cudaEventCreate(&t->end);
    for (int i = 0; i < k->tensors && open; i++) open = make_tensor(t, i);
    return open;
}

static void close_timing(timing *t)
{
    if (t->stream) cudaStreamSynchronize(t->stream);
    for (int i = 0; i < TUTTI_CUDNN_TENSORS; i++) cudaFree(t->tensor[i]);
    cudaFree(t->workspace);
    cudaFree(t->idle);
    if (t->begin) cudaEventDestroy(t->begin);
    if (t->end) cudaEventDestroy(t->end);
    if (t->stream) cudaStreamDestroy(t->stream);
    (void)cudaGetLastError(); /* it would be the next launch's */
}

static int make_workspace(timing *t)
{
    if (t->workspace && t->workspace_bytes >= t->k->workspace) return 1;
    cudaFree(t->workspace);
    t->workspace = NULL;
    t->workspace_bytes = t->k->workspace;
    return !cudaMalloc(&t->workspace, (size_t)t->workspace_bytes + 1);
}

/* Once, at the first small convolution. */
static void make_idle(timing *t)
{
    if (!t->wants_idle && cudaMalloc(&t->idle, IDLE_BYTES)) t->idle = NULL;
    t->wants_idle = 1;
}

/* Milliseconds of one of `runs` runs; negative: they fail. */
static double time_runs(timing *t, int runs)
{
    const void *const tensors[] = {t->tensor[0], t->tensor[1], t->tensor[2], t->tensor[3]};
    float ms = -1;
    if (runs > 1) make_idle(t);
    for (int i = 0; i < IDLE_FILLS && t->idle && runs > 1; i++)
        if (cudaMemsetAsync(t->idle, 0, IDLE_BYTES, t->stream)) return -1;
    if (cudaEventRecord(t->begin, t->stream)) return -1;
    for (int i = 0; i < runs; i++)
        if (tutti_cudnn_start(t->k, tensors, t->workspace, t->stream)) return -1;
    if (cudaEventRecord(t->end, t->stream) || cudaStreamSynchronize(t->stream) ||
        cudaEventElapsedTime(&ms, t->begin, t->end))
        return -1;
    return (double)ms / runs;
}

/* Of the convolution's plan. least_ms: of the fastest so far, or negative. */
static double time_plan(timing *t, double least_ms)
{
    if (!make_workspace(t) || time_runs(t, 1) < 0) return -1; /* it is loaded first */
    double ms = time_runs(t, 1);
    if (ms < 0 || (least_ms >= 0 && ms > round_ms / MOST_RUNS && ms > hopeless * least_ms))
        return ms;
    const int runs = ms * MOST_RUNS < round_ms ? MOST_RUNS : ms < round_ms ? 2 : 1;
    for (int r = 0; r < ROUNDS; r++) {
        const double again = time_runs(t, runs);
        if (again < 0) return -1;
        if (again < ms || !r) ms = again;
    }
    return ms;
}

int tutti_cudnn_time(tutti_cudnn *k, int count, const tutti_cudnn_engine engine[])
{
    double ms[MOST_ENGINES], least_ms = -1;
    timing t;
    if (count > MOST_ENGINES) count = MOST_ENGINES;
    const int open = open_timing(&t, k);
    for (int e = 0; e < count && open; e++) {
        ms[e] = tutti_cudnn_take(k, &engine[e]) ? time_plan(&t, least_ms) : -1;
        if (ms[e] >= 0 && (least_ms < 0 || ms[e] < least_ms)) least_ms = ms[e];
    }
    close_timing(&t);
    int best = -1;
    for (int e = 0; e < count && least_ms >= 0 && best < 0; e++)
        if (ms[e] >= 0 && ms[e] * clearly <= least_ms) best = e;
    return best >= 0 && tutti_cudnn_take(k, &engine[best]) ? best : -1;
}
