/* What the main thread calls between steps: collectives that it waits for, and what ranks send each other outside of
 * collectives, by control messages (clock offsets, stopping together, active messages). */
#include "designs/exchange/exchange_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdlib.h>

/* ---- reports ---- */

void tutti_exchange_set_activity(tutti_exchange *exchange, const char *doing, int announced)
{
    tutti_watch *watch = tutti_comm_thread_watch(exchange->thread);
    if (watch) tutti_inquiry_set_activity(tutti_watch_inquiry(watch), doing, announced);
}

void tutti_exchange_attend(tutti_exchange *exchange)
{
    if (exchange->options.design->start->main_drives) tutti_exchange_pass(exchange);
}

/* ---- collectives ---- */

int tutti_exchange_pass(tutti_exchange *exchange)
{
    return tutti_driver_pass(tutti_comm_thread_driver(exchange->thread));
}

int tutti_exchange_move(tutti_exchange *exchange)
{
    return tutti_driver_move(tutti_comm_thread_driver(exchange->thread));
}

tutti_status tutti_exchange_call(
    tutti_exchange *exchange, const char *name, const tutti_coll_args *args)
{
    tutti_exchange_set_waiting(exchange, 1);
    tutti_status status = tutti_comm_thread_call(exchange->thread, name, args);
    tutti_exchange_set_waiting(exchange, 0);
    return status;
}

void tutti_exchange_set_timeout(tutti_exchange *exchange, double timeout_s)
{
    tutti_comm_thread_set_timeout(exchange->thread, timeout_s);
}

typedef struct counting {
    tutti_exchange *exchange;
    tutti_exchange_counts counts;
} counting;

static tutti_status count_all(void *ctx, int *done)
{
    counting *c = ctx;
    tutti_comm *comm = tutti_comm_thread_comm(c->exchange->thread);
    tutti_comm_count(comm, &c->counts.received);
    c->counts.work = tutti_comm_work(comm);
    tutti_lanes_work(c->exchange->lanes, &c->counts.work);
    *done = 1;
    return TUTTI_OK;
}

tutti_status tutti_exchange_count(tutti_exchange *exchange, tutti_exchange_counts *counts)
{
    counting *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to count messages");
    c->exchange = exchange;
    int remains;
    tutti_status status = tutti_comm_thread_do(exchange->thread, count_all, c, &remains);
    if (!status) *counts = c->counts;
    if (!remains) free(c);
    return status;
}

tutti_status tutti_exchange_broadcast(tutti_exchange *exchange, const char *name, tutti_dtype dtype,
    int root, int64_t count, void *data)
{
    const tutti_coll_args args = {
        .kind = TUTTI_BROADCAST, .dtype = dtype, .root = root, .count = count, .recv = data};
    return tutti_exchange_call(exchange, name, &args);
}

tutti_status tutti_exchange_agree(tutti_exchange *exchange, tutti_status mine, int *rank)
{
    int size = tutti_exchange_size(exchange);
    int32_t *all = calloc((size_t)size, sizeof *all), own = mine;
    if (!all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks' status", size);
    tutti_coll_args args = {.kind = TUTTI_ALLGATHER,
        .dtype = TUTTI_I32,
        .count = 1,
        .out_of_place = 1,
        .send = &own,
        .recv = all};
    tutti_status status = tutti_exchange_call(exchange, "the ranks' status", &args);
    int first = 0;
    while (!status && first < size && all[first] == TUTTI_OK) first++;
    if (!status && first < size)
        status = (tutti_status)all[first];
    else
        first = -1;
    if (rank) *rank = first;
    free(all);
    return status;
}

int tutti_exchange_abort(tutti_exchange *exchange, tutti_status status, const char *sentence)
{
    return tutti_driver_give_up(tutti_comm_thread_driver(exchange->thread), status, sentence);
}

void tutti_exchange_trace(tutti_exchange *exchange, tutti_trace *trace)
{
    tutti_driver_trace(tutti_comm_thread_driver(exchange->thread), trace);
}

/* ---- clock offsets ---- */

typedef struct clock_wait {
    tutti_clocks *clocks;
    tutti_clock_sample *sample;
} clock_wait;

static int has_sample(void *ctx, tutti_status *status)
{
    const clock_wait *w = ctx;
    return tutti_clocks_result(w->clocks, w->sample, status);
}

static tutti_status take_sample(tutti_exchange *x, tutti_clock_sample *sample)
{
    clock_wait wait = {x->clocks, sample};
    int late;
    *sample = (tutti_clock_sample){.at_s = tutti_clock_s()};
    if (tutti_exchange_size(x) == 1) return TUTTI_OK;
    if (!x->clocks)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "clocks cannot be compared: the ranks have no lane for messages");
    if (tutti_exchange_rank(x) == 0) return TUTTI_OK;
    tutti_clocks_start(x->clocks);
    tutti_comm_thread_wake(x->thread);
    tutti_status status = tutti_comm_thread_await(x->thread, has_sample, &wait, &late);
    if (!late) return status;
    return tutti_fail(TUTTI_ERR_TIMEOUT, "rank 0 has not sent the time within %g s: has it left?",
        x->options.timeout_s);
}

tutti_status tutti_exchange_clock(tutti_exchange *exchange, tutti_clock_sample *sample)
{
    tutti_exchange_set_waiting(exchange, 1);
    tutti_status status = take_sample(exchange, sample);
    tutti_exchange_set_waiting(exchange, 0);
    return tutti_exchange_agree(exchange, status, NULL);
}

/* ---- stopping together ---- */

typedef struct halt_wait {
    tutti_exchange *x;
    int64_t step;
    int ahead, wish;
    tutti_halt_answer answer;
} halt_wait;

static int has_answer(void *ctx, tutti_status *status)
{
    halt_wait *w = ctx;
    *status = tutti_halt_ask(w->x->halt, w->step, w->ahead, w->wish, &w->answer);
    if (tutti_halt_busy(w->x->halt)) tutti_comm_thread_wake(w->x->thread);
    return *status || w->answer != TUTTI_HALT_WAIT;
}

tutti_status tutti_exchange_halt(
    tutti_exchange *exchange, int64_t step, int ahead, int wish, int *stop)
{
    halt_wait wait = {.x = exchange, .step = step, .ahead = ahead, .wish = wish};
    int late;
    *stop = wish;
    if (tutti_exchange_size(exchange) == 1) return TUTTI_OK;
    if (!exchange->halt)
        return tutti_fail(
            TUTTI_ERR_UNSUPPORTED, "ranks cannot stop together: they have no lane for messages");
    tutti_status status = tutti_comm_thread_await(exchange->thread, has_answer, &wait, &late);
    if (late)
        return tutti_fail(TUTTI_ERR_TIMEOUT,
            "not all ranks have confirmed within %g s that the run is to stop: has one left?",
            exchange->options.timeout_s);
    *stop = wait.answer == TUTTI_HALT_STOP;
    return status;
}

/* ---- active messages ---- */

static tutti_status need_active_messages(const tutti_exchange *x)
{
    if (x->messages) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_UNSUPPORTED, "ranks cannot send active messages: they have no lane for messages");
}

tutti_status tutti_exchange_write(tutti_exchange *exchange, const tutti_active_message *message)
{
    tutti_status status = need_active_messages(exchange);
    if (!status) status = tutti_active_messages_send(exchange->messages, message);
    tutti_comm_thread_wake(exchange->thread);
    return status;
}

tutti_status tutti_exchange_listen(
    tutti_exchange *exchange, tutti_active_message_handler *on_message, void *ctx)
{
    tutti_status status = need_active_messages(exchange);
    if (!status) tutti_active_messages_listen(exchange->messages, on_message, ctx);
    tutti_comm_thread_wake(exchange->thread);
    return status;
}

int tutti_exchange_has_left(const tutti_exchange *exchange, int rank)
{
    return tutti_driver_has_left(tutti_comm_thread_driver(exchange->thread), rank);
}
