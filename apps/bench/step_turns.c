#include "apps/bench/step_turns.h"

#include "apps/bench/choices.h"
#include "apps/session/device.h"
#include "apps/terminal/terminal.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/step/strategy.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { VERIFY_STEPS = 6, WARM_STEPS = 7 };

/* ---- a session ---- */

tutti_workload tutti_step_workload(const tutti_step_bench *b, const tutti_strategy *strategy)
{
    return (tutti_workload){.model = b->model,
        .recipe = {.batch = b->o.batch,
            .strategy = strategy,
            .wire = tutti_setting_wire_dtype(b->o.wire),
            .codec = b->codec,
            .codec_value = b->codec_value,
            .precision = b->precision,
            .momentum = 0.9f,
            .weight_decay = 1e-4f,
            .seed = 1},
        .timeout_s = b->o.timeout_s};
}

const char *tutti_step_algorithm(const tutti_step_bench *b)
{
    int compares = strcmp(b->o.strategy, tutti_strategy_sync.name) != 0;
    return compares && !strcmp(b->o.algorithm, "auto") ? "direct" : b->o.algorithm;
}

tutti_status tutti_step_session_open(const tutti_step_bench *b,
    const tutti_configuration *configuration, tutti_training_session *session)
{
    const tutti_exchange_options exchange = {.algorithm = tutti_step_algorithm(b),
        .topology = b->o.topology,
        .link_mbit = tutti_conf_real_or(b->o.link_mbit, 0),
        .comm_core = b->o.comm_core,
        .timeout_s = b->o.timeout_s};
    const tutti_training_session_options options = {.workers = (int)b->o.workers,
        .transport = b->o.transport,
        .cuda_aware = b->o.cuda_aware,
        .place = b->place,
        .region_s = tutti_device_region_s(b->o.region_us),
        .layout = {.micro_batches = (int)tutti_conf_int_or(b->o.micro_batches, 0)},
        .metered = 1,
        .exchange = tutti_configuration_apply(configuration, &exchange),
        .comm = b->world.boot.comm,
        .layout.placement = {.rank = b->world.boot.rank, .replicas = b->world.boot.size}};
    return tutti_training_session_open(&options, session);
}

tutti_workload tutti_step_row_workload(const tutti_step_bench *b, const tutti_step_row *r)
{
    tutti_workload workload = tutti_step_workload(b, r->strategy);
    workload.recipe.sums = r->sums;
    return workload;
}

/* Opens a session and starts the row's workload in it, if all ranks can; else none has a session, and they
 * leave together. After TIMEOUT no rank knows what the others do. */
static tutti_status start_row(
    tutti_step_bench *b, const tutti_step_row *r, tutti_training_session *session)
{
    const tutti_workload workload = tutti_step_row_workload(b, r);
    tutti_status status = tutti_step_session_open(b, &r->configuration, session);
    if (status) return status;
    status = tutti_workload_begin(&workload, session);
    if (!session->exchange) status = tutti_world_agree(&b->world, status);
    if (!status || status == TUTTI_ERR_TIMEOUT) return status;
    tutti_training_session_close(session);
    return tutti_world_give_up(&b->world, status);
}

/* ---- verifying ---- */

/* The weights' hash after a few steps, and their time; MISMATCH if ranks differ. */
static tutti_status hash_after(
    tutti_step_bench *b, const tutti_step_row *r, double half[2], double *seconds)
{
    const tutti_workload workload = tutti_step_row_workload(b, r);
    tutti_training_session session;
    double range[4];
    uint64_t hash = 0;
    tutti_status status = start_row(b, r, &session);
    if (!status) status = tutti_workload_steps(&workload, &session, VERIFY_STEPS, seconds);
    if (!status) status = tutti_workload_hash(&session, &hash);
    if (!status) status = tutti_training_session_close(&session);
    if (status) return status;
    half[0] = (double)(hash >> 32);
    half[1] = (double)(hash & 0xffffffff);
    for (int i = 0; i < 4; i++) range[i] = i < 2 ? half[i] : -half[i - 2];
    status = tutti_world_max(&b->world, 4, range);
    if (!status && (range[0] != -range[2] || range[1] != -range[3]))
        status = tutti_fail(TUTTI_ERR_MISMATCH, "%s: after %d steps ranks have different weights",
            r->name, VERIFY_STEPS);
    return status;
}

/* Sets the number of steps per block, the same on all ranks, from the time of a step. */
static tutti_status resolve_steps(tutti_step_bench *b, double step_s)
{
    tutti_status status = tutti_world_max(&b->world, 1, &step_s);
    if (!status) tutti_choice_steps(step_s, &b->o.steps);
    return status;
}

tutti_status tutti_step_turns_verify(tutti_step_bench *b)
{
    double first[2], half[2], seconds = 0;
    int designs = 0;
    for (int i = 0; i < b->rows; i++) {
        if (b->row[i].kind != TUTTI_ROW_DESIGN) continue;
        tutti_status status = hash_after(b, &b->row[i], half, &seconds);
        if (status) return status;
        if (designs++ == 0) memcpy(first, half, sizeof first);
        if (memcmp(first, half, sizeof first) != 0)
            return tutti_fail(TUTTI_ERR_MISMATCH,
                "%s: after %d steps the weights are not those of the first design", b->row[i].name,
                VERIFY_STEPS);
    }
    tutti_status status = resolve_steps(b, seconds / VERIFY_STEPS);
    if (status) return status;
    if (b->result)
        printf("verified: after %d steps %d designs on %d ranks have the same weights, bit for "
               "bit\nmedians over %" PRId64 " blocks of %" PRId64 " steps\n",
            VERIFY_STEPS, designs, b->world.boot.size, b->o.blocks, b->o.steps.value);
    return TUTTI_OK;
}

/* ---- timing ---- */

static tutti_status time_session(tutti_step_bench *b, tutti_step_row *r, int64_t block)
{
    const tutti_workload workload = tutti_step_row_workload(b, r);
    tutti_training_session session;
    tutti_pace pace;
    tutti_status status = start_row(b, r, &session);
    if (!status && !session.exchange)
        status = tutti_world_barrier(&b->world); /* nothing else synchronizes the ranks */
    if (!status)
        status = tutti_workload_pace(&workload, &session, WARM_STEPS, (int)b->o.steps.value, &pace);
    if (status) return status;
    r->step_s[block] = pace.step_s;
    r->counts = session.runner->count(session.run, session.step->train);
    r->hidden[block] =
        session.exchange && session.placement.ranks > 1 ? pace.hidden_pct / 100 : NAN;
    tutti_outlook outlook = {0};
    if (session.exchange) outlook = tutti_exchange_outlook(session.exchange);
    if (outlook.known) b->outlook = outlook;
    return tutti_training_session_close(&session);
}

static tutti_status time_traffic(tutti_step_bench *b, tutti_step_row *r, int64_t block)
{
    tutti_status status = tutti_step_traffic_run(&b->traffic, 1, b->o.timeout_s);
    if (!status) status = tutti_world_barrier(&b->world);
    double begun = tutti_clock_s();
    if (!status) status = tutti_step_traffic_run(&b->traffic, b->o.steps.value, b->o.timeout_s);
    r->step_s[block] = (tutti_clock_s() - begun) / (double)b->o.steps.value;
    return status;
}

static tutti_status time_peer(tutti_step_bench *b, tutti_step_row *r, int64_t block)
{
    tutti_status status = tutti_world_barrier(&b->world);
    return status ? status : tutti_peer_block(r->peer, b->o.timeout_s, &r->step_s[block]);
}

static void show_progress(const tutti_step_bench *b, int64_t block, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "block %" PRId64 "/%" PRId64 " %s", block + 1, b->o.blocks, name);
    tutti_terminal_show(stderr, tutti_terminal_columns(STDERR_FILENO), text);
}

/* A row's turn in a block. A step over all ranks takes as long as the slowest rank. Computation alone counts as the
 * mean over ranks: nothing synchronizes them there, and on shared cores the rank that falls behind takes longer than
 * any rank does in a real step, where the others wait for it. */
static tutti_status take_turn(tutti_step_bench *b, tutti_step_row *r, int64_t block)
{
    static tutti_status (*const time_row[])(tutti_step_bench *, tutti_step_row *, int64_t) = {
        [TUTTI_ROW_COMPUTE] = time_session,
        [TUTTI_ROW_COMMUNICATE] = time_traffic,
        [TUTTI_ROW_DESIGN] = time_session,
        [TUTTI_ROW_PEER] = time_peer};
    if (b->result) show_progress(b, block, r->name);
    tutti_status status = time_row[r->kind](b, r, block);
    if (status) return status;
    if (r->kind == TUTTI_ROW_COMPUTE) return tutti_world_mean(&b->world, &r->step_s[block]);
    return tutti_world_max(&b->world, 1, &r->step_s[block]);
}

static int list_designs(tutti_step_bench *b, tutti_step_row *design[])
{
    int designs = 0;
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].kind == TUTTI_ROW_DESIGN) design[designs++] = &b->row[i];
    return designs;
}

/* compute, design, compute, design, ..., compute: each design is compared with the computation alone just before and
 * after it. Each block begins with another design. */
static tutti_status time_designs(tutti_step_bench *b, int64_t block)
{
    tutti_step_row *design[TUTTI_STEP_MOST_ROWS],
        *compute = tutti_step_rows_find(b, TUTTI_ROW_COMPUTE);
    int designs = list_designs(b, design);
    tutti_status status = take_turn(b, compute, block);
    double before_s = compute->step_s[block], sum_s = before_s;
    for (int i = 0; i < designs && !status; i++) {
        tutti_step_row *r = design[(i + block) % designs];
        status = take_turn(b, r, block);
        if (!status) status = take_turn(b, compute, block);
        r->beside_s[block] = (before_s + compute->step_s[block]) / 2;
        before_s = compute->step_s[block];
        sum_s += before_s;
    }
    compute->step_s[block] = sum_s / (designs + 1);
    return status;
}

tutti_status tutti_step_turns_run(tutti_step_bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        status = time_designs(b, block);
        for (int i = 0; i < b->rows && !status; i++)
            if (b->row[i].kind == TUTTI_ROW_COMMUNICATE || b->row[i].kind == TUTTI_ROW_PEER)
                status = take_turn(b, &b->row[i], block);
    }
    if (b->result) tutti_terminal_clear(stderr, tutti_terminal_columns(STDERR_FILENO));
    return status;
}
