#include "dag/kernels/cudnn_engines.h"

#include "dag/kernels/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tutti_cudnn_part part;

enum { MOST_NOTES = 32 };

static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
enum { MODES = sizeof modes / sizeof *modes };

/* ---- which may be taken ---- */

/* Another order of sums at each run; less than float32's precision, or bf16's, on the way. */
static const cudnnBackendNumericalNote_t avoided[] = {
    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
    CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
    CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
    CUDNN_NUMERICAL_NOTE_FFT,
    CUDNN_NUMERICAL_NOTE_WINOGRAD,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
    CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
};

/* exact: factors of float32 are multiplied as they are, which tensor cores do not. */
static int may_have(cudnnBackendNumericalNote_t note, int exact)
{
    for (size_t i = 0; i < sizeof avoided / sizeof *avoided; i++)
        if (note == avoided[i]) return 0;
    return !(exact && note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

/* The engine of a configuration, or NULL. */
static part engine_of(part config)
{
    int64_t count = 0;
    part engine = NULL;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (!s)
        s = cudnnBackendGetAttribute(
            config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    if (!s) return engine;
    tutti_cudnn_destroy(engine);
    return NULL;
}

static int suits(part config, int exact)
{
    cudnnBackendNumericalNote_t numeric[MOST_NOTES];
    cudnnBackendBehaviorNote_t behaviour[MOST_NOTES];
    int64_t numerics = 0, behaviours = 0;
    part engine = engine_of(config);
    if (!engine) return 0;
    cudnnStatus_t s = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
        CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &numerics, numeric);
    if (!s)
        s = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
            CUDNN_TYPE_BEHAVIOR_NOTE, MOST_NOTES, &behaviours, behaviour);
    tutti_cudnn_destroy(engine);
    int may = !s && numerics <= MOST_NOTES && behaviours <= MOST_NOTES;
    for (int64_t i = 0; may && i < numerics; i++) may = may_have(numeric[i], exact);
    for (int64_t i = 0; may && i < behaviours; i++)
        may = behaviour[i] != CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    return may;
}

/* ---- plans ---- */

/* A plan of this configuration, if the library can make one whose workspace is not too large. */
static int plan(tutti_cudnn *k, part config)
{
    part made = NULL;
    int64_t count = 0, workspace = 0;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &made);
    if (!s)
        s = cudnnBackendSetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
    if (!s) s = cudnnBackendFinalize(made);
    if (!s)
        s = cudnnBackendGetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
            CUDNN_TYPE_INT64, 1, &count, &workspace);
    if (!s && workspace <= k->most) {
        k->workspace = workspace;
        k->parts[TUTTI_CUDNN_PLAN] = made;
        return 1;
    }
    k->too_large |= !s;
    tutti_cudnn_destroy(made);
    return 0;
}

static void drop(tutti_cudnn *k, int which)
{
    tutti_cudnn_destroy(k->parts[which]);
    k->parts[which] = NULL;
}

static void drop_plan(tutti_cudnn *k)
{
    drop(k, TUTTI_CUDNN_PLAN);
    drop(k, TUTTI_CUDNN_CONFIG);
    drop(k, TUTTI_CUDNN_ENGINE);
}

/* ---- heuristics ---- */

/* Goes through the configurations that a heuristic offers and that may be taken, until `use` returns 0 or keeps one:
 * then it sets *config to NULL. */
static void each_offer(tutti_cudnn *k, cudnnBackendHeurMode_t mode,
    int (*use)(tutti_cudnn *k, part *config, void *context), void *context)
{
    part heuristic = tutti_cudnn_make(k, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), *configs = NULL;
    int64_t offered = 0, count = 0;
    tutti_cudnn_set(k, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &k->parts[TUTTI_CUDNN_GRAPH]);
    tutti_cudnn_set(k, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (k->status || cudnnBackendFinalize(heuristic) ||
        cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, NULL) ||
        offered < 1 || !(configs = calloc((size_t)offered, sizeof *configs)))
        goto out;
    for (int64_t i = 0; i < offered; i++)
        configs[i] = tutti_cudnn_make(k, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (k->status || cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                         CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &count, configs))
        goto out;
    int more = 1;
    for (int64_t i = 0; i < count && i < offered && more; i++)
        if (suits(configs[i], k->exact)) more = use(k, &configs[i], context);
out:
    for (int64_t i = 0; configs && i < offered; i++) tutti_cudnn_destroy(configs[i]);
    free(configs);
    tutti_cudnn_destroy(heuristic);
}

static int take_first(tutti_cudnn *k, part *config, void *context)
{
    (void)context;
    if (!plan(k, *config)) return 1;
    k->parts[TUTTI_CUDNN_CONFIG] = *config;
    *config = NULL;
    return 0;
}

void tutti_cudnn_choose(tutti_cudnn *k)
{
    for (int large = 0; large < 2 && !k->status && !k->parts[TUTTI_CUDNN_PLAN]; large++) {
        if (large && !k->too_large) return;
        if (large) k->most = INT64_MAX;
        for (int m = 0; m < MODES && !k->status && !k->parts[TUTTI_CUDNN_PLAN]; m++)
            each_offer(k, modes[m], take_first, NULL);
    }
}

/* ---- engines with their settings ---- */

static int get(
    part of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void *value)
{
    int64_t count;
    return !cudnnBackendGetAttribute(of, name, type, 1, &count, value);
}

static int read_knobs(part config, tutti_cudnn_engine *engine)
{
    part knobs[TUTTI_CUDNN_KNOBS] = {NULL};
    int64_t count = 0;
    cudnnStatus_t s = CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < TUTTI_CUDNN_KNOBS && !s; i++)
        s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knobs[i]);
    if (!s)
        s = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, TUTTI_CUDNN_KNOBS, &count, knobs);
    int good = !s && count <= TUTTI_CUDNN_KNOBS;
    engine->knobs = good ? (int)count : 0;
    for (int i = 0; i < engine->knobs; i++)
        good =
            good &&
            get(knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                &engine->knob[i]) &&
            get(knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &engine->value[i]);
    for (int i = 0; i < TUTTI_CUDNN_KNOBS; i++) tutti_cudnn_destroy(knobs[i]);
    return good;
}

static int read_config(part config, tutti_cudnn_engine *engine)
{
    part of = engine_of(config);
    const int good = of &&
                     get(of, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &engine->index) &&
                     read_knobs(config, engine);
    tutti_cudnn_destroy(of);
    return good;
}

/* The knobs live until the configuration is finalized. */
static void set_knobs(tutti_cudnn *k, const tutti_cudnn_engine *engine, part made[])
{
    for (int i = 0; i < engine->knobs; i++) {
        made[i] = tutti_cudnn_make(k, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        tutti_cudnn_set(k, made[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
            &engine->knob[i]);
        tutti_cudnn_set(
            k, made[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &engine->value[i]);
        tutti_cudnn_finish(k, made[i]);
    }
    if (engine->knobs)
        tutti_cudnn_set(k, k->parts[TUTTI_CUDNN_CONFIG], CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, made);
}

int tutti_cudnn_take(tutti_cudnn *k, const tutti_cudnn_engine *engine)
{
    part knobs[TUTTI_CUDNN_KNOBS] = {NULL}, *parts = k->parts;
    drop_plan(k);
    if (k->status) return 0;
    parts[TUTTI_CUDNN_ENGINE] = tutti_cudnn_make(k, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    tutti_cudnn_set(k, parts[TUTTI_CUDNN_ENGINE], CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &parts[TUTTI_CUDNN_GRAPH]);
    tutti_cudnn_set(k, parts[TUTTI_CUDNN_ENGINE], CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
        1, &engine->index);
    tutti_cudnn_finish(k, parts[TUTTI_CUDNN_ENGINE]);
    parts[TUTTI_CUDNN_CONFIG] = tutti_cudnn_make(k, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    tutti_cudnn_set(k, parts[TUTTI_CUDNN_CONFIG], CUDNN_ATTR_ENGINECFG_ENGINE,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &parts[TUTTI_CUDNN_ENGINE]);
    set_knobs(k, engine, knobs);
    tutti_cudnn_finish(k, parts[TUTTI_CUDNN_CONFIG]);
    const int taken = !k->status && plan(k, parts[TUTTI_CUDNN_CONFIG]);
    k->status = CUDNN_STATUS_SUCCESS; /* another engine may do */
    for (int i = 0; i < engine->knobs; i++) tutti_cudnn_destroy(knobs[i]);
    if (!taken) drop_plan(k);
    return taken;
}

/* ---- a list ---- */

typedef struct list {
    int most, count;
    tutti_cudnn_engine *engine;
} list;

static int is_equal(const tutti_cudnn_engine *a, const tutti_cudnn_engine *b)
{
    int equal = a->index == b->index && a->knobs == b->knobs;
    for (int i = 0; i < a->knobs && equal; i++)
        equal = a->knob[i] == b->knob[i] && a->value[i] == b->value[i];
    return equal;
}

static int add(tutti_cudnn *k, part *config, void *context)
{
    list *l = context;
    tutti_cudnn_engine *next = &l->engine[l->count];
    int is_new = read_config(*config, next);
    for (int i = 0; i < l->count && is_new; i++) is_new = !is_equal(&l->engine[i], next);
    l->count += is_new && tutti_cudnn_take(k, next);
    return l->count < l->most;
}

int tutti_cudnn_list(tutti_cudnn *k, int most, tutti_cudnn_engine engine[])
{
    list l = {.most = most, .engine = engine};
    for (int large = 0; large < 2 && !l.count && !k->status; large++) {
        if (large && !k->too_large) break;
        if (large) k->most = INT64_MAX;
        for (int m = 0; m < MODES && l.count < most && !k->status; m++)
            each_offer(k, modes[m], add, &l);
    }
    drop_plan(k);
    return l.count;
}

/* ---- texts ---- */

char *tutti_engines_library(char text[TUTTI_ENGINES_LIBRARY])
{
    const int version = (int)cudnnGetVersion();
    snprintf(text, TUTTI_ENGINES_LIBRARY, "cuDNN %d.%d.%d", version / 10000, version / 100 % 100,
        version % 100);
    return text;
}

char *tutti_cudnn_print(const tutti_cudnn_engine *engine, char text[TUTTI_CUDNN_TEXT])
{
    int at = (int)strlen(tutti_engines_library(text));
    at += snprintf(text + at, TUTTI_CUDNN_TEXT - (size_t)at, " e%lld", (long long)engine->index);
    for (int i = 0; i < engine->knobs && at < TUTTI_CUDNN_TEXT; i++)
        at += snprintf(text + at, TUTTI_CUDNN_TEXT - (size_t)at, "%c%d=%lld", i ? ',' : ' ',
            (int)engine->knob[i], (long long)engine->value[i]);
    return text;
}

int tutti_cudnn_scan(const char *text, tutti_cudnn_engine *engine)
{
    char version[TUTTI_ENGINES_LIBRARY];
    const size_t length = strlen(tutti_engines_library(version));
    int used = 0, knob;
    long long index, value;
    if (strncmp(text, version, length) || sscanf(text + length, " e%lld%n", &index, &used) != 1)
        return 0;
    *engine = (tutti_cudnn_engine){.index = index};
    for (text += length + used; *text; text += used) {
        used = 0;
        if (engine->knobs == TUTTI_CUDNN_KNOBS ||
            sscanf(text, "%*[ ,]%d=%lld%n", &knob, &value, &used) != 2 || !used)
            return 0;
        engine->knob[engine->knobs] = (cudnnBackendKnobType_t)knob;
        engine->value[engine->knobs++] = value;
    }
    return 1;
}
