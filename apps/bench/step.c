#include "apps/bench/step.h"

#include "apps/bench/address.h"
#include "apps/bench/choices.h"
#include "apps/bench/grid.h"
#include "apps/bench/link.h"
#include "apps/bench/peer.h"
#include "apps/bench/result.h"
#include "apps/bench/share.h"
#include "apps/bench/traffic.h"
#include "apps/bench/world.h"
#include "apps/terminal/terminal.h"
#include "apps/tune/tune.h"
#include "config.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/kernels/kernel.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_BLOCKS = 1000,
    MOST_DESIGNS = 16,
    MOST_ROWS = 2 * MOST_DESIGNS + 4,
    VERIFY_STEPS = 6,
    WARM_STEPS = 7
};

/* Limits for the steps of a block if the bench chooses them. */
enum { LEAST_STEPS = 3, MOST_STEPS = 20 };
static const double block_s = 4;

typedef struct options {
    const char *model, *design, *algorithm, *peer, *interface, *comm_core, *json, *csv, *priority;
    int64_t batch, blocks, workers;
    tutti_conf_int steps; /* auto, until all ranks have agreed on the time of a step */
    tutti_conf_int lanes;
    tutti_conf_real bucket_mb, chunk_mb;
    tutti_conf_real link_mbit; /* 0: unknown */
    double timeout_s, tuning_time_s;
} options;

/* The designs that keep the ordering law, "all" for those that overlap, and "auto" for these and the
 * configuration chosen by trials. */
static const char *design_choice(int i)
{
    static const char *const sets[] = {"all", "auto"};
    enum { SETS = sizeof sets / sizeof *sets };
    if (i < SETS) return sets[i];
    int seen = SETS;
    for (int d = 0; tutti_designs[d]; d++)
        if (!tutti_designs[d]->unsafe && seen++ == i) return tutti_designs[d]->name;
    return NULL;
}

/* The order of a step's collectives. */
static const char *priority_choice(int i)
{
    static const char *const names[] = {"on", "off", "both", NULL};
    return names[i];
}

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "resnet20", .choice = tutti_choice_model,
        AT(model), .help = "model, on random images of the size that it is made for"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "64", .low = 1, .high = 65536, AT(batch),
        .help = "images per rank and step"},
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "all", .choice = design_choice, AT(design),
        .help =
            "design; all: each that communicates while it computes; auto: these, and what --design "
            "auto of tutti-cifar chooses"},
    {TUTTI_CONF_REAL, "tuning-time", "S", .fallback = "600", .low = 0, .high = 1e6,
        AT(tuning_time_s), .help = "seconds that --design auto may try"},
    TUTTI_SETTING_LANES(AT(lanes)),
    TUTTI_SETTING_BUCKET_MB(AT(bucket_mb)),
    TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    {TUTTI_CONF_CHOICE, "priority", "HOW", .fallback = "off", .choice = priority_choice,
        AT(priority),
        .help = "whether what the next step needs first overtakes; both: also without, in turns"},
    TUTTI_SETTING_ALGORITHM(AT(algorithm)),
    TUTTI_SETTING_WORKERS(AT(workers)),
    {TUTTI_CONF_INT_OR, "steps", "N", .fallback = "auto", .low = 1, .high = 100000,
        .words = {"auto"}, AT(steps),
        .help = "steps a block; auto: as many as 4 seconds hold, 3 to 20"},
    {TUTTI_CONF_INT, "blocks", "N", .fallback = "5", .low = 1, .high = MOST_BLOCKS, AT(blocks),
        .help = "blocks of everything, in turns"},
    {TUTTI_CONF_REAL_OR, "link-mbit", "R", .fallback = "unknown", .low = 1e-3, .high = 1e6,
        .words = {"unknown"}, AT(link_mbit),
        .help = "rate of a host's link, for the limit of a step"},
    {TUTTI_CONF_TEXT, "peer", "COMMAND", .fallback = "auto", AT(peer),
        .help = "program to compare with; auto: torch_ddp.py where PyTorch is installed; none: no "
                "program"},
    {TUTTI_CONF_TEXT, "interface", "NAME", AT(interface),
        .help = "network interface of the peers; the first that is up when left out"},
    TUTTI_SETTING_COMM_CORE(AT(comm_core)),
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = "300", .low = 1, .high = 1e6, AT(timeout_s),
        .help = "seconds after which a block is an error"},
    {TUTTI_CONF_TEXT, "json", "FILE", .flags = TUTTI_CONF_LOCAL, AT(json),
        .help = "write one JSON object a line for every result"},
    {TUTTI_CONF_TEXT, "csv", "FILE", .flags = TUTTI_CONF_LOCAL, AT(csv),
        .help = "write a line for every sample, with commas between"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench step",
    .usage = "[OPTION]... | --grid [OPTION]...",
    .summary =
        "Times training steps over all ranks (tutti-run -n P tutti-bench step ...) with every "
        "design: against computation alone, communication alone, and the same model in "
        "PyTorch's DistributedDataParallel, in turns. Checks first that all designs and "
        "ranks end with the same weights. With --grid: many such runs in boxes (tutti-bench "
        "step --grid --help).",
    .version = PACKAGE_VERSION,
    .settings = settings,
};

/* What is timed, in the order of turns. */
typedef enum row_kind { COMPUTE, COMMUNICATE, DESIGN, PEER } row_kind;

typedef struct row {
    row_kind kind;
    const char *name;
    tutti_configuration configuration;               /* its design is NULL in rows of other kinds */
    double step_s[MOST_BLOCKS], hidden[MOST_BLOCKS]; /* seconds; NAN: unknown */
    double beside_s[MOST_BLOCKS]; /* for a design: computation alone, just before and after it */
} row;

typedef struct bench {
    options o;
    tutti_world world;
    tutti_result *result; /* rank 0's */
    tutti_meter *meter;
    tutti_step_traffic traffic;
    int64_t sent_bytes; /* by this rank per step */
    tutti_peer *peer;
    tutti_outlook outlook; /* the last one that a design returned */
    int rows;
    row row[MOST_ROWS];
} bench;

/* ---- a design at work ---- */

typedef struct stage {
    tutti_exchange *exchange; /* NULL: computation alone */
    tutti_workload workload;
} stage;

static tutti_status leave_stage(stage *st)
{
    tutti_workload_stop(&st->workload);
    tutti_status status = tutti_exchange_close(st->exchange); /* borrows names */
    tutti_workload_close(&st->workload);
    *st = (stage){0};
    return status;
}

static tutti_exchange_options exchange_options(
    const bench *b, const tutti_configuration *configuration)
{
    const tutti_exchange_options common = {.algorithm = b->o.algorithm,
        .comm_core = b->o.comm_core,
        .workers = (int)b->o.workers,
        .timeout_s = b->o.timeout_s,
        .meter = b->meter};
    return tutti_configuration_apply(configuration, &common);
}

static tutti_workload_options workload_options(const bench *b, tutti_exchange *exchange)
{
    return (tutti_workload_options){.model = tutti_model_find(b->o.model),
        .batch = b->o.batch,
        .micro_batches = (int)b->o.workers,
        .seed = 1,
        .ranks = b->world.boot.size,
        .rank = b->world.boot.rank,
        .exchange = exchange,
        .meter = b->meter,
        .timeout_s = b->o.timeout_s};
}

/* Opens an exchange with the configuration (none if it has no design) and a workload over it. */
static tutti_status enter_stage(bench *b, const tutti_configuration *configuration, stage *st)
{
    const tutti_exchange_options exchange = exchange_options(b, configuration);
    tutti_status status = TUTTI_OK;
    *st = (stage){0};
    if (configuration->design)
        status = tutti_exchange_attach(b->world.boot.comm, &exchange, &st->exchange);
    if (status) return status;
    const tutti_workload_options workload = workload_options(b, st->exchange);
    status = tutti_workload_open(&workload, "starpu", &st->workload);
    if (status) leave_stage(st);
    return status;
}

/* ---- verifying ---- */

/* The weights' hash after a few steps, and their time; MISMATCH if ranks differ. */
static tutti_status hash_after(
    bench *b, const tutti_configuration *configuration, double half[2], double *seconds)
{
    stage st;
    double range[4];
    tutti_status status = enter_stage(b, configuration, &st);
    if (!status) status = tutti_workload_start(&st.workload);
    if (!status) status = tutti_workload_steps(&st.workload, VERIFY_STEPS, seconds);
    uint64_t hash = 0;
    if (!status) status = tutti_workload_hash(&st.workload, &hash);
    if (!status) status = leave_stage(&st);
    if (status) return status;
    half[0] = (double)(hash >> 32);
    half[1] = (double)(hash & 0xffffffff);
    for (int i = 0; i < 4; i++) range[i] = i < 2 ? half[i] : -half[i - 2];
    status = tutti_world_max(&b->world, 4, range);
    if (!status && (range[0] != -range[2] || range[1] != -range[3]))
        status = tutti_fail(TUTTI_ERR_MISMATCH, "%s: after %d steps ranks have different weights",
            configuration->design->name, VERIFY_STEPS);
    return status;
}

/* Sets the number of steps per block, the same on all ranks, from the time of a step. */
static tutti_status settle_steps(bench *b, double step_s)
{
    tutti_status status = tutti_world_max(&b->world, 1, &step_s);
    if (status || !b->o.steps.word) return status;
    double steps = ceil(block_s / step_s);
    b->o.steps = (tutti_conf_int){.value = steps < LEAST_STEPS  ? LEAST_STEPS
                                           : steps > MOST_STEPS ? MOST_STEPS
                                                                : (int)steps};
    return TUTTI_OK;
}

static tutti_status verify(bench *b)
{
    double first[2], half[2], seconds = 0;
    int designs = 0;
    for (int i = 0; i < b->rows; i++) {
        if (b->row[i].kind != DESIGN) continue;
        tutti_status status = hash_after(b, &b->row[i].configuration, half, &seconds);
        if (status) return status;
        if (designs++ == 0) memcpy(first, half, sizeof first);
        if (memcmp(first, half, sizeof first) != 0)
            return tutti_fail(TUTTI_ERR_MISMATCH,
                "%s: after %d steps the weights are not those of the first design", b->row[i].name,
                VERIFY_STEPS);
    }
    tutti_status status = settle_steps(b, seconds / VERIFY_STEPS);
    if (status) return status;
    if (b->result)
        printf("verified: after %d steps %d designs on %d ranks have the same weights, bit for "
               "bit\nmedians over %" PRId64 " blocks of %" PRId64 " steps\n",
            VERIFY_STEPS, designs, b->world.boot.size, b->o.blocks, b->o.steps.value);
    return TUTTI_OK;
}

static const row *find_row(const bench *b, row_kind kind)
{
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].kind == kind) return &b->row[i];
    return NULL;
}

/* ---- timing ---- */

static tutti_status time_stage(bench *b, row *r, int64_t block)
{
    stage st;
    tutti_status status = enter_stage(b, &r->configuration, &st);
    if (!status) status = tutti_workload_start(&st.workload);
    if (!status && !st.exchange)
        status = tutti_world_barrier(&b->world); /* nothing else synchronizes the ranks */
    if (!status)
        status = tutti_workload_pace(
            &st.workload, WARM_STEPS, (int)b->o.steps.value, &r->step_s[block], &r->hidden[block]);
    if (status) return status;
    r->hidden[block] = st.exchange && b->world.boot.size > 1 ? r->hidden[block] / 100 : NAN;
    tutti_outlook outlook = {0};
    if (st.exchange) outlook = tutti_exchange_outlook(st.exchange);
    if (outlook.known) b->outlook = outlook;
    return leave_stage(&st);
}

static tutti_status time_traffic(bench *b, row *r, int64_t block)
{
    tutti_status status = tutti_step_traffic_run(&b->traffic, 1, b->o.timeout_s);
    if (!status) status = tutti_world_barrier(&b->world);
    double begun = tutti_clock_s();
    if (!status) status = tutti_step_traffic_run(&b->traffic, b->o.steps.value, b->o.timeout_s);
    r->step_s[block] = (tutti_clock_s() - begun) / (double)b->o.steps.value;
    return status;
}

static tutti_status time_peer(bench *b, row *r, int64_t block)
{
    tutti_status status = tutti_world_barrier(&b->world);
    return status ? status : tutti_peer_block(b->peer, b->o.timeout_s, &r->step_s[block]);
}

static void show_progress(const bench *b, int64_t block, const char *name)
{
    char text[160];
    snprintf(text, sizeof text, "block %" PRId64 "/%" PRId64 " %s", block + 1, b->o.blocks, name);
    tutti_terminal_show(stderr, tutti_terminal_columns(STDERR_FILENO), text);
}

/* A row's turn in a block. A step over all ranks takes as long as the slowest rank. Computation alone counts as the
 * mean over ranks: nothing synchronizes them there, and on shared cores the rank that falls behind takes longer than
 * any rank does in a real step, where the others wait for it. */
static tutti_status take_turn(bench *b, row *r, int64_t block)
{
    static tutti_status (*const time_row[])(bench *, row *, int64_t) = {[COMPUTE] = time_stage,
        [COMMUNICATE] = time_traffic,
        [DESIGN] = time_stage,
        [PEER] = time_peer};
    if (b->result) show_progress(b, block, r->name);
    tutti_status status = time_row[r->kind](b, r, block);
    if (status) return status;
    if (r->kind == COMPUTE) return tutti_world_mean(&b->world, &r->step_s[block]);
    return tutti_world_max(&b->world, 1, &r->step_s[block]);
}

static int list_designs(bench *b, row *design[])
{
    int designs = 0;
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].kind == DESIGN) design[designs++] = &b->row[i];
    return designs;
}

/* compute, design, compute, design, ..., compute: each design is compared with the computation alone just before and
 * after it. Each block begins with another design. */
static tutti_status time_designs(bench *b, int64_t block)
{
    row *design[MOST_ROWS], *compute = (row *)find_row(b, COMPUTE);
    int designs = list_designs(b, design);
    tutti_status status = take_turn(b, compute, block);
    double before_s = compute->step_s[block], sum_s = before_s;
    for (int i = 0; i < designs && !status; i++) {
        row *r = design[(i + block) % designs];
        status = take_turn(b, r, block);
        if (!status) status = take_turn(b, compute, block);
        r->beside_s[block] = (before_s + compute->step_s[block]) / 2;
        before_s = compute->step_s[block];
        sum_s += before_s;
    }
    compute->step_s[block] = sum_s / (designs + 1);
    return status;
}

static tutti_status time_blocks(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int64_t block = 0; block < b->o.blocks && !status; block++) {
        status = time_designs(b, block);
        for (int i = 0; i < b->rows && !status; i++)
            if (b->row[i].kind == COMMUNICATE || b->row[i].kind == PEER)
                status = take_turn(b, &b->row[i], block);
    }
    if (b->result) tutti_terminal_clear(stderr, tutti_terminal_columns(STDERR_FILENO));
    return status;
}

/* ---- telling ---- */

/* Minimum, median and maximum over blocks. */
typedef struct spread {
    double least, median, most;
} spread;

static spread spread_of(const bench *b, const double values[])
{
    double sorted[MOST_BLOCKS];
    memcpy(sorted, values, (size_t)b->o.blocks * sizeof *sorted);
    double median = tutti_median((int)b->o.blocks, sorted);
    return (spread){sorted[0], median, sorted[b->o.blocks - 1]};
}

static double median_of(const bench *b, const double values[])
{
    return spread_of(b, values).median;
}

/* The median over blocks of the ratio of two rows' times in the same block. */
static double ratio_of(const bench *b, const row *above, const row *below)
{
    double ratio[MOST_BLOCKS];
    for (int64_t k = 0; k < b->o.blocks; k++) ratio[k] = above->step_s[k] / below->step_s[k];
    return tutti_median((int)b->o.blocks, ratio);
}

/* The time of a step's bytes at the link's rate; 0 if the rate is unknown. */
static double wire_s(const bench *b)
{
    double rate = tutti_link_goodput(b->o.link_mbit.value);
    return rate > 0 ? (double)b->sent_bytes / rate : 0;
}

/* What no step can beat: all of its computation, or all of its bytes at the link's rate. */
static double limit_s(const bench *b)
{
    return fmax(median_of(b, find_row(b, COMPUTE)->step_s), wire_s(b));
}

/* A row's time over its limit, block by block; a design is compared with the computation just before and after it. */
static spread over_limit(const bench *b, const row *r)
{
    double ratio[MOST_BLOCKS];
    const double *compute_s = r->kind == DESIGN ? r->beside_s : find_row(b, COMPUTE)->step_s;
    for (int64_t k = 0; k < b->o.blocks; k++)
        ratio[k] = r->step_s[k] / fmax(compute_s[k], wire_s(b));
    return spread_of(b, ratio);
}

/* The median share over the blocks in which it is known. */
static double hidden_of(const bench *b, const row *r)
{
    double known[MOST_BLOCKS];
    int count = 0;
    for (int64_t k = 0; k < b->o.blocks; k++)
        if (!isnan(r->hidden[k])) known[count++] = r->hidden[k];
    return count && r->kind == DESIGN ? tutti_median(count, known) : NAN;
}

/* Compares the chosen configuration with the fastest fixed design, block by block. */
static void tell_choice(const bench *b, const row *chosen, json_t *event)
{
    char text[TUTTI_CONFIGURATION_TEXT];
    const row *best = NULL;
    for (int i = 0; i < b->rows; i++) {
        const row *r = &b->row[i];
        if (r->kind != DESIGN || r == chosen) continue;
        if (!best || median_of(b, r->step_s) < median_of(b, best->step_s)) best = r;
    }
    double over = ratio_of(b, chosen, best);
    tutti_configuration_text(&chosen->configuration, text);
    printf("  %s: %.3f of %s\n", text, over, best->name);
    json_object_set_new(event, "chosen", json_string(text));
    json_object_set_new(event, "over_best", json_real(over));
}

/* The JSON object of a row: its ratios, and the values they come from. */
static json_t *event_of(const bench *b, const row *r, double limit)
{
    static const char *const kinds[] = {
        [COMPUTE] = "compute", [COMMUNICATE] = "communicate", [DESIGN] = "design", [PEER] = "peer"};
    spread step_s = spread_of(b, r->step_s), over = over_limit(b, r);
    json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:I}",
        "event", "step", "kind", kinds[r->kind], "name", r->name, "model", b->o.model, "batch",
        (json_int_t)b->o.batch, "ranks", b->world.boot.size, "link_mbit", b->o.link_mbit.value,
        "step_ms", 1e3 * step_s.median, "least_ms", 1e3 * step_s.least, "most_ms",
        1e3 * step_s.most, "limit_ms", 1e3 * limit, "sent_bytes", (json_int_t)b->sent_bytes);
    json_t *more = json_pack("{s:f, s:f, s:f, s:s, s:I, s:I, s:s, s:o}", "over_limit", over.median,
        "over_limit_least", over.least, "over_limit_most", over.most, "ratio",
        "median of paired ratios, least and largest", "count", (json_int_t)b->o.blocks, "steps",
        (json_int_t)b->o.steps.value, "unit", "ms", "samples",
        tutti_result_samples(b->o.blocks, r->step_s, 1e3));
    json_object_update(event, more);
    json_decref(more);
    if (r->kind == DESIGN)
        json_object_set_new(
            event, "compute_beside_ms", tutti_result_samples(b->o.blocks, r->beside_s, 1e3));
    return event;
}

static void tell_row(bench *b, const row *r, double limit, const row *peer)
{
    spread step_s = spread_of(b, r->step_s);
    double hidden = hidden_of(b, r), over = peer ? ratio_of(b, r, peer) : 0;
    char share[16] = "-", ratio[16] = "-";
    if (r->kind == DESIGN) tutti_share_text(hidden, share);
    if (peer && r->kind == DESIGN) snprintf(ratio, sizeof ratio, "%.3f", over);
    printf("%-28s %10.2f %10.3f %9s %10s  (%.2f .. %.2f)\n", r->name, 1e3 * step_s.median,
        over_limit(b, r).median, share, ratio, 1e3 * step_s.least, 1e3 * step_s.most);
    json_t *event = event_of(b, r, limit);
    if (r->kind == DESIGN) json_object_set_new(event, "hidden", tutti_share_json(hidden));
    if (peer && r->kind == DESIGN) json_object_set_new(event, "over_peer", json_real(over));
    if (!strcmp(r->name, "auto")) tell_choice(b, r, event);
    tutti_result_event(b->result, event);
}

/* What the best order could gain at the observed rate: a step in program order takes the forward pass (the
 * computation before the first gradient) and everything up to the end of the sum that is needed first; no step takes
 * less than its computation, or than its bytes. */
static void tell_outlook(bench *b)
{
    const tutti_outlook *o = &b->outlook;
    if (!o->known) return;
    double compute_s = median_of(b, find_row(b, COMPUTE)->step_s);
    double sums_s = (double)b->traffic.bytes * o->seconds_per_byte;
    double forward_s = compute_s > o->backward_s ? compute_s - o->backward_s : 0;
    double gain = (forward_s + o->urgent_s) / (compute_s > sums_s ? compute_s : sums_s);
    if (gain < 1) gain = 1;
    printf(
        "in theory the order of sums can gain a factor of %.3f (%s); seen: gradients within %.2f "
        "ms, %.0f Mbit/s\n",
        gain, o->changes ? "it was changed" : "it was left as it is", 1e3 * o->backward_s,
        8e-6 / o->seconds_per_byte);
    json_t *event = json_pack("{s:s, s:s, s:f, s:b, s:f, s:f}", "event", "order", "model",
        b->o.model, "gain", gain, "changes", o->changes, "backward_ms", 1e3 * o->backward_s,
        "urgent_ms", 1e3 * o->urgent_s);
    tutti_result_event(b->result, event);
}

static void tell(bench *b)
{
    double limit = limit_s(b), rate = tutti_link_goodput(b->o.link_mbit.value);
    const row *peer = find_row(b, PEER);
    printf("%d collectives of %.2f MB in all; a rank sends %.2f MB a step", b->traffic.collectives,
        (double)b->traffic.bytes / 1e6, (double)b->sent_bytes / 1e6);
    if (rate > 0) printf(", %.2f ms at the rate of the link", 1e3 * (double)b->sent_bytes / rate);
    printf("\n%-28s %10s %10s %9s %10s  %s\n", "", "ms a step", "/ limit", "hidden", "/ peer",
        "(least .. most)");
    for (int i = 0; i < b->rows; i++) tell_row(b, &b->row[i], limit, peer);
    printf("%-28s %10.2f\n", "limit", 1e3 * limit);
    puts("ms: medians over blocks. / limit, / peer: medians over blocks of the ratio in a block; "
         "the limit of a\n"
         "design is the computation just before and after it, or its bytes at the rate of the "
         "link. hidden: share\n"
         "of the time in flight during which a kernel ran (rank 0)");
    tell_outlook(b);
}

/* ---- setting up ---- */

static void add_row(bench *b, row_kind kind, const char *name, tutti_configuration configuration)
{
    b->row[b->rows++] = (row){.kind = kind, .name = name, .configuration = configuration};
}

/* "funneled, program order"; the text lives as long as the program. */
static const char *plain_name(const tutti_design *design)
{
    static char names[MOST_DESIGNS][48];
    int i = 0;
    while (tutti_designs[i] != design) i++;
    snprintf(names[i], sizeof names[i], "%s, program order", design->name);
    return names[i];
}

/* A design as it is and, if it can reorder its collectives, also in program order. */
static void add_design(bench *b, const tutti_design *design)
{
    int can = design->start->reorders, both = strcmp(b->o.priority, "both") == 0;
    tutti_configuration configuration = {.design = design,
        .lanes = design->many_lanes ? (int)tutti_conf_int_or(b->o.lanes, 0) : 0,
        .bucket_bytes = tutti_conf_bytes(b->o.bucket_mb),
        .chunk_bytes = tutti_conf_bytes(b->o.chunk_mb),
        .priority = strcmp(b->o.priority, "off") != 0};
    add_row(b, DESIGN, design->name, configuration);
    configuration.priority = 0;
    if (can && both) add_row(b, DESIGN, plain_name(design), configuration);
}

static void list_rows(bench *b)
{
    int each = !strcmp(b->o.design, "all") || !strcmp(b->o.design, "auto");
    add_row(b, COMPUTE, "computation alone", (tutti_configuration){0});
    add_row(b, COMMUNICATE, "communication alone", (tutti_configuration){0});
    for (int i = 0; design_choice(i); i++) {
        const tutti_design *design = tutti_design_find(design_choice(i));
        if (!design) continue;
        int wanted = each ? tutti_design_overlaps(design) : !strcmp(design->name, b->o.design);
        if (wanted) add_design(b, design);
    }
}

/* A row for the configuration found by trials, which begin with the first design. */
static tutti_status choose(bench *b)
{
    tutti_exchange *exchange;
    tutti_tune_result found;
    int together;
    if (strcmp(b->o.design, "auto") != 0) return TUTTI_OK;
    const tutti_tune_options what = {
        .exchange = exchange_options(b, &find_row(b, DESIGN)->configuration),
        .design_free = 1,
        .priority_free = 1,
        .workload = workload_options(b, NULL),
        .most_s = b->o.tuning_time_s,
        .file = "none"};
    tutti_status status = tutti_exchange_attach(b->world.boot.comm, &what.exchange, &exchange);
    if (!status) status = tutti_tune(&what, &exchange, &found, &together);
    if (!status) status = tutti_exchange_close(exchange);
    if (status) return status;
    add_row(b, DESIGN, "auto", found.configuration);
    return TUTTI_OK;
}

static tutti_status open_traffic(bench *b)
{
    stage st;
    tutti_status status = enter_stage(b, &find_row(b, DESIGN)->configuration, &st);
    if (status) return status;
    tutti_step *step = st.workload.step;
    /* The graph must outlive the exchange, whose thread calls MPI. */
    st.workload.step = NULL;
    status = leave_stage(&st);
    if (!status)
        status = tutti_step_traffic_open(
            &b->world, step->graph, step->train, b->o.algorithm, &b->traffic);
    tutti_step_free(step);
    if (!status) status = tutti_step_traffic_run(&b->traffic, 1, b->o.timeout_s);
    b->sent_bytes = b->traffic.sent.bytes;
    return status;
}

static tutti_status start_peer(bench *b)
{
    char program[1024], command[4096];
    tutti_address address = {{0}, {0}, 0};
    int there = tutti_peer_program(b->o.peer, "torch_ddp.py", program, sizeof program) != NULL;
    double nowhere = !there;
    tutti_status status = tutti_world_max(&b->world, 1, &nowhere);
    if (status || nowhere > 0) return status;
    status = tutti_address_find(b->o.interface, &address);
    char interface[sizeof address.interface];
    memcpy(interface, address.interface, sizeof interface);
    if (!status) status = tutti_world_share(&b->world, &address, sizeof address);
    if (status) return status;
    snprintf(command, sizeof command,
        "MASTER_ADDR=%s MASTER_PORT=%d RANK=%d WORLD_SIZE=%d GLOO_SOCKET_IFNAME=%s exec %s "
        "--model %s --batch %" PRId64 " --steps %" PRId64 " --blocks %" PRId64
        " --threads %" PRId64,
        address.host, address.port, b->world.boot.rank, b->world.boot.size, interface, program,
        b->o.model, b->o.batch, b->o.steps.value, b->o.blocks, b->o.workers);
    status = tutti_peer_start(command, b->o.timeout_s, &b->peer);
    if (!status) add_row(b, PEER, tutti_peer_about(b->peer), (tutti_configuration){0});
    return status;
}

static tutti_status measure(bench *b)
{
    tutti_status status = TUTTI_OK;
    list_rows(b);
    if (b->world.boot.rank == 0) status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    if (!status) status = tutti_meter_new(&b->meter);
    status = tutti_world_agree(&b->world, status);
    if (!status && b->result)
        printf("%s, batch %" PRId64 " on each of %d ranks, %s, %s\n", b->o.model, b->o.batch,
            b->world.boot.size, tutti_run_starpu_version(), tutti_kernel_library());
    if (!status) status = verify(b);
    if (!status) status = choose(b);
    if (!status) status = open_traffic(b);
    if (!status) status = start_peer(b);
    if (!status) status = time_blocks(b);
    if (!status && b->result) tell(b);
    return status;
}

static tutti_status run_here(int argc, char **argv, bench *b)
{
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b->o, &go);
    if (!go) return status;
    if (b->o.workers > b->o.batch)
        return tutti_conf_refuse(&conf, "workers", NULL, "is above --batch");
    status = tutti_world_open(b->o.timeout_s, &b->world);
    if (!status) status = measure(b);
    tutti_peer_stop(b->peer);
    tutti_step_traffic_close(&b->traffic);
    tutti_meter_free(b->meter);
    tutti_status closed = tutti_result_close(b->result);
    if (!status) status = closed;
    tutti_world_close(&b->world, status);
    return status;
}

static tutti_status run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--grid") == 0) return tutti_grid_run(argc - 1, argv + 1);
    bench *b = calloc(1, sizeof *b);
    if (!b) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a bench");
    tutti_status status = run_here(argc, argv, b);
    free(b);
    return status;
}

const tutti_bench tutti_bench_step = {"step", "training steps over all ranks, by design", run};
