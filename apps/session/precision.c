#include "apps/session/precision.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/device/device.h"
#include "dag/kernels/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

static const struct {
    const char *word;
    tutti_dtype dtype;
} types[] = {{"f32", TUTTI_F32}, {"bf16", TUTTI_BF16}};
enum { TYPES = sizeof types / sizeof *types };

const char *tutti_precision_choice(int i)
{
    return i < TYPES ? types[i].word : i == TYPES ? "auto" : NULL;
}

int tutti_precision_find(const char *word, tutti_dtype *dtype)
{
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].word, word) != 0) continue;
        *dtype = types[i].dtype;
        return 1;
    }
    return 0;
}

const char *tutti_precision_word(tutti_dtype dtype)
{
    int i = TYPES - 1;
    while (i > 0 && types[i].dtype != dtype) i--;
    return types[i].word;
}

/* ---- processors ---- */

/* Why this rank should not compute in bf16; NULL: it may. */
static const char *fault_of(const tutti_binding_place *place)
{
    enum { AMPERE = 8 }; /* the first with bf16, as its compute capability counts */
    tutti_device_info info;
    if (place->device == TUTTI_CPU) return tutti_kernel_fault(TUTTI_BF16);
    if (tutti_device_kind_built.info(place->gpu, &info)) return "its GPU does not answer";
    return info.major < AMPERE ? "its GPU has no instructions for it (compute capability below 8.0)"
                               : NULL;
}

double tutti_precision_lack(const tutti_binding_place *place, int rank, int ranks)
{
    return fault_of(place) ? ranks - rank : 0;
}

tutti_status tutti_precision_check(
    const tutti_binding_place *place, const char *word, double lack, int rank, int ranks)
{
    tutti_dtype dtype;
    if (!(lack > 0) || !tutti_precision_find(word, &dtype) || dtype != TUTTI_BF16) return TUTTI_OK;
    if (ranks - (int)lack != rank) return TUTTI_ERR_USAGE;
    return tutti_fail(TUTTI_ERR_USAGE, "--precision bf16: %s: use f32, or auto, which then does",
        fault_of(place));
}

/* ---- the race ---- */

enum { LEAST_RUNS = 2, MOST_RUNS = 20 };
static const double enough_s = 0.01, least_gain = 0.1;

static void free_buffers(int count, void *buf[])
{
    while (count-- > 0) free(buf[count]);
    free(buf);
}

/* Memory for a node's tensors, all zeros. */
static void **make_buffers(const tutti_graph *graph, const tutti_node *node)
{
    void **buf = calloc((size_t)node->accesses, sizeof *buf);
    for (int a = 0; buf && a < node->accesses; a++) {
        size_t bytes = tutti_graph_get_tensor(graph, node->access[a].tensor)->bytes;
        buf[a] = tutti_mem_aligned(bytes);
        if (!buf[a]) {
            free_buffers(a, buf);
            return NULL;
        }
        memset(buf[a], 0, bytes);
    }
    return buf;
}

/* The shortest of several runs, after one that warms up. */
static tutti_status time_kernel(
    const tutti_kernel *kernel, const void *args, void *const buf[], double *seconds)
{
    double total_s = 0;
    tutti_status status = kernel->fn(args, buf, NULL);
    *seconds = INFINITY;
    for (int i = 0; i < MOST_RUNS && !status && (i < LEAST_RUNS || total_s < enough_s); i++) {
        double begun = tutti_clock_s();
        status = kernel->fn(args, buf, NULL);
        double took_s = tutti_clock_s() - begun;
        *seconds = fmin(*seconds, took_s);
        total_s += took_s;
    }
    return status;
}

static tutti_dtype first_type(const tutti_graph *graph, const tutti_node *node)
{
    return tutti_graph_get_tensor(graph, node->access[0].tensor)->dtype;
}

static tutti_status time_node(const tutti_graph *graph, const tutti_node *node, double *seconds)
{
    const tutti_kernel *kernel = tutti_kernel_find(node->op, TUTTI_CPU, first_type(graph, node));
    void *args, **buf = make_buffers(graph, node);
    if (!buf) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to time %s", node->op->name);
    tutti_status status = kernel->open(node->desc, &args);
    if (!status) {
        status = time_kernel(kernel, args, buf, seconds);
        kernel->close(args);
    }
    free_buffers(node->accesses, buf);
    return status;
}

static int is_same(const tutti_graph *graph, const tutti_node *a, const tutti_node *b)
{
    return a->op == b->op && a->accesses == b->accesses && a->desc_bytes == b->desc_bytes &&
           memcmp(a->desc, b->desc, a->desc_bytes) == 0 &&
           first_type(graph, a) == first_type(graph, b);
}

/* An earlier node that computes the same, or the node itself. */
static int find_same(const tutti_graph *graph, int section, int n)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    for (int m = 0; m < n; m++) {
        const tutti_node *other = tutti_graph_get_node(graph, m);
        if (other->section == section && other->kind == TUTTI_NODE_KERNEL &&
            is_same(graph, other, node))
            return m;
    }
    return n;
}

/* The kernels of a section, one after the other; each kind of work is timed once. */
static tutti_status time_section(const tutti_graph *graph, int section, double *seconds)
{
    int nodes = tutti_graph_nodes(graph);
    double *each = calloc((size_t)nodes, sizeof *each);
    if (!each) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of %d nodes", nodes);
    tutti_status status = TUTTI_OK;
    *seconds = 0;
    for (int n = 0; n < nodes && !status; n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->section != section || node->kind != TUTTI_NODE_KERNEL) continue;
        int same = find_same(graph, section, n);
        if (same == n)
            status = time_node(graph, node, &each[n]);
        else
            each[n] = each[same];
        *seconds += each[n];
    }
    free(each);
    return status;
}

/* Builds the step without running it. */
static tutti_status time_type(int workers, const tutti_model *model, const tutti_model_input *input,
    const tutti_step_options *recipe, tutti_dtype precision, double *seconds)
{
    const tutti_training_session_options options = {.runner = "inline", .workers = workers};
    tutti_step_options typed = *recipe;
    tutti_training_session session;
    typed.precision = precision;
    tutti_status status = tutti_training_session_open(&options, &session);
    if (status) return status;
    status = tutti_training_session_build(&session, model, input, &typed);
    if (!status) status = time_section(session.graph, session.step->train, seconds);
    tutti_training_session_close(&session);
    return status;
}

tutti_status tutti_precision_race(int workers, const tutti_model *model,
    const tutti_model_input *input, const tutti_step_options *recipe, tutti_dtype *faster)
{
    double full_s, half_s;
    tutti_status status = time_type(workers, model, input, recipe, TUTTI_F32, &full_s);
    if (!status) status = time_type(workers, model, input, recipe, TUTTI_BF16, &half_s);
    if (status) return status;
    *faster = half_s <= (1 - least_gain) * full_s ? TUTTI_BF16 : TUTTI_F32;
    tutti_log(TUTTI_LOG_INFO,
        "auto: --precision %s, because the kernels of a step take %.4g ms in f32 and %.4g ms in "
        "bf16",
        tutti_precision_word(*faster), 1e3 * full_s, 1e3 * half_s);
    return TUTTI_OK;
}
