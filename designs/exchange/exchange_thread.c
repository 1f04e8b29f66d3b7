#include "designs/exchange/exchange_parts.h"

#include "collectives/choose.h"
#include "collectives/links/run.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "dag/base/log.h"
#include "designs/passes/chunk.h"
#include "designs/thread/comm_core.h"
#include "designs/thread/deadline.h"

#include <stdlib.h>

static tutti_thread_level needed_level(const tutti_exchange *x)
{
    tutti_thread_level level = x->options.design->needed;
    int from_another_thread =
        x->attached || (x->mpi_thread && !x->options.design->start->main_drives);
    return from_another_thread && level < TUTTI_THREAD_SERIALIZED ? TUTTI_THREAD_SERIALIZED : level;
}

/* Ranks that differ in design or lanes would wait for each other before any message. */
static tutti_status compare_ranks(const tutti_exchange *x)
{
    char *mine = tutti_exchange_settings_text(x);
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

/* The bytes of collectives with priorities that are granted at a time: the link stays busy while one ends and the
 * next begins. */
static int64_t window_of(int64_t chunk_bytes)
{
    enum { IN_FLIGHT = 4 };
    return IN_FLIGHT * (chunk_bytes ? chunk_bytes : tutti_chunk_default_bytes());
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
    x->setting_up = x->attached ? "MPI_Comm_dup" : "MPI_Init";
    status = boot_mpi(x);
    if (status) return status;
    x->booted = 1;
    x->setting_up = "the comparison of what all ranks were started with";
    status = tutti_boot_agree(&x->boot, open_links(x, x->boot.size));
    if (!status) status = compare_ranks(x);
    if (!status && !x->options.design->start->main_drives && !x->options.manual)
        status =
            tutti_comm_core_bind(x->options.comm_core, &x->boot, x->options.workers, &x->comm_core);
    const tutti_exchange_options *o = &x->options;
    int lanes = o->lanes + has_control(x, x->boot.size) + o->messages;
    x->setting_up = "the making of communicators";
    if (!status) status = tutti_transport_mpi(x->boot.comm, lanes, transport);
    if (status || !o->choose_transport) return status;
    x->setting_up = "the making of connections";
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
    tutti_status status = x->messages ? tutti_active_messages_pass(x->messages) : TUTTI_OK;
    if (status && x->thread) tutti_driver_share(tutti_comm_thread_driver(x->thread), status);
}

static int are_calls_busy(void *ctx)
{
    tutti_exchange *x = ctx;
    return tutti_clocks_busy(x->clocks) || tutti_halt_busy(x->halt) ||
           tutti_active_messages_busy(x->messages);
}

static const char *setup_at(void *ctx)
{
    const tutti_exchange *x = ctx;
    return x->setting_up;
}

static tutti_status set_up_exchange(
    void *ctx, tutti_driver_options *driver, tutti_comm **comm, tutti_control **control)
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
    driver->verify.untagged = transport->device_collectives != NULL;
    tutti_comm_options options = {.algorithm = x->options.algorithm,
        .rules = x->rules,
        .topology = x->topology,
        .lanes = x->options.lanes,
        .aside = x->options.messages ? x->options.lanes + has_control(x, transport->size) : 0,
        .depth = x->options.depth};
    choose_chunks(x, transport);
    if (!driver->priorities.window) driver->priorities.window = window_of(x->options.chunk_bytes);
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

/* The library's collectives have no tags, and cannot be cancelled when fingerprints differ: ranks compare before they
 * start one. */
static tutti_verify_mode verify_mode(const tutti_exchange_options *o)
{
    int compares = o->verify != TUTTI_VERIFY_OFF;
    return compares && tutti_algorithm_is_library(o->algorithm) ? TUTTI_VERIFY_FULL : o->verify;
}

tutti_status tutti_exchange_start_thread(tutti_exchange *x)
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
        .setup_at = setup_at,
        .tick = pass_calls,
        .busy = are_calls_busy,
        .ctx = x};
    x->setting_up = "its beginning";
    return tutti_comm_thread_open(&thread, &x->thread);
}
