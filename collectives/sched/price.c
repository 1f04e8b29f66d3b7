#include "collectives/sched/price.h"

#include "collectives/links/events.h"
#include "collectives/links/flows.h"
#include "collectives/sched/walk.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

/* What is under way: a message up to its flow, its flow, a message after it, or a local step. */
typedef enum phase { SENDS, FLOWS, RECEIVES, COMPUTES } phase;

typedef struct activity {
    tutti_sched_event event;
    phase phase;
    int next; /* of the list of unused ones */
} activity;

/* When a rank's own time is free again, and its totals so far. */
typedef struct account {
    double free_s;
    int64_t sent_bytes, reduced_bytes;
} account;

typedef struct pricing {
    const tutti_sched *const *ranks;
    const tutti_topology *topology;
    size_t element; /* bytes */
    account *rank;  /* [P] */
    tutti_walk *walk;
    tutti_flows *flows;
    tutti_events events; /* what: an activity */
    activity *activity;
    int activities, room, unused;
    int *of_flow; /* the activity of each flow */
    int flow_room;
    double now_s;
} pricing;

static tutti_status new_activity(pricing *p, const tutti_sched_event *e, phase first, int *number)
{
    if (p->unused >= 0) {
        *number = p->unused;
        p->unused = p->activity[*number].next;
    } else {
        if (p->activities == p->room) {
            int room = p->room ? 2 * p->room : 64;
            activity *larger = realloc(p->activity, (size_t)room * sizeof *larger);
            if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to price %d steps", room);
            p->activity = larger;
            p->room = room;
        }
        *number = p->activities++;
    }
    p->activity[*number] = (activity){*e, first, -1};
    return TUTTI_OK;
}

static void end_activity(pricing *p, int number)
{
    p->activity[number].next = p->unused;
    p->unused = number;
}

/* Uses a rank's own time from now on, or from when it is free. Returns when it ends. */
static double use_time(pricing *p, int rank, double for_s)
{
    account *a = &p->rank[rank];
    if (for_s <= 0) return p->now_s;
    if (a->free_s < p->now_s) a->free_s = p->now_s;
    return a->free_s += for_s;
}

static int64_t bytes_of(const pricing *p, const tutti_sched_event *e)
{
    return p->ranks[e->rank]->step[e->step].count * (int64_t)p->element;
}

static tutti_status begin_message(pricing *p, const tutti_sched_event *e)
{
    const tutti_point_kind *kind = tutti_topology_kind_of(p->topology, e->rank);
    int64_t bytes = bytes_of(p, e);
    double asks_s = 0;
    int number;
    tutti_status status = new_activity(p, e, SENDS, &number);
    if (!status && kind->eager > 0 && (double)bytes > kind->eager)
        status = tutti_flows_latency(p->flows, e->rank, e->peer, &asks_s);
    if (status) return status;
    p->rank[e->rank].sent_bytes += bytes;
    return tutti_events_add(&p->events, use_time(p, e->rank, kind->send_s) + 2 * asks_s, number);
}

static int is_conversion(const tutti_sched_step *step)
{
    return step->kind == TUTTI_STEP_COPY &&
           (step->src.space == TUTTI_SPACE_WIDE) != (step->dst.space == TUTTI_SPACE_WIDE);
}

static tutti_status begin_local(pricing *p, const tutti_sched_event *e)
{
    const tutti_sched_step *step = &p->ranks[e->rank]->step[e->step];
    const tutti_point_kind *kind = tutti_topology_kind_of(p->topology, e->rank);
    double bytes = (double)bytes_of(p, e);
    int reduces = step->kind == TUTTI_STEP_REDUCE;
    double rate = reduces || is_conversion(step) ? kind->reduce : kind->copy;
    int number;
    tutti_status status = new_activity(p, e, COMPUTES, &number);
    if (status) return status;
    if (reduces) p->rank[e->rank].reduced_bytes += bytes_of(p, e);
    return tutti_events_add(&p->events, use_time(p, e->rank, rate > 0 ? bytes / rate : 0), number);
}

static tutti_status begin_flow(pricing *p, int number)
{
    const tutti_sched_event *e = &p->activity[number].event;
    int flow;
    tutti_status status =
        tutti_flows_start(p->flows, p->now_s, e->rank, e->peer, (double)bytes_of(p, e), &flow);
    if (status) return status;
    if (flow >= p->flow_room) {
        int room = 2 * flow + 64;
        int *larger = realloc(p->of_flow, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to price %d messages", room);
        p->of_flow = larger;
        p->flow_room = room;
    }
    p->of_flow[flow] = number;
    p->activity[number].phase = FLOWS;
    return TUTTI_OK;
}

/* A message has arrived: the sender is done with it, the receiver when it has had its moment. */
static tutti_status end_flow(pricing *p, int number)
{
    activity *a = &p->activity[number];
    const tutti_point_kind *kind = tutti_topology_kind_of(p->topology, a->event.peer);
    tutti_walk_end_step(p->walk, a->event.rank, a->event.step);
    a->phase = RECEIVES;
    return tutti_events_add(&p->events, use_time(p, a->event.peer, kind->recv_s), number);
}

static tutti_status continue_activity(pricing *p, int number)
{
    const activity *a = &p->activity[number];
    if (a->phase == SENDS) return begin_flow(p, number);
    if (a->phase == RECEIVES)
        tutti_walk_end_step(p->walk, a->event.peer, a->event.peer_step);
    else
        tutti_walk_end_step(p->walk, a->event.rank, a->event.step);
    end_activity(p, number);
    return TUTTI_OK;
}

static tutti_status begin_ready(pricing *p)
{
    tutti_sched_event e;
    tutti_status status = TUTTI_OK;
    while (!status && tutti_walk_take(p->walk, 0, &e))
        status = e.peer >= 0 ? begin_message(p, &e) : begin_local(p, &e);
    return status;
}

/* What happens at this instant. */
static tutti_status run_instant(pricing *p)
{
    tutti_timed_event event;
    int flow = -1;
    tutti_status status = tutti_flows_end(p->flows, p->now_s, &flow);
    for (; !status && flow >= 0;
         status = status ? status : tutti_flows_end(p->flows, p->now_s, &flow))
        status = end_flow(p, p->of_flow[flow]);
    while (!status && tutti_events_take(&p->events, p->now_s, &event))
        status = continue_activity(p, (int)event.what);
    return status;
}

static tutti_status run_schedules(pricing *p)
{
    tutti_status status = begin_ready(p);
    while (!status) {
        double flows_s = HUGE_VAL, next_s = tutti_events_next(&p->events);
        status = tutti_flows_next(p->flows, &flows_s);
        if (flows_s < next_s) next_s = flows_s;
        if (status || next_s == HUGE_VAL) break;
        p->now_s = next_s;
        status = run_instant(p);
        if (!status) status = begin_ready(p);
    }
    return status;
}

static int count_steps(const tutti_sched *const ranks[], int P, int *const *level)
{
    int most = 0;
    for (int r = 0; r < P; r++)
        for (int i = 0; i < ranks[r]->n; i++)
            if (level[r][i] > most) most = level[r][i];
    return most;
}

static void find_busiest(const pricing *p, tutti_sched_price *price)
{
    price->busiest = -1;
    for (int c = 0; c < p->topology->capacities && price->time_s > 0; c++) {
        double share =
            tutti_flows_carried(p->flows, c) / (p->topology->capacity[c] * price->time_s);
        if (share <= price->share) continue;
        price->share = share;
        price->busiest = c;
    }
}

static void sum_up(const pricing *p, int P, size_t wide, tutti_sched_price *price)
{
    for (int r = 0; r < P; r++) {
        const account *a = &p->rank[r];
        int64_t scratch_bytes = p->ranks[r]->scratch_count * (int64_t)p->element +
                                p->ranks[r]->wide_count * (int64_t)wide;
        if (a->sent_bytes > price->sent_bytes) price->sent_bytes = a->sent_bytes;
        if (a->reduced_bytes > price->reduced_bytes) price->reduced_bytes = a->reduced_bytes;
        if (scratch_bytes > price->scratch_bytes) price->scratch_bytes = scratch_bytes;
    }
    price->time_s = p->now_s;
    find_busiest(p, price);
}

tutti_status tutti_sched_price_of(const tutti_sched *const ranks[], int P, size_t element,
    size_t wide, const tutti_topology *topology, tutti_sched_price *price)
{
    tutti_sched_price result = {0};
    int **level;
    if (P < 1 || P > topology->ranks)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%d ranks to price on a topology of %d", P, topology->ranks);
    tutti_status status = tutti_sched_levels(ranks, P, &level);
    if (status) return status;
    result.steps = count_steps(ranks, P, level);
    free(level);
    pricing p = {.ranks = ranks, .topology = topology, .element = element, .unused = -1};
    p.rank = calloc((size_t)P, sizeof *p.rank);
    if (!p.rank)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory to price the schedules of %d ranks", P);
    if (!status) status = tutti_flows_open(topology, &p.flows);
    if (!status) status = tutti_walk_open(ranks, P, &p.walk);
    if (!status) {
        status = run_schedules(&p);
        tutti_status stuck = tutti_walk_close(p.walk);
        if (!status) status = stuck;
    }
    if (!status) {
        sum_up(&p, P, wide, &result);
        *price = result;
    }
    tutti_flows_close(p.flows);
    tutti_events_free(&p.events);
    free(p.activity);
    free(p.of_flow);
    free(p.rank);
    return status;
}
