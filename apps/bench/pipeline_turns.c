#include "apps/bench/pipeline_rows.h"

#include "apps/bench/choices.h"
#include "apps/models/model.h"
#include "apps/terminal/terminal.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VERIFY_STEPS = 4, WARM_STEPS = 3 };

tutti_pipeline_row *tutti_pipeline_find(tutti_pipeline_bench *b, tutti_pipeline_kind kind)
{
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].kind == kind) return &b->row[i];
    return NULL;
}

/* ---- a session ---- */

/* Data parallelism divides the images of a replica's stages among all of them. */
static tutti_workload workload_of(const tutti_pipeline_bench *b, const tutti_pipeline_row *r)
{
    int64_t batch =
        r->kind == TUTTI_PIPELINE_PARALLEL ? r->images / b->world.boot.size : b->o.batch;
    return (tutti_workload){.model = b->model,
        .recipe = {.batch = batch,
            .sums = TUTTI_SUMS_COLLECTIVE,
            .momentum = 0.9f,
            .weight_decay = 1e-4f,
            .seed = 1},
        .timeout_s = b->o.timeout_s};
}

static tutti_layout layout_of(const tutti_pipeline_bench *b, const tutti_pipeline_row *r)
{
    if (r->kind == TUTTI_PIPELINE_STAGES) return b->layout;
    if (r->kind == TUTTI_PIPELINE_WHOLE)
        return (tutti_layout){.micro_batches = (int)b->o.micro_batches};
    return (tutti_layout){0};
}

/* Where there is an exchange, on all ranks or on none. */
static tutti_status open_session(
    const tutti_pipeline_bench *b, const tutti_pipeline_row *r, tutti_training_session *session)
{
    const tutti_workload workload = workload_of(b, r);
    const tutti_training_session_options options = {.workers = (int)b->o.workers,
        .layout = layout_of(b, r),
        .metered = 1,
        .exchange = {.design = r->design,
            .messages =
                r->kind == TUTTI_PIPELINE_STAGES && tutti_placement_is_divided(&b->placement),
            .algorithm = r->kind == TUTTI_PIPELINE_STAGES ? "direct" : NULL,
            .timeout_s = b->o.timeout_s},
        .comm = b->world.boot.comm};
    tutti_status status = tutti_training_session_open(&options, session);
    if (status) return status;
    status = tutti_workload_begin(&workload, session);
    if (status && status != TUTTI_ERR_TIMEOUT) tutti_training_session_close(session);
    return status;
}

/* Only rank 0 has the whole net; the others wait for it. */
static int is_away(const tutti_pipeline_bench *b, const tutti_pipeline_row *r)
{
    return r->kind == TUTTI_PIPELINE_WHOLE && b->world.boot.rank != 0;
}

/* What forward passes leave for backward passes, and the gradients of values. */
static double activation_bytes(const tutti_graph *graph)
{
    double bytes = 0;
    for (int t = 0; t < tutti_graph_tensors(graph); t++) {
        const tutti_tensor *tensor = tutti_graph_get_tensor(graph, t);
        if (tensor->role == TUTTI_ROLE_SCRATCH) bytes += (double)tensor->bytes;
    }
    return bytes;
}

/* ---- verifying ---- */

/* The hash of all weights after some steps, on rank 0, and how long a step takes. */
static tutti_status hash_after(
    tutti_pipeline_bench *b, tutti_pipeline_row *r, uint64_t *hash, double *step_s)
{
    const tutti_workload workload = workload_of(b, r);
    tutti_training_session session;
    double seconds = 0;
    tutti_status status = TUTTI_OK;
    r->activation_bytes = 0;
    if (!is_away(b, r)) {
        status = open_session(b, r, &session);
        if (!status) r->activation_bytes = activation_bytes(session.graph);
        if (!status) status = tutti_workload_steps(&workload, &session, VERIFY_STEPS, &seconds);
        if (!status) status = tutti_workload_hash(&session, hash);
        if (!status) status = tutti_training_session_close(&session);
    }
    *step_s = seconds / VERIFY_STEPS;
    status = tutti_world_agree(&b->world, status);
    if (!status) status = tutti_world_max(&b->world, 1, &r->activation_bytes);
    return status ? status : tutti_world_max(&b->world, 1, step_s);
}

tutti_status tutti_pipeline_verify(tutti_pipeline_bench *b)
{
    uint64_t first = 0, hash = 0;
    int same = 0;
    double step_s = 0;
    for (int i = 0; i < b->rows; i++) {
        tutti_pipeline_row *r = &b->row[i];
        int compared = r->kind == TUTTI_PIPELINE_STAGES ||
                       (r->kind == TUTTI_PIPELINE_WHOLE && b->placement.replicas == 1);
        tutti_status status = hash_after(b, r, &hash, &step_s);
        int wrong = compared && same++ && b->world.boot.rank == 0 && hash != first;
        if (compared && same == 1) first = hash;
        if (wrong)
            status =
                tutti_fail(TUTTI_ERR_MISMATCH, "%s: after %d steps the weights are not those of %s",
                    r->name, VERIFY_STEPS, b->row[0].name);
        status = tutti_world_agree(&b->world, status);
        if (status) return status;
    }
    tutti_choice_steps(step_s, &b->o.steps);
    if (b->result)
        printf("verified: after %d steps %d rows have the same weights, bit for bit\n"
               "medians over %" PRId64 " blocks of %" PRId64 " steps\n",
            VERIFY_STEPS, same, b->o.blocks, b->o.steps.value);
    return TUTTI_OK;
}

/* ---- timing ---- */

static tutti_status time_session(tutti_pipeline_bench *b, tutti_pipeline_row *r, int64_t block)
{
    const tutti_workload workload = workload_of(b, r);
    tutti_training_session session;
    tutti_pace pace = {0};
    tutti_status status = open_session(b, r, &session);
    if (!status)
        status = tutti_workload_pace(&workload, &session, WARM_STEPS, (int)b->o.steps.value, &pace);
    r->step_s[block] = pace.step_s;
    r->idle[block] = 1 - pace.busy;
    return status ? status : tutti_training_session_close(&session);
}

static tutti_status time_row(tutti_pipeline_bench *b, tutti_pipeline_row *r, int64_t block)
{
    tutti_status status = tutti_world_barrier(&b->world);
    r->step_s[block] = 0;
    r->idle[block] = 0;
    if (status) return status;
    if (r->kind == TUTTI_PIPELINE_PEER)
        status = tutti_peer_block(r->peer, b->o.timeout_s, &r->step_s[block]);
    else if (!is_away(b, r))
        status = time_session(b, r, block);
    status = tutti_world_agree(&b->world, status);
    if (!status) status = tutti_world_max(&b->world, 1, &r->step_s[block]);
    if (!status) status = tutti_world_mean(&b->world, &r->idle[block]);
    if (r->kind == TUTTI_PIPELINE_WHOLE) r->idle[block] *= b->world.boot.size;
    return status;
}

static void show_progress(const tutti_pipeline_bench *b, int64_t block, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "block %" PRId64 "/%" PRId64 " %s", block + 1, b->o.blocks, name);
    tutti_terminal_show(stderr, tutti_terminal_columns(STDERR_FILENO), text);
}

/* Each block begins with another row. */
tutti_status tutti_pipeline_time(tutti_pipeline_bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks && !status; block++)
        for (int i = 0; i < b->rows && !status; i++) {
            tutti_pipeline_row *r = &b->row[(i + block) % b->rows];
            if (b->result) show_progress(b, block, r->name);
            status = time_row(b, r, block);
        }
    if (b->result) tutti_terminal_clear(stderr, tutti_terminal_columns(STDERR_FILENO));
    return status;
}
