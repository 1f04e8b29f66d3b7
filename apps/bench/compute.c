#include "apps/bench/compute.h"

#include "apps/bench/choices.h"
#include "apps/bench/ops.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/terminal/terminal.h"
#include "apps/tune/workload.h"
#include "config.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERIFY_STEPS = 3, WARM_STEPS = 2, OP_REPEATS = 5, MOST_BLOCKS = 1000 };

typedef struct options {
    const char *model, *peer, *json, *csv;
    int64_t batch, steps, blocks;
    double timeout_s;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "resnet20", .choice = tutti_choice_model,
        AT(model), .help = "model"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536, AT(batch),
        .help = "images per step"},
    {TUTTI_CONF_INT, "steps", "N", .fallback = "10", .low = 1, .high = 100000, AT(steps),
        .help = "steps per block"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "7", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of each of the compared programs, in turns"},
    {TUTTI_CONF_TEXT, "peer", "COMMAND", .fallback = "auto", AT(peer),
        .help = "program to compare with; auto: torch_compute.py if PyTorch is installed; none: no "
                "program"},
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = "300", .low = 1, .high = 1e6, AT(timeout_s),
        .help = "seconds after which a block is an error"},
    {TUTTI_CONF_TEXT, "json", "FILE", AT(json),
        .help = "write one JSON object per line for every result"},
    {TUTTI_CONF_TEXT, "csv", "FILE", AT(csv), .help = "write the samples as CSV, one per line"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench compute",
    .usage = "[OPTION]...",
    .summary = "Times training steps of a model on one worker without communication: a plain loop "
               "over the kernels, the StarPU task graph with one worker, and PyTorch on one "
               "thread. First verifies that loop and graph give the same weights, bit for bit.",
    .version = PACKAGE_VERSION,
    .settings = settings,
};

/* The sides, in the order of their turns. */
enum { PLAIN, GRAPH, SIDES };
static const char *const runners[SIDES] = {"inline", "starpu"};
static const char *const titles[SIDES] = {"plain loop", "StarPU graph, 1 worker"};

typedef struct bench {
    options o;
    tutti_result *result;
    tutti_workload workload[SIDES];
    tutti_peer *peer;
    double *step_s[SIDES + 1]; /* one value per block; the last row is the peer's */
} bench;

/* ---- verifying ---- */

static size_t weights_bytes(const tutti_workload *workload)
{
    size_t bytes = 0;
    for (int i = 0; i < workload->step->parameters; i++)
        bytes += tutti_graph_get_tensor(workload->step->graph, workload->step->parameter[i])->bytes;
    return bytes;
}

/* The weights after a few steps, all parameters in sequence; the caller frees them. */
static tutti_status weights_after(tutti_workload *workload, int steps, char **weights)
{
    double seconds;
    char *copy = malloc(weights_bytes(workload)), *at = copy;
    tutti_status status = copy ? tutti_workload_start(workload)
                               : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the weights");
    if (!status) status = tutti_workload_steps(workload, steps, &seconds);
    for (int i = 0; i < workload->step->parameters && !status; i++) {
        int tensor = workload->step->parameter[i];
        size_t bytes = tutti_graph_get_tensor(workload->step->graph, tensor)->bytes;
        status = tutti_run_read(workload->runner, workload->run, tensor, at, bytes);
        at += bytes;
    }
    tutti_workload_stop(workload);
    if (status)
        free(copy);
    else
        *weights = copy;
    return status;
}

static tutti_status verify(bench *b)
{
    char *weights[SIDES] = {NULL};
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < SIDES && !status; i++)
        status = weights_after(&b->workload[i], VERIFY_STEPS, &weights[i]);
    if (!status && memcmp(weights[PLAIN], weights[GRAPH], weights_bytes(&b->workload[PLAIN])) != 0)
        status = tutti_fail(TUTTI_ERR_INTERNAL,
            "after %d steps the graph's weights are not the plain loop's", VERIFY_STEPS);
    if (!status)
        printf(
            "verified: after %d steps (loss %.4f) both sides have the same weights, bit for bit\n",
            VERIFY_STEPS, tutti_workload_loss(&b->workload[GRAPH]));
    for (int i = 0; i < SIDES; i++) free(weights[i]);
    return status;
}

/* ---- timing ---- */

static tutti_status time_workload(bench *b, int i, int64_t block)
{
    double seconds;
    tutti_workload *workload = &b->workload[i];
    tutti_status status = tutti_workload_start(workload);
    if (!status) status = tutti_workload_steps(workload, WARM_STEPS, &seconds);
    if (!status) status = tutti_workload_steps(workload, (int)b->o.steps, &seconds);
    tutti_workload_stop(workload); /* a stopped one takes no time from the others */
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
            tutti_status status = time_workload(b, i, block);
            if (status) return status;
        }
        if (!b->peer) continue;
        tutti_status status = tutti_peer_block(b->peer, b->o.timeout_s, &b->step_s[SIDES][block]);
        if (status) return status;
    }
    tutti_terminal_clear(stderr, columns);
    return TUTTI_OK;
}

/* ---- results ---- */

/* Ratios of values from the same block, measured under the same conditions. */
static void tell_ratio(
    bench *b, const char *name, const char *unit, int above, int below, double scale, double shift)
{
    double ratio[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = scale * (b->step_s[above][k] / b->step_s[below][k] - shift);
    tutti_result_series(b->result, name, unit, (int)b->o.blocks, ratio);
}

static void tell_speed(bench *b, const char *name, int workload)
{
    double speed[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++)
        speed[k] = (double)b->o.batch / b->step_s[workload][k];
    tutti_result_series(b->result, name, "images/s", (int)b->o.blocks, speed);
}

static void tell_results(bench *b)
{
    for (int i = 0; i < SIDES; i++) tell_speed(b, titles[i], i);
    if (b->peer) tell_speed(b, tutti_peer_about(b->peer), SIDES);
    tell_ratio(b, "cost of the graph over the plain loop", "%", GRAPH, PLAIN, 100, 1);
    if (b->peer) tell_ratio(b, "StarPU graph, times as fast as the peer", "x", SIDES, GRAPH, 1, 0);
}

static tutti_status tell_ops(bench *b)
{
    printf("\nkernels of the plain loop\n");
    tutti_status status = tutti_workload_start(&b->workload[PLAIN]);
    if (!status) status = tutti_ops_measure(&b->workload[PLAIN], OP_REPEATS, b->result);
    tutti_workload_stop(&b->workload[PLAIN]);
    return status;
}

/* ---- setting up ---- */

static tutti_status start_peer(bench *b)
{
    char program[1024], command[4096];
    if (!tutti_peer_program(b->o.peer, "torch_compute.py", program, sizeof program))
        return TUTTI_OK;
    snprintf(command, sizeof command,
        "exec %s --model %s --batch %" PRId64 " --steps %" PRId64 " --blocks %" PRId64, program,
        b->o.model, b->o.batch, b->o.steps, b->o.blocks);
    return tutti_peer_start(command, b->o.timeout_s, &b->peer);
}

static tutti_status set_up(bench *b)
{
    tutti_workload_options workload = {.model = tutti_model_find(b->o.model),
        .batch = b->o.batch,
        .micro_batches = 1,
        .ranks = 1,
        .seed = 1,
        .timeout_s = b->o.timeout_s};
    tutti_status status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    for (int i = 0; i <= SIDES && !status; i++) {
        b->step_s[i] = calloc((size_t)b->o.blocks, sizeof **b->step_s);
        if (!b->step_s[i])
            status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the times of blocks");
    }
    for (int i = 0; i < SIDES && !status; i++)
        status = tutti_workload_open(&workload, runners[i], &b->workload[i]);
    return status;
}

static tutti_status take_down(bench *b)
{
    tutti_peer_stop(b->peer);
    for (int i = 0; i < SIDES; i++) tutti_workload_close(&b->workload[i]);
    for (int i = 0; i <= SIDES; i++) free(b->step_s[i]);
    return tutti_result_close(b->result);
}

static tutti_status run(int argc, char **argv)
{
    bench b = {0};
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    printf("%s, batch %" PRId64 ", %s, %s; medians over %" PRId64 " blocks of %" PRId64 " steps\n",
        b.o.model, b.o.batch, tutti_run_starpu_version(), tutti_kernel_library(), b.o.blocks,
        b.o.steps);
    status = set_up(&b);
    if (!status) status = verify(&b);
    if (!status) status = start_peer(&b);
    if (!status) status = time_blocks(&b);
    if (!status) tell_results(&b);
    if (!status) status = tell_ops(&b);
    tutti_status closed = take_down(&b);
    return status ? status : closed;
}

const tutti_bench tutti_bench_compute = {"compute", "training steps of a model on one worker", run};
