#include "apps/architecture/architecture.h"
#include "apps/bench/bounds.h"
#include "apps/bench/choices.h"
#include "apps/bench/ops.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/session/precision.h"
#include "apps/session/weights.h"
#include "apps/terminal/terminal.h"
#include "apps/tune/workload.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERIFY_STEPS = 3, WARM_STEPS = 2, MOST_BLOCKS = 1000, MOST_PEERS = TUTTI_PEER_VARIANTS };

typedef struct options {
    const char *model, *precision, *peer, *variants, *json, *csv;
    int64_t batch, steps, blocks;
    double timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "resnet20", .choice = tutti_choice_model,
        .takes = tutti_architecture_is_file, AT(model),
        .help = "model, or FILE.json, FILE.onnx (tutti-network(5))"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536, AT(batch),
        .help = "images per step"},
    TUTTI_SETTING_PRECISION(AT(precision)),
    {TUTTI_CONF_INT, "steps", "N", .fallback = "10", .low = 1, .high = 100000, AT(steps),
        .help = "steps per block"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "7", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of each of the compared programs, in turns; with 1 or 2 the ops' bounds are "
                "of two trials"},
    TUTTI_BENCH_SETTING_PEER(AT(peer)),
    {TUTTI_CONF_TEXT, "peer-variants", "LIST", .fallback = "eager", AT(variants),
        .help = "how the peer runs: eager, compile, best, bf16, bf16-compile, bf16-best, jit, "
                "nchw; several take turns"},
    TUTTI_BENCH_SETTINGS_RUN("300", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench compute",
    .usage = "[OPTION]...",
    .summary = "Times training steps of a model on one worker without communication: a plain loop "
               "over the kernels, the StarPU task graph with one worker, and PyTorch on one "
               "thread. First verifies that loop and graph give the same weights, bit for bit.",
    .settings = settings,
};

/* The sides, in the order of their turns. */
enum { PLAIN, GRAPH, SIDES };
static const char *const runners[SIDES] = {"inline", "starpu"};
static const char *const titles[SIDES] = {"plain loop", "StarPU graph, 1 worker"};

typedef struct bench {
    options o;
    tutti_result *result;
    tutti_workload workload;
    tutti_training_session session[SIDES];
    char program[4096]; /* the peer's command; "": there is none */
    tutti_peer_variants variants;
    int peers;
    tutti_peer *peer[MOST_PEERS];       /* one for each variant */
    double *step_s[SIDES + MOST_PEERS]; /* one value per block; the peers' after the sides' */
} bench;

/* ---- verifying ---- */

static size_t weights_bytes(const tutti_training_session *session)
{
    size_t bytes = 0;
    for (int i = 0; i < session->step->parameters; i++)
        bytes += tutti_graph_get_tensor(session->graph, session->step->parameter[i])->bytes;
    return bytes;
}

static tutti_status append(void *at, const tutti_tensor *tensor, void *data)
{
    char **to = at;
    memcpy(*to, data, tensor->bytes);
    *to += tensor->bytes;
    return TUTTI_OK;
}

/* The weights after a few steps, all parameters in sequence, which the caller frees, and the loss. */
static tutti_status weights_after(
    bench *b, tutti_training_session *session, int steps, char **weights, double *loss)
{
    double seconds;
    char *copy = malloc(weights_bytes(session)), *at = copy;
    tutti_status status = copy ? tutti_workload_start(&b->workload, session)
                               : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the weights");
    if (!status) status = tutti_workload_steps(&b->workload, session, steps, &seconds);
    if (!status) status = tutti_workload_loss(session, loss);
    if (!status)
        status =
            tutti_weights_walk(session, tutti_weights_parameters(session), TUTTI_READ, append, &at);
    tutti_training_session_stop(session);
    if (status)
        free(copy);
    else
        *weights = copy;
    return status;
}

static tutti_status verify(bench *b)
{
    char *weights[SIDES] = {NULL};
    double loss[SIDES];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < SIDES && !status; i++)
        status = weights_after(b, &b->session[i], VERIFY_STEPS, &weights[i], &loss[i]);
    if (!status && memcmp(weights[PLAIN], weights[GRAPH], weights_bytes(&b->session[PLAIN])) != 0)
        status = tutti_fail(TUTTI_ERR_INTERNAL,
            "after %d steps the graph's weights are not the plain loop's", VERIFY_STEPS);
    if (!status)
        printf(
            "verified: after %d steps (loss %.4f) both sides have the same weights, bit for bit\n",
            VERIFY_STEPS, loss[GRAPH]);
    for (int i = 0; i < SIDES; i++) free(weights[i]);
    return status;
}

/* ---- timing ---- */

static tutti_status time_side(bench *b, int i, int64_t block)
{
    double seconds;
    tutti_training_session *session = &b->session[i];
    tutti_status status = tutti_workload_start(&b->workload, session);
    if (!status) status = tutti_workload_steps(&b->workload, session, WARM_STEPS, &seconds);
    if (!status) status = tutti_workload_steps(&b->workload, session, (int)b->o.steps, &seconds);
    tutti_training_session_stop(session); /* a stopped one takes no time from the others */
    if (!status) b->step_s[i][block] = seconds / (double)b->o.steps;
    return status;
}

static tutti_status time_blocks(bench *b)
{
    int columns = tutti_terminal_columns(STDERR_FILENO);
    char text[64];
    for (int64_t block = 0; block < b->o.blocks; block++) {
        snprintf(text, sizeof text, "block %" PRId64 "/%" PRId64, block + 1, b->o.blocks);
        tutti_terminal_show(stderr, columns, text);
        for (int i = 0; i < SIDES; i++) {
            tutti_status status = time_side(b, i, block);
            if (status) return status;
        }
        for (int i = 0; i < b->peers; i++) {
            tutti_status status =
                tutti_peer_block(b->peer[i], b->o.timeout_s, &b->step_s[SIDES + i][block]);
            if (status) return status;
        }
    }
    tutti_terminal_clear(stderr, columns);
    return TUTTI_OK;
}

/* ---- results ---- */

/* Ratios of values from the same block, measured under the same conditions. */
static void report_ratio(
    bench *b, const char *name, const char *unit, int above, int below, double scale, double shift)
{
    double ratio[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = scale * (b->step_s[above][k] / b->step_s[below][k] - shift);
    tutti_result_series(b->result, name, unit, (int)b->o.blocks, ratio);
}

static void report_speed(bench *b, const char *name, int side)
{
    double speed[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) speed[k] = (double)b->o.batch / b->step_s[side][k];
    tutti_result_series(b->result, name, "images/s", (int)b->o.blocks, speed);
}

static void report_results(bench *b)
{
    for (int i = 0; i < SIDES; i++) report_speed(b, titles[i], i);
    for (int i = 0; i < b->peers; i++) report_speed(b, tutti_peer_about(b->peer[i]), SIDES + i);
    report_ratio(b, "cost of the graph over the plain loop", "%", GRAPH, PLAIN, 100, 1);
    for (int i = 0; i < b->peers; i++) {
        char name[64] = "StarPU graph, times as fast as the peer";
        if (b->peers > 1)
            snprintf(name, sizeof name, "StarPU graph, times as fast as %s", b->variants.word[i]);
        report_ratio(b, name, "x", SIDES + i, GRAPH, 1, 0);
    }
}

static tutti_status report_ops(bench *b)
{
    const int trials = b->o.blocks < 3 ? 2 : TUTTI_BOUNDS_TRIALS;
    printf("\nkernels of the plain loop\n");
    tutti_status status = tutti_workload_start(&b->workload, &b->session[PLAIN]);
    if (!status) status = tutti_ops_measure(&b->session[PLAIN], trials, b->result);
    tutti_training_session_stop(&b->session[PLAIN]);
    return status;
}

/* ---- setting up ---- */

static tutti_status start_peer(bench *b, const char *variant)
{
    char command[8192], model[TUTTI_PEER_QUOTED];
    int eager = strcmp(variant, "eager") == 0; /* what a peer does anyhow */
    tutti_peer_quote(b->o.model, model);
    snprintf(command, sizeof command,
        "exec %s --model %s --batch %" PRId64 " --steps %" PRId64 " --blocks %" PRId64 "%s%s",
        b->program, model, b->o.batch, b->o.steps, b->o.blocks, eager ? "" : " --variant ",
        eager ? "" : variant);
    tutti_status status = tutti_peer_start(command, b->o.timeout_s, &b->peer[b->peers]);
    if (!status) b->peers++;
    return status;
}

/* What is wrong with the options is said before anything is measured. */
static tutti_status find_peers(bench *b)
{
    const tutti_peer_script script = {
        .file = "torch_compute.py", .module = "torch", .model = b->o.model};
    tutti_status status = tutti_peer_split_variants(&conf, b->o.variants, &b->variants);
    return status ? status : tutti_peer_program(b->o.peer, &script, b->program, sizeof b->program);
}

static tutti_status start_peers(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->variants.count && !status && *b->program; i++)
        status = start_peer(b, b->variants.word[i]);
    return status;
}

/* A side's session, with one worker and no exchange. */
static tutti_status open_side(bench *b, int i)
{
    const tutti_training_session_options side = {.runner = runners[i], .workers = 1};
    tutti_status status = tutti_training_session_open(&side, &b->session[i]);
    if (!status) status = tutti_workload_build(&b->workload, &b->session[i]);
    return status ? status : tutti_training_session_apply(&b->session[i]);
}

static tutti_status choose_precision(bench *b)
{
    const tutti_binding_place cpu = {0};
    double lack = tutti_precision_lack(&cpu, 0, 1);
    tutti_status status = tutti_precision_check(&cpu, b->o.precision, lack, 0, 1);
    if (status || tutti_precision_find(b->o.precision, &b->workload.recipe.precision) || lack > 0)
        return status;
    return tutti_precision_race(1, b->workload.model, &b->workload.model->input,
        &b->workload.recipe, &b->workload.recipe.precision);
}

static tutti_status set_up(bench *b)
{
    tutti_status status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    for (int i = 0; i < SIDES + MOST_PEERS && !status; i++) {
        b->step_s[i] = calloc((size_t)b->o.blocks, sizeof **b->step_s);
        if (!b->step_s[i])
            status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of blocks");
    }
    for (int i = 0; i < SIDES && !status; i++) status = open_side(b, i);
    return status;
}

static tutti_status take_down(bench *b)
{
    for (int i = 0; i < b->peers; i++) tutti_peer_stop(b->peer[i]);
    for (int i = 0; i < SIDES; i++) tutti_training_session_close(&b->session[i]);
    for (int i = 0; i < SIDES + MOST_PEERS; i++) free(b->step_s[i]);
    return tutti_result_close(b->result);
}

static tutti_status run(int argc, char **argv)
{
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    const tutti_model *model;
    status = tutti_architecture_open(b.o.model, &model);
    if (!status) status = find_peers(&b);
    if (status) return status;
    b.workload = (tutti_workload){.model = model,
        .recipe = {.batch = b.o.batch, .momentum = 0.9f, .weight_decay = 1e-4f, .seed = 1},
        .timeout_s = b.o.timeout_s};
    status = choose_precision(&b);
    if (status) return status;
    printf("%s in %s, batch %" PRId64 ", %s, %s; medians over %" PRId64 " blocks of %" PRId64
           " steps\n",
        b.o.model, tutti_precision_word(b.workload.recipe.precision), b.o.batch,
        tutti_run_starpu_version(), tutti_kernel_library(), b.o.blocks, b.o.steps);
    status = set_up(&b);
    if (!status) status = verify(&b);
    if (!status) status = start_peers(&b);
    if (!status) status = time_blocks(&b);
    if (!status) report_results(&b);
    if (!status) status = report_ops(&b);
    tutti_status closed = take_down(&b);
    return status ? status : closed;
}

const tutti_bench tutti_bench_compute = {"compute", "training steps of a model on one worker", run};
