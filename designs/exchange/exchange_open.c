#include "designs/exchange/exchange_parts.h"

#include "collectives/choose.h"
#include "collectives/links/run.h"
#include "collectives/links/topology_text.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "dag/base/clones.h"
#include "dag/base/log.h"
#include "designs/passes/chunk.h"
#include "designs/thread/comm_core.h"
#include "designs/thread/deadline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double default_timeout_s = 60;

static tutti_thread_level needed_level(const tutti_exchange *x)
{
    tutti_thread_level level = x->options.design->needed;
    int from_another_thread =
        x->attached || (x->mpi_thread && !x->options.design->start->main_drives);
    return from_another_thread && level < TUTTI_THREAD_SERIALIZED ? TUTTI_THREAD_SERIALIZED : level;
}

/* All settings that ranks must share, as text; the caller frees it. NULL: no memory. */
static char *settings_text(const tutti_exchange *x)
{
    const tutti_exchange_options *o = &x->options;
    char *text = NULL;
    size_t size;
    uint64_t links = 0, rules = 0;
    if (x->topology && tutti_topology_hash(x->topology, &links)) return NULL;
    if (x->rules && tutti_rules_hash(x->rules, &rules)) return NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%sdesign=%s\nlanes=%d\nalgorithm=%s\nverify=%s\n", o->settings ? o->settings : "",
        o->design->name, o->lanes, o->algorithm ? o->algorithm : "auto",
        tutti_verify_mode_name(o->verify));
    fprintf(out, "chunk=%lld\npriority=%d\n", (long long)o->chunk_bytes, o->order.on);
    if (x->topology) fprintf(out, "the topology's hash=%016llx\n", (unsigned long long)links);
    if (x->rules) fprintf(out, "the rules' hash=%016llx\n", (unsigned long long)rules);
    if (tutti_algorithm_file(o->algorithm))
        fprintf(out, "forest=%016" PRIx64 "\n", tutti_algorithm_hash(o->algorithm));
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* Ranks that differ in design or lanes would wait for each other before any message. */
static tutti_status compare_ranks(const tutti_exchange *x)
{
    char *mine = settings_text(x);
    tutti_status status = tutti_boot_compare(&x->boot, mine ? mine : "");
    free(mine);
    return status;
}

/* Whether ranks have a lane for control messages. */
static int has_control(const tutti_exchange *x, int ranks)
{
    const tutti_exchange_options *o = &x->options;
    return ranks > 1 &&
           (o->verify != TUTTI_VERIFY_OFF || o->watch.on || o->trace || o->priorities.on);
}

int tutti_exchange_transport_lanes(const tutti_exchange_options *options)
{
    enum { CONTROL = 1 };
    return tutti_design_lanes(options->design, options->lanes) + CONTROL + options->messages;
}

/* What is chosen by: files that may be there on some ranks only. */
static tutti_status open_links(tutti_exchange *x, int ranks)
{
    const tutti_exchange_options *o = &x->options;
    tutti_topology_free(x->topology);
    tutti_rules_free(x->rules);
    x->topology = NULL;
    x->rules = NULL;
    tutti_status status = tutti_topology_of_run(o->topology, o->link_mbit, ranks, &x->topology);
    return status ? status : tutti_rules_of_run(o->algorithm, x->topology, ranks, &x->rules);
}

/* The rules' chunks, where the program leaves it open. */
static void choose_chunks(tutti_exchange *x, const tutti_transport *transport)
{
    int64_t bytes = tutti_rules_chunk(x->rules, transport->size, transport->near);
    if (bytes && x->chunks_free) x->options.chunk_bytes = bytes;
}

static tutti_status boot_mpi(tutti_exchange *x)
{
    const tutti_boot_program program = {x->attached, x->options.on_end, x->options.on_end_ctx};
    if (x->attached) return tutti_boot_attach(needed_level(x), &program, &x->boot);
    if (!x->mpi_thread) return tutti_boot_init(needed_level(x), NULL, &x->boot);
    x->boot = *tutti_mpi_thread_boot(x->mpi_thread);
    return TUTTI_OK;
}

/* On the communicating thread: opens MPI, lanes and communicator. */
static tutti_status open_transport(tutti_exchange *x, tutti_transport **transport)
{
    *transport = x->transport;
    x->transport = NULL;
    tutti_status status;
    if (*transport) {
        status = open_links(x, (*transport)->size);
        if (status) tutti_transport_close(*transport);
        return status;
    }
    status = boot_mpi(x);
    if (status) return status;
    x->booted = 1;
    status = tutti_boot_agree(&x->boot, open_links(x, x->boot.size));
    if (!status) status = compare_ranks(x);
    if (!status && !x->options.design->start->main_drives && !x->options.manual)
        status =
            tutti_comm_core_bind(x->options.comm_core, &x->boot, x->options.workers, &x->comm_core);
    const tutti_exchange_options *o = &x->options;
    int lanes = o->lanes + has_control(x, x->boot.size) + o->messages;
    if (!status) status = tutti_transport_mpi(x->boot.comm, lanes, transport);
    if (status || !o->choose_transport) return status;
    status = o->choose_transport(o->choose_ctx, transport, o->lanes, o->setup_timeout_s);
    if (status) tutti_transport_close(*transport);
    return status;
}

/* A transport's lock, if it has one. */
static void lock_if_any(pthread_mutex_t *mutex)
{
    if (mutex) pthread_mutex_lock(mutex);
}

static void unlock_if_any(pthread_mutex_t *mutex)
{
    if (mutex) pthread_mutex_unlock(mutex);
}

static tutti_status open_control(
    const tutti_exchange *x, tutti_transport *transport, tutti_control **control)
{
    if (transport->lanes <= x->options.lanes)
        return tutti_fail(TUTTI_ERR_INVAL,
            "comparing the ranks' collectives needs one lane more than the transport's %d",
            transport->lanes);
    lock_if_any(transport->lock);
    tutti_status status = tutti_control_open(transport, x->options.lanes, control);
    unlock_if_any(transport->lock);
    return status;
}

/* Edges share the lane after the one for control messages. */
static tutti_status open_messages(tutti_exchange *x, tutti_transport *transport,
    tutti_control *control, const tutti_comm_options *options)
{
    int lane = x->options.lanes + (control != NULL);
    if (transport->lanes <= lane)
        return tutti_fail(TUTTI_ERR_INVAL, "messages need one lane more than the transport's %d",
            transport->lanes);
    return tutti_lanes_open(transport, control, lane, x->options.lanes, options, &x->lanes);
}

static tutti_status open_part(
    void *ctx, const tutti_members *members, tutti_comm **comm, tutti_control **control)
{
    const tutti_exchange *x = ctx;
    return tutti_lanes_part(x->lanes, members, comm, control);
}

/* What uses control messages; control NULL: there are none. */
static tutti_status open_calls(tutti_exchange *x, tutti_control *control, int size)
{
    tutti_status status = control ? tutti_clocks_open(control, &x->clocks) : TUTTI_OK;
    if (!status && control) status = tutti_halt_open(control, &x->halt);
    if (!status && (control || size == 1))
        status = tutti_active_messages_open(control, &x->messages);
    return status;
}

static void close_calls(tutti_exchange *x)
{
    tutti_clocks_close(x->clocks);
    tutti_halt_close(x->halt);
    tutti_active_messages_close(x->messages);
    x->clocks = NULL;
    x->halt = NULL;
    x->messages = NULL;
}

static void pass_calls(void *ctx)
{
    tutti_exchange *x = ctx;
    if (x->clocks) tutti_clocks_pass(x->clocks);
    if (x->halt) tutti_halt_pass(x->halt);
    if (x->messages) tutti_active_messages_pass(x->messages);
}

static int are_calls_busy(void *ctx)
{
    tutti_exchange *x = ctx;
    return tutti_clocks_busy(x->clocks) || tutti_halt_busy(x->halt) ||
           tutti_active_messages_busy(x->messages);
}

static tutti_status set_up_exchange(void *ctx, tutti_comm **comm, tutti_control **control)
{
    tutti_exchange *x = ctx;
    tutti_transport *transport;
    tutti_deadline *deadline = NULL;
    if (x->options.design->start->main_drives && !x->transport && !x->attached)
        deadline = tutti_deadline_open(TUTTI_DEADLINE_START, x->options.setup_timeout_s);
    tutti_status status = open_transport(x, &transport);
    tutti_deadline_close(deadline);
    if (status) return status;
    transport->shares_slots |= x->options.shares_slots;
    transport->edges_aside |= x->options.edges_aside;
    tutti_comm_options options = {.algorithm = x->options.algorithm,
        .rules = x->rules,
        .topology = x->topology,
        .lanes = x->options.lanes,
        .depth = x->options.depth};
    choose_chunks(x, transport);
    status = tutti_comm_new(transport, &options, comm);
    if (!status && has_control(x, transport->size)) status = open_control(x, transport, control);
    if (!status && x->options.messages) status = open_messages(x, transport, *control, &options);
    return status ? status : open_calls(x, *control, transport->size);
}

static void end_mpi(tutti_exchange *x)
{
    double limit_s = x->options.setup_timeout_s;
    int ends = x->boot.initialised_here;
    tutti_deadline *deadline = ends ? tutti_deadline_open(TUTTI_DEADLINE_END, limit_s) : NULL;
    tutti_boot_finalize(&x->boot);
    tutti_deadline_close(deadline);
}

static void tear_down_exchange(void *ctx, tutti_comm *comm, tutti_control *control, int orderly)
{
    tutti_exchange *x = ctx;
    pthread_mutex_t *mutex = comm ? tutti_comm_lock(comm) : NULL;
    lock_if_any(mutex);
    if (!orderly && comm) tutti_comm_abandon(comm);
    tutti_lanes_stop(x->lanes, orderly);
    tutti_control_stop(control);
    tutti_comm_free(comm);
    unlock_if_any(mutex);
    tutti_control_free(control);
    close_calls(x);
    tutti_lanes_free(x->lanes);
    x->lanes = NULL;
    x->missing = !orderly;
    if (!orderly) x->boot.initialised_here = 0; /* finalising would wait for the missing rank */
    if (x->booted && !x->mpi_thread) end_mpi(x);
    x->booted = 0;
}

/* The bytes of collectives with priorities that are granted at a time: the link stays busy while one ends and the
 * next begins. */
static int64_t window_of(int64_t chunk_bytes)
{
    enum { IN_FLIGHT = 4 };
    return IN_FLIGHT * (chunk_bytes ? chunk_bytes : tutti_chunk_default_bytes());
}

/* Also fills in defaults. */
static tutti_status check_options(tutti_exchange_options *o)
{
    const tutti_design *design = o->design;
    if (!o->algorithm) o->algorithm = tutti_algorithm_find(NULL)->name;
    o->lanes = tutti_design_lanes(design, o->lanes);
    if (o->timeout_s <= 0) o->timeout_s = default_timeout_s;
    if (o->setup_timeout_s <= 0) o->setup_timeout_s = default_timeout_s;
    if (o->workers < 1) o->workers = 1;
    if (o->manual) o->watch.on = 0;
    if (o->chunk_bytes < 0) o->chunk_bytes = tutti_chunk_default_bytes();
    if (!o->priorities.window) o->priorities.window = window_of(o->chunk_bytes);
    tutti_status status = tutti_design_check(design);
    if (!status) status = tutti_watch_check(&o->watch);
    if (!status) status = tutti_comm_core_check("comm_core", o->comm_core);
    if (status) return status;
    if (design->unsafe && !o->unsafe)
        return tutti_fail(TUTTI_ERR_USAGE,
            "design %s can hang or sum the wrong buffers, on purpose: it runs only if unsafe is "
            "set",
            design->name);
    if (!tutti_verify_mode_name(o->verify))
        return tutti_fail(TUTTI_ERR_INVAL, "unknown way to compare ranks: %d", o->verify);
    if (o->priorities.on && o->order.on)
        return tutti_fail(TUTTI_ERR_INVAL,
            "a step's collectives follow an agreed order, or priorities: not both");
    if (o->lanes < 1)
        return tutti_fail(TUTTI_ERR_USAGE, "lanes is %d: must be at least 1", o->lanes);
    if (o->lanes > 1 && !design->many_lanes)
        return tutti_fail(TUTTI_ERR_USAGE,
            "lanes is %d, but design %s has one lane (concurrent has several)", o->lanes,
            design->name);
    return TUTTI_OK;
}

tutti_status tutti_exchange_check_options(const tutti_exchange_options *options)
{
    tutti_exchange_options copy = *options;
    return check_options(&copy);
}

/* After check_options: keeps what need not last. */
static tutti_status keep_options(tutti_exchange *x, const tutti_exchange_options *given)
{
    const char *name = x->options.algorithm ? x->options.algorithm : "auto";
    char *algorithm = strdup(name);
    if (!algorithm) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an exchange");
    x->chunks_free = given->chunk_bytes < 0;
    free(x->algorithm);
    x->options.algorithm = x->algorithm = algorithm;
    return TUTTI_OK;
}

/* The library's collectives have no tags, and cannot be cancelled when fingerprints differ: ranks compare before they
 * start one. */
static tutti_verify_mode verify_mode(const tutti_exchange_options *o)
{
    int compares = o->verify != TUTTI_VERIFY_OFF;
    return compares && tutti_algorithm_is_library(o->algorithm) ? TUTTI_VERIFY_FULL : o->verify;
}

/* Starts the thread, after check_options. After a TIMEOUT it may still use x. */
static tutti_status start_thread(tutti_exchange *x)
{
    const tutti_exchange_options *o = &x->options;
    const tutti_start_rule *start = o->design->start;
    const tutti_comm_thread_options thread = {
        .driver = {.start = start,
            .meter = o->meter,
            .trace = o->trace,
            .verify = {.mode = verify_mode(o), .at_once = o->manual},
            .priorities = o->priorities,
            .one_order = !o->design->unsafe,
            .part = o->messages ? open_part : NULL,
            .part_ctx = x},
        .threads = !start->main_drives && !o->manual,
        .setup_aside = x->attached != NULL,
        .timeout_s = o->timeout_s,
        .setup_timeout_s = o->setup_timeout_s,
        .watch = o->watch,
        .setup = set_up_exchange,
        .teardown = tear_down_exchange,
        .tick = pass_calls,
        .busy = are_calls_busy,
        .ctx = x};
    return tutti_comm_thread_open(&thread, &x->thread);
}

static tutti_status open_exchange(const void *attached, tutti_transport *transport,
    const tutti_exchange_options *options, tutti_exchange **exchange)
{
    tutti_exchange *x = calloc(1, sizeof *x);
    tutti_status status = x ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for an exchange");
    if (!status) {
        *x = (tutti_exchange){
            .options = *options, .attached = attached, .transport = transport, .comm_core = -1};
        status = check_options(&x->options);
        if (!status) status = keep_options(x, options);
        if (!status) status = tutti_isa_check();
    }
    if (status) {
        if (transport) transport->ops->close(transport);
        if (x) free(x->algorithm);
        free(x);
        return status;
    }
    if (options->reopens && !attached && !transport)
        status = tutti_mpi_thread_open(
            TUTTI_THREAD_SERIALIZED, x->options.setup_timeout_s, &x->mpi_thread);
    if (!status) status = start_thread(x);
    if (!status)
        *exchange = x;
    else if (status != TUTTI_ERR_TIMEOUT)
        tutti_exchange_close(x);
    return status;
}

tutti_status tutti_exchange_open(const tutti_exchange_options *options, tutti_exchange **exchange)
{
    return open_exchange(NULL, NULL, options, exchange);
}

tutti_status tutti_exchange_attach(
    const void *comm, const tutti_exchange_options *options, tutti_exchange **exchange)
{
    return open_exchange(comm, NULL, options, exchange);
}

tutti_status tutti_exchange_open_over(
    tutti_transport *transport, const tutti_exchange_options *options, tutti_exchange **exchange)
{
    return open_exchange(NULL, transport, options, exchange);
}

tutti_status tutti_exchange_close(tutti_exchange *exchange)
{
    if (!exchange) return TUTTI_OK;
    tutti_status status = tutti_comm_thread_close(exchange->thread);
    if (!status && exchange->missing) status = TUTTI_ERR_TIMEOUT;
    tutti_order_close(exchange->order);
    tutti_mpi_thread_close(exchange->mpi_thread, !exchange->missing);
    tutti_topology_free(exchange->topology);
    tutti_rules_free(exchange->rules);
    free(exchange->algorithm);
    free(exchange);
    return status;
}

void tutti_exchange_silence(tutti_exchange *exchange)
{
    tutti_comm_thread_silence(exchange->thread);
}

void tutti_exchange_explain(tutti_exchange *exchange, tutti_status status)
{
    tutti_driver_explain(tutti_comm_thread_driver(exchange->thread), status);
}

tutti_status tutti_exchange_reopen(tutti_exchange **exchange, const tutti_exchange_options *options)
{
    tutti_exchange *x = *exchange;
    if (!x->attached && !x->mpi_thread)
        return tutti_fail(TUTTI_ERR_INVAL, "this exchange cannot be opened again");
    *exchange = NULL;
    tutti_comm_thread_close(x->thread);
    tutti_order_close(x->order);
    x->order = NULL;
    x->thread = NULL;
    x->options = *options;
    tutti_status status = check_options(&x->options);
    if (!status) status = keep_options(x, options);
    if (!status && x->missing)
        status = tutti_fail(
            TUTTI_ERR_TIMEOUT, "cannot open another design: not all ranks have left this one");
    if (!status) {
        status = start_thread(x);
        if (status == TUTTI_ERR_TIMEOUT) return status;
    }
    if (status)
        tutti_exchange_close(x);
    else
        *exchange = x;
    return status;
}

int tutti_exchange_rank(const tutti_exchange *exchange)
{
    return tutti_comm_rank(tutti_comm_thread_comm(exchange->thread));
}

int tutti_exchange_size(const tutti_exchange *exchange)
{
    return tutti_comm_size(tutti_comm_thread_comm(exchange->thread));
}

int tutti_exchange_shares_slots(const tutti_exchange *exchange)
{
    return tutti_comm_shares_slots(tutti_comm_thread_comm(exchange->thread));
}

int tutti_exchange_lanes(const tutti_exchange *exchange)
{
    return exchange->options.lanes;
}

const char *tutti_exchange_algorithm(const tutti_exchange *exchange)
{
    return exchange->options.algorithm;
}

uint64_t tutti_exchange_chosen_by(const tutti_exchange *exchange)
{
    uint64_t hash = 0;
    const tutti_algorithm *algorithm = tutti_algorithm_find(exchange->algorithm);
    if (exchange->rules) (void)tutti_rules_hash(exchange->rules, &hash);
    if (algorithm && algorithm->prices) (void)tutti_topology_hash(exchange->topology, &hash);
    return hash;
}

const tutti_topology *tutti_exchange_topology(const tutti_exchange *exchange)
{
    return exchange->topology;
}

const tutti_design *tutti_exchange_design(const tutti_exchange *exchange)
{
    return exchange->options.design;
}

tutti_thread_level tutti_exchange_granted(const tutti_exchange *exchange)
{
    return exchange->booted ? exchange->boot.granted : TUTTI_THREAD_SINGLE;
}

int tutti_exchange_comm_core(const tutti_exchange *exchange)
{
    return exchange->comm_core;
}

double tutti_exchange_comm_cpu_s(const tutti_exchange *exchange)
{
    return tutti_comm_thread_cpu_s(exchange->thread);
}

tutti_outlook tutti_exchange_outlook(const tutti_exchange *exchange)
{
    return tutti_order_outlook(exchange->order);
}
