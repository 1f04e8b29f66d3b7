#include "designs/exchange/exchange_parts.h"

#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "dag/base/clones.h"
#include "dag/base/log.h"

#include <stdlib.h>

static tutti_status open_exchange(const void *attached, tutti_transport *transport,
    const tutti_exchange_options *options, tutti_exchange **exchange)
{
    tutti_exchange *x = calloc(1, sizeof *x);
    tutti_status status = x ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for an exchange");
    if (!status) {
        *x = (tutti_exchange){.attached = attached, .transport = transport, .comm_core = -1};
        status = tutti_exchange_take_options(x, options);
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
    if (!status) status = tutti_exchange_start_thread(x);
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
    tutti_status status = tutti_exchange_take_options(x, options);
    if (!status && x->missing)
        status = tutti_fail(
            TUTTI_ERR_TIMEOUT, "cannot open another design: not all ranks have left this one");
    if (!status) {
        status = tutti_exchange_start_thread(x);
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
