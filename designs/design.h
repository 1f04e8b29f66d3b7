/* The three designs (and the oracle): who starts a collective of a task graph, on which
 * communicator, and after what.
 *
 * THE ORDERING LAW.  On every lane all ranks start the same collectives in the same order, and no
 * set of started collectives may occupy every worker that another rank needs to start its partner.
 *
 * A group of ranks has its own lanes, and so has each edge (the messages from one rank to another with
 * one number): there "all ranks" are those of the group. No lane ever waits for another, unless they
 * share device slots:
 *
 * LANES THAT SHARE SLOTS HAVE ONE ORDER. A started collective may occupy a resource until its partners have started,
 * and all lanes of a rank share a limited amount of it (NCCL's kernels hold a GPU's processors while they wait). Then
 * each rank starts its collectives in one order, whatever their lane, group or edge, and one order of all collectives
 * of all ranks agrees with each rank's order (doc/designs.md, "Lanes that share device slots").
 *
 * QUEUED MESSAGES ARE FLUSHED BEFORE TEARDOWN, AND EVERY WAIT ENDS (doc/designs.md, "Waits and leaving";
 * tests/lint/waits.sh).
 *
 * How each design keeps the law: a collective gets its sequence number when the graph is submitted, in
 * program order, and numbers never restart. The program is the same on every rank, so the numbers
 * agree. A step's collectives start in the order of their numbers, or in an order that rank 0 has
 * sent to all ranks before (designs/exchange/order.h). The lane is written in the graph, which is
 * the same on every rank, too. And nothing that waits for another rank occupies a worker: a
 * collective node ends later (dag/run/token.h).
 *
 *   design      lane       order within the lane                  started by     MPI level
 *   funneled    0          sequence: waits for the next number    comm thread    FUNNELED
 *   concurrent  index % K  sequence within each lane              comm thread    FUNNELED
 *   chained     0          a token that a collective node passes  the worker     SERIALIZED
 *                          on when it starts, in the graph        that finds it ready
 *   sequential  0          program order, one by one, when all   main thread    FUNNELED
 *                          of the step's collectives are ready
 *
 *   naive       index % K  none: as they become ready             the worker,    SERIALIZED
 *                                                                 which waits for the end
 *
 * naive breaks the law, and a waiting worker is blocked. It behaves like a program that calls a
 * blocking collective inside a task; the suite of tests/deadlock fails with it.
 *
 * With shared device slots, all lanes are one *line* of the queue, in the order of submission (or the agreed order),
 * and a collective of a group or edge waits for its turn among all. If edges are `aside`, their messages go another
 * way, occupy nothing, and are not part of that order. The static checker assumes a single device slot.
 *
 * The levels hold where the starting thread also initialises MPI. In an existing MPI program
 * (attach) the comm thread is not MPI's main thread: SERIALIZED. */
#ifndef TUTTI_DESIGN_H
#define TUTTI_DESIGN_H

#include "collectives/boot.h"
#include "dag/base/status.h"
#include "dag/graph/graph.h"

struct tutti_queue;
struct tutti_entry;

/* One rank's collectives as the static checker simulates them, seen by a start rule. */
typedef struct tutti_start_view tutti_start_view;
struct tutti_start_view {
    int count; /* collectives, in program order; n: the sequence number */
    int (*group)(const tutti_start_view *view, int n);   /* of ranks, with its own lanes */
    int (*lane)(const tutti_start_view *view, int n);    /* of its group */
    int (*begins)(const tutti_start_view *view, int n);  /* the first of a section (a step) */
    int (*ready)(const tutti_start_view *view, int n);   /* all its data depend on has ended */
    int (*started)(const tutti_start_view *view, int n); /* on this rank */
    int (*ended)(const tutti_start_view *view, int n);   /* all ranks of the group started it */
    int one_order; /* lanes share device slots, of which a rank may have only one */
    int (*takes_slot)(
        const tutti_start_view *view, int n); /* with one_order: it takes a device slot */
};

/* Who starts a design's collectives, and which ready one comes first. The driver starts collectives
 * through these functions, and the checker uses them to decide whether the ordering law holds. No other
 * code depends on a design's rule. */
typedef struct tutti_start_rule {
    const char *name;
    int main_drives; /* the main thread, not a comm thread, starts and moves them while it waits */
    int at_once;     /* the worker that finds one ready posts it: only the graph orders a lane */
    int reorders;    /* a step may follow an order agreed on by the ranks, not program order */
    /* The entry that may start next on this lane; NULL: none. With at_once, one that could not start at
     * once. [A] The queue is locked. */
    struct tutti_entry *(*next)(struct tutti_queue *queue, int lane);
    /* For a ready n: the collective of this rank that the rule makes it wait for (to start, end or
     * become ready); -1: n may start. [P] */
    int (*held_back)(const tutti_start_view *view, int n);
} tutti_start_rule;

/* All rules (start.c); the list is NULL-terminated. */
extern const tutti_start_rule tutti_start_queue; /* a comm thread starts lanes in sequence order */
extern const tutti_start_rule tutti_start_ready; /* the worker that finds one ready posts it */
extern const tutti_start_rule tutti_start_main;  /* the main thread runs a step's one by one */
extern const tutti_start_rule *const tutti_start_rules[];

/* As held_back; with one_order, n also waits for the collective submitted before it, if both take device slots.
 * [P] */
int tutti_start_held_back(const tutti_start_rule *rule, const tutti_start_view *view, int n);

typedef struct tutti_design {
    const char *name, *summary;
    const tutti_start_rule *start;
    int many_lanes; /* whether --lanes above 1 makes sense */
    /* Collective nodes pass on a token when they start, which orders them. Only with a rule that starts
     * at_once, where a collective starts when its node runs. */
    int chain;
    int unsafe;                /* breaks the ordering law: refused unless the user insists */
    tutti_thread_level needed; /* if the starting thread initialises MPI */
    /* Writes a place on every collective node of the graph and adds the accesses that order them.
     * Lanes are 0 to lanes - 1 (of an edge: 0). Indices are 0, 1, ... among the collectives of a group in
     * a section. If the start rule does not reorder, they may restart at 0 within the section; a rule
     * that waits for the whole section (tutti_start_main) then waits for a run of indices. Workers are
     * held (place.holds) only where they start collectives at once, without a chain; a TUTTI_CHAIN access
     * exists only where the design has a chain. Other places are refused: neither the driver nor the
     * checker knows their meaning. */
    tutti_status (*place)(tutti_graph *graph, int lanes);
} tutti_design;

/* The one list of designs, NULL-terminated; every other list derives from it (tutti-info --list in
 * scripts). tutti_design_find: NULL for an unknown name. [P] */
extern const tutti_design *const tutti_designs[];
const tutti_design *tutti_design_find(const char *name);
/* Writes all names, separated by ", ", into text; returns text. [P] */
char *tutti_design_names(char *text, size_t size);
/* INVAL (logged) for a user's design that the driver and the checker cannot execute: its start rule is
 * incomplete, or it has a chain although workers start nothing. [P] */
tutti_status tutti_design_check(const tutti_design *design);
/* Whether its collectives may hold their workers (place.holds): only where workers start them and there
 * is no chain, which would let another begin meanwhile. [P] */
int tutti_design_may_hold(const tutti_design *design);
/* Whether it keeps the law and its collectives overlap computation: one of the designs to choose from.
 * [P] */
int tutti_design_overlaps(const tutti_design *design);
/* How many lanes it has: as many as are given; for 0, 4 if it takes several, else 1. [P] */
int tutti_design_lanes(const tutti_design *design, int given);

#endif
