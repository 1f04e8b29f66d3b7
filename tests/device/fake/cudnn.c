/* cuDNN: convolutions, as Tutti calls them through the library's graphs. It refuses what the library refuses. Its
 * heuristics offer engines that must not be taken before those that may; what the library would do without a word, and
 * what is wrong with it, ends the process: a run of such an engine, a call on the default stream. Shapes decide what is
 * offered:
 *
 *   a pad that is no smaller than the window   no engine
 *   one channel and one filter                 none with a small workspace
 *   one filter                                 none that adds a bias */
#include "tests/device/fake/cudnn_graph.h"
#include "tests/device/fake/cudnn_run.h"

#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cudnnContext {
    cudaStream_t stream;
};

/* TUTTI_FAKE_CUDNN_VERSION: another one, 91800 for 9.18.0. */
size_t cudnnGetVersion(void)
{
    const char *version = getenv("TUTTI_FAKE_CUDNN_VERSION");
    return version ? strtoul(version, NULL, 10) : CUDNN_VERSION;
}

/* ---- Handles ---- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (!handle) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "handle");
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Engines ---- */

/* In the order in which heuristics offer them. Those that must not be taken are the fastest. */
static const engine engines[] = {
    {.wrong = "is not deterministic",
        .index = 1,
        .first = 1,
        .fallback = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
        .numerics = 2},
    {.wrong = "uses Winograd's transforms",
        .index = 2,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_WINOGRAD},
        .numerics = 1},
    {.wrong = "uses Winograd's transforms of 4x4",
        .index = 3,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
        .numerics = 1},
    {.wrong = "uses Winograd's transforms of 6x6",
        .index = 4,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
        .numerics = 1},
    {.wrong = "uses Winograd's transforms of 13x13",
        .index = 5,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13},
        .numerics = 1},
    {.wrong = "uses Fourier's transforms",
        .index = 6,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_FFT},
        .numerics = 1},
    {.wrong = "narrows its inputs",
        .index = 7,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
        .numerics = 1},
    {.wrong = "adds with less precision",
        .index = 8,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
        .numerics = 1},
    {.wrong = "is compiled at run time", .index = 9, .first = 1, .compiles = 1},
    {.wrong = "has no plan", .index = 10, .first = 1, .fails = 1},
    {.index = 11, .seconds = 3, .first = 1, .fallback = 1, .large = 1},
    {.index = 12,
        .tile = 4,
        .seconds = 3,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
        .numerics = 1},
    {.index = 13,
        .seconds = 2,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
        .numerics = 1},
    {.index = 12,
        .tile = 6,
        .seconds = 1,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
        .numerics = 1},
    {.index = 12, /* as fast, almost: no reason to change */
        .tile = 7,
        .seconds = 0.99,
        .first = 1,
        .numeric = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
        .numerics = 1},
    {.index = 14, .tile = 1, .seconds = 4, .fallback = 1},
    {.index = 14, .tile = 2, .seconds = 1, .fallback = 1},
};
enum { ENGINES = sizeof engines / sizeof *engines, LARGE_WORKSPACE = 512 << 20 };
static int runs[ENGINES];

/* TUTTI_FAKE_CUDNN_LACKS=INDEX:TILE: one engine that this GPU does not have. */
static int is_lacked(const engine *e)
{
    const char *lacks = getenv("TUTTI_FAKE_CUDNN_LACKS");
    long long index = 0, tile = 0;
    return lacks && sscanf(lacks, "%lld:%lld", &index, &tile) == 2 && e->index == index &&
           e->tile == tile;
}

const engine *cudnn_find(int64_t index, int64_t tile)
{
    for (int e = 0; e < ENGINES; e++)
        if (engines[e].index == index && (tile < 0 || engines[e].tile == tile) &&
            !is_lacked(&engines[e]))
            return &engines[e];
    return NULL;
}

int cudnn_runs(int64_t index, int64_t tile)
{
    return runs[cudnn_find(index, tile) - engines];
}

static int has_tensor_cores(const engine *e)
{
    return e->numerics && e->numeric[0] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
}

/* ---- Heuristics ---- */

static int needs_large(const conv *c)
{
    return c->desc.C == 1 && c->desc.K == 1;
}

static int to_of(const conv *c)
{
    return c->op == &tutti_op_conv ? Y : c->op == &tutti_op_conv_bwd_data ? X : W;
}

const char *cudnn_lack(const conv *c)
{
    const tutti_conv_desc *d = &c->desc;
    const int to = to_of(c);
    const tutti_dtype from = c->dtype[(to + 1) % CONV_TENSORS];
    if (!c->packed) return "another layout than N,H,W,C";
    if (!c->aligned) return "another alignment than 16";
    if (c->dtype[(to + 2) % CONV_TENSORS] != from) return "factors of two types";
    if (d->pad[0] >= d->R || d->pad[1] >= d->S) return "a pad as large as the window";
    if (c->has_bias && c->bias_dtype != from) return "a bias of another type";
    if (c->has_bias && d->K == 1) return "a bias of one filter";
    return from == c->dtype[to] ? NULL : "results of another type";
}

static int64_t offer(const descriptor *heuristic, const engine *offered[ENGINES])
{
    const conv *c = &heuristic->conv;
    const cudnnBackendHeurMode_t mode = heuristic->attribute[HEUR_MODE].heuristic;
    const int first = mode == CUDNN_HEUR_MODE_A, fallback = mode == CUDNN_HEUR_MODE_FALLBACK;
    const char *why = cudnn_lack(c);
    int64_t n = 0;
    if (why) cudnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, why);
    for (int e = 0; e < ENGINES && !why; e++) {
        const engine *next = &engines[e];
        const int works = !is_lacked(next) && (next->wrong || next->large || !needs_large(c));
        if (works && ((first && next->first) || (fallback && next->fallback))) offered[n++] = next;
    }
    return n;
}

/* The library fills descriptors that the caller has made. */
static cudnnStatus_t give(
    void *of, cudnnBackendDescriptorType_t type, const descriptor *from, const engine *taken)
{
    descriptor *d = of;
    if (!d) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a result's descriptor");
    if (d->type != type || d->finalized)
        return cudnn_refuse(
            CUDNN_STATUS_BAD_PARAM, "another descriptor than a new one of its type");
    d->conv = from->conv;
    d->engine = taken;
    d->finalized = 1;
    return CUDNN_STATUS_SUCCESS;
}

/* Says first that there may be more than there are. */
static cudnnStatus_t get_configs(const descriptor *d, int64_t asked, int64_t *count, void **values)
{
    const engine *offered[ENGINES];
    const int64_t n = offer(d, offered);
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    *count = asked ? (n < asked ? n : asked) : ENGINES;
    for (int64_t i = 0; asked && i < *count && !status; i++)
        status = give(values[i], CONFIG, d, offered[i]);
    return status;
}

static int64_t workspace_of(const descriptor *plan)
{
    const tutti_conv_desc *d = &plan->conv.desc;
    if (plan->engine->large) return LARGE_WORKSPACE;
    return 1000 +
           d->R * d->S * d->C * (int64_t)sizeof(int32_t); /* indices of an implicit product */
}

static cudnnStatus_t get_notes(const descriptor *d, int64_t asked, int64_t *count, void *values)
{
    *count = d->engine->numerics;
    const int64_t n = *count < asked ? *count : asked;
    memcpy(values, d->engine->numeric, (size_t)n * sizeof *d->engine->numeric);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_behaviours(
    const descriptor *d, int64_t asked, int64_t *count, void *values)
{
    const cudnnBackendBehaviorNote_t note = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    *count = d->engine->compiles ? 1 : 0;
    if (*count && asked) memcpy(values, &note, sizeof note);
    return CUDNN_STATUS_SUCCESS;
}

/* A number, or the type of a knob. */
static cudnnStatus_t get_one(
    int64_t asked, int64_t *count, void *value, const void *from, size_t bytes)
{
    if (asked < 1) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "nothing is asked for");
    *count = 1;
    memcpy(value, from, bytes);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_knobs(const descriptor *d, int64_t asked, int64_t *count, void **values)
{
    *count = d->engine->tile ? 1 : 0;
    return *count && asked ? give(values[0], KNOB, d, d->engine) : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_knob(const descriptor *d, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t asked, int64_t *count, void *value)
{
    static const cudnnBackendKnobType_t knob = CUDNN_KNOB_TYPE_TILE_SIZE;
    if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE && type == CUDNN_TYPE_KNOB_TYPE)
        return get_one(asked, count, value, &knob, sizeof knob);
    if (name == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE && type == CUDNN_TYPE_INT64)
        return get_one(asked, count, value, &d->engine->tile, sizeof d->engine->tile);
    return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute that a knob lacks");
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const of,
    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t asked,
    int64_t *count, void *values)
{
    const descriptor *d = of;
    if (!d || !count || (asked && !values))
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nothing is got");
    if (!d->finalized) return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "got too early");
    if (d->type == HEURISTIC && name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return get_configs(d, asked, count, values);
    if (d->type == CONFIG && name == CUDNN_ATTR_ENGINECFG_ENGINE &&
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR && asked == 1) {
        *count = 1;
        return give(*(void **)values, ENGINE, d, d->engine);
    }
    if (d->type == CONFIG && name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES &&
        type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return get_knobs(d, asked, count, values);
    if (d->type == KNOB) return get_knob(d, name, type, asked, count, values);
    if (d->type == ENGINE && name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64)
        return get_one(asked, count, values, &d->engine->index, sizeof d->engine->index);
    if (d->type == ENGINE && name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
        type == CUDNN_TYPE_NUMERICAL_NOTE)
        return get_notes(d, asked, count, values);
    if (d->type == ENGINE && name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE &&
        type == CUDNN_TYPE_BEHAVIOR_NOTE)
        return get_behaviours(d, asked, count, values);
    if (d->type == PLAN && name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
        type == CUDNN_TYPE_INT64 && asked == 1) {
        *count = 1;
        *(int64_t *)values = workspace_of(d);
        return CUDNN_STATUS_SUCCESS;
    }
    return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute that this fake lacks");
}

/* ---- Running ---- */

static void *pointer_of(const descriptor *pack, int64_t id)
{
    for (int i = 0; i < pack->attribute[IDS].count; i++)
        if (pack->attribute[IDS].number[i] == id) return pack->attribute[POINTERS].pointer[i];
    return NULL;
}

static int is_aligned(const void *address, uintptr_t to)
{
    return address && (uintptr_t)address % to == 0;
}

cudnnStatus_t cudnnBackendExecute(
    cudnnHandle_t handle, cudnnBackendDescriptor_t of, cudnnBackendDescriptor_t with)
{
    static const int order[CONV_TENSORS][CUDNN_RUN_TENSORS] = {
        [Y] = {X, W, Y}, [X] = {Y, W, X}, [W] = {X, Y, W}};
    const descriptor *plan = of, *pack = with;
    if (!handle || !plan || !pack)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "argument");
    if (plan->type != PLAN || pack->type != PACK)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "no plan, or no variant pack");
    if (!plan->finalized || !pack->finalized)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan, or a variant pack");
    const conv *c = &plan->conv;
    const int to = to_of(c);
    if (c->handle != handle)
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "a plan of another handle");
    cudnn_run_job j = {.call = "cudnnBackendExecute",
        .op = c->op,
        .desc = c->desc,
        .dtype = c->dtype[to],
        .seconds = plan->engine->seconds,
        .workspace = pack->attribute[WORKSPACE].pointer[0],
        .bytes = (size_t)workspace_of(plan)};
    j.tf32 = j.dtype == TUTTI_F32 && has_tensor_cores(plan->engine);
    for (int t = 0; t < CUDNN_RUN_TENSORS; t++)
        if (!is_aligned(j.tensor[t] = pointer_of(pack, c->id[order[to][t]]), 16))
            return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "a tensor, or none");
    if (c->has_bias && !is_aligned(j.bias = pointer_of(pack, c->bias_id), 16))
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "a bias, or none");
    j.relu = c->relu;
    if (!is_aligned(j.workspace, 256))
        return cudnn_refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "the workspace");
    compute_check_stream(j.call, handle->stream);
    if (plan->engine->wrong) fake_fail("%s: this engine %s", j.call, plan->engine->wrong);
    if (plan->engine->large && !needs_large(c))
        fake_fail("%s: this engine has a larger workspace than another one", j.call);
    runs[plan->engine - engines]++;
    cudnn_run_enqueue(handle->stream, &j);
    return CUDNN_STATUS_SUCCESS;
}
