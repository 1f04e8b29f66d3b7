#include "apps/session/precision.h"

#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "dag/step/times.h"

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
    return place->device == TUTTI_CPU ? tutti_kernel_fault(TUTTI_BF16) : NULL;
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

static const double least_gain = 0.1;

/* The kernels of a section, one after the other. */
static tutti_status time_section(const tutti_graph *graph, int section, double *seconds)
{
    int nodes = tutti_graph_nodes(graph);
    double *each = calloc((size_t)nodes + 1, sizeof *each);
    if (!each) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of %d nodes", nodes);
    tutti_status status = tutti_graph_times(graph, section, each);
    *seconds = 0;
    for (int n = 0; n < nodes && !status; n++) *seconds += each[n];
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
