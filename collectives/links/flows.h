/* What links carry: flows between ranks that share links as fluids do.
 *
 * A flow waits for the latency of its route, and then has a rate: rates are max-min fair. That is, on some link of
 * its route, which carries all that it can, no other flow is faster. They change when flows begin and end; in
 * between, each link carries what its flows sum up to. A flow crosses each capacity of its route once, a bus too.
 * Flows from one rank to another follow each other, as on one connection: the next one waits until the last one
 * has ended.
 *
 * Cost: a change concerns the flows that share links with it, directly or through others; for these, flows times
 * links of a route, times different rates. All changes of one instant are one change.
 *
 * SimGrid lets flows of one pair of ranks share, too. What several segments cost in all is the same.
 *
 * Source: Bertsekas, Gallager, "Data networks", 1992, section 6.5.2 (max-min flow control); the model of SimGrid:
 * Velho, Schnorr, Casanova, Legrand, "On the validity of flow-level TCP network models for grid and cloud
 * simulations", ACM TOMACS 23(4), 2013. [P] */
#ifndef TUTTI_FLOWS_H
#define TUTTI_FLOWS_H

#include "collectives/links/topology.h"

typedef struct tutti_flows tutti_flows;

/* The topology is finished, and outlives the flows. NOMEM. */
tutti_status tutti_flows_open(const tutti_topology *topology, tutti_flows **flows);
void tutti_flows_close(tutti_flows *flows); /* accepts NULL */

/* Seconds that a message of no bytes takes from one rank to another. NOMEM. */
tutti_status tutti_flows_latency(tutti_flows *flows, int from, int to, double *latency_s);
/* Begins a flow now; *flow: its number until it ends. Time does not go back. NOMEM. */
tutti_status tutti_flows_start(
    tutti_flows *flows, double now_s, int from, int to, double bytes, int *flow);
/* The next time at which anything happens; HUGE_VAL: nothing will. NOMEM. */
tutti_status tutti_flows_next(tutti_flows *flows, double *at_s);
/* Lets everything up to now happen. *flow: one that has ended, whose number is then free; -1: none. Call it until
 * there is none. NOMEM. */
tutti_status tutti_flows_end(tutti_flows *flows, double now_s, int *flow);

/* Fetches into the cache what the next events will need, and returns the flow of event i of those next to happen,
 * nearly in order, or -1. Changes nothing. */
int tutti_flows_ahead(const tutti_flows *flows, int i);

/* A flow's bytes a second; 0: it is still on its way, or waits. */
double tutti_flows_rate(const tutti_flows *flows, int flow);
/* Bytes that have begun to cross a capacity of the topology. */
double tutti_flows_carried(const tutti_flows *flows, int capacity);

#endif
