/* The three designs (and the oracle): who starts a collective of a task graph, on which
 * communicator, after what.
 *
 * THE ORDERING LAW.  On every lane all ranks start the same collectives in the same order, and no
 * set of started collectives may occupy every worker that another rank needs to start its partner.
 *
 * How each design keeps it: the sequence number of a collective is taken where the graph is
 * submitted, in program order, and never restarts; the program is the same on every rank; so the
 * numbers agree. A step's collectives start in the order of their numbers, or in one that all ranks
 * have heard from rank 0 before (designs/exchange/order.h). The lane is written in the graph, which is the
 * same, too. And nothing that waits for another rank occupies a worker: a collective node ends later
 * (dag/run/token.h).
 *
 *   design      lane       order within the lane                  started by     MPI level
 *   funneled    0          sequence: the next number is waited for  comm thread    FUNNELED
 *   concurrent  index % K  sequence within each lane                comm thread    FUNNELED
 *   chained     0          a token that a collective node hands     the worker     SERIALIZED
 *                          on at its start, in the graph itself     that finds it ready
 *   sequential  0          program order, when all of the step's    main thread    FUNNELED
 *                          collectives are ready, one by one
 *
 *   naive       index % K  none: as they become ready             the worker, which  SERIALIZED
 *                                                                 waits for the end
 *
 * naive breaks the law, and the worker that waits occupies its place. It does what a program does
 * that calls a blocking collective in a task: with it, the suite of tests/deadlock fails.
 *
 * The levels hold for programs in which that thread also initialised MPI. In an existing MPI
 * program (attach), the comm thread is not MPI's main thread: SERIALIZED. */
#ifndef TUTTI_DESIGN_H
#define TUTTI_DESIGN_H

#include "collectives/boot.h"
#include "dag/base/status.h"
#include "dag/graph/graph.h"

struct tutti_queue;
struct tutti_entry;

/* One rank's collectives as the static checker plays them, for a start rule to judge by. */
typedef struct tutti_start_view tutti_start_view;
struct tutti_start_view {
    int count;                        /* collectives, in program order: n is the sequence number */
    int (*group)(const tutti_start_view *view, int n);   /* of ranks, with lanes of its own */
    int (*lane)(const tutti_start_view *view, int n);    /* of its group */
    int (*begins)(const tutti_start_view *view, int n);  /* the first of a section (a step) */
    int (*ready)(const tutti_start_view *view, int n);   /* all that its data wait for has ended */
    int (*started)(const tutti_start_view *view, int n); /* on this rank */
    int (*ended)(const tutti_start_view *view, int n);   /* every rank of the group has started it */
};

/* How a design's collectives are started: by whom, and which of those that are ready comes first. The driver
 * starts collectives by these functions, the checker judges by them whether the ordering law holds, and nobody
 * asks which rule a design has. */
typedef struct tutti_start_rule {
    const char *name;
    int main_drives; /* the main thread starts and moves them while it waits, not a comm thread */
    int at_once;     /* the worker that finds one ready posts it: only the graph orders a lane */
    int reorders;    /* a step may follow an order that the ranks agree on, not the program's */
    /* The entry that may start next on this lane; NULL: none. With at_once of those that could not start at once.
     * [A] The queue is locked. */
    struct tutti_entry *(*next)(struct tutti_queue *queue, int lane);
    /* n is ready: which collective of this rank it still waits for by the rule, until that one starts, ends
     * or is ready; -1: n may start. [P] */
    int (*held_back)(const tutti_start_view *view, int n);
} tutti_start_rule;

/* The rules there are (start.c), NULL-terminated in the list. */
extern const tutti_start_rule tutti_start_queue; /* a comm thread starts each lane in sequence order */
extern const tutti_start_rule tutti_start_ready; /* the worker that finds one ready posts it */
extern const tutti_start_rule tutti_start_main;  /* the main thread runs a step's one by one */
extern const tutti_start_rule *const tutti_start_rules[];

typedef struct tutti_design {
    const char *name, *summary;
    const tutti_start_rule *start;
    int many_lanes; /* whether --lanes above 1 makes sense */
    int chain;      /* a token that collective nodes hand on at their start orders them; with a rule
                       that starts at_once only, where handing over to the driver is the start */
    int unsafe;     /* breaks the ordering law: refused unless the user insists */
    tutti_thread_level needed; /* when the starting thread initialises MPI */
    /* Writes a place on every collective node of the graph, and adds the accesses that order them.
     * Lanes are 0 to lanes - 1; indices 0, 1, ... in each section; workers are held (place.holds) only
     * where they start collectives at once, without a chain; a TUTTI_CHAIN access stands where the design has
     * a chain. Other places are refused: neither the driver nor the checker knows what they mean. */
    tutti_status (*place)(tutti_graph *graph, int lanes);
} tutti_design;

/* The table, NULL-terminated: the one list of designs, from which every other is made (tutti-info
 * --list in scripts). Lookup by name, or NULL. [P] */
extern const tutti_design *const tutti_designs[];
const tutti_design *tutti_design_find(const char *name);
/* All names, ", " between, into text; returns text. [P] */
char *tutti_design_names(char *text, size_t size);
/* INVAL (logged) for a design of one's own that the driver and the checker cannot go by: it has no whole start
 * rule, or a chain where workers start nothing. [P] */
tutti_status tutti_design_check(const tutti_design *design);
/* Whether its collectives may hold their workers (place.holds): where workers start them, and no chain
 * lets another begin meanwhile. [P] */
int tutti_design_may_hold(const tutti_design *design);
/* Whether it keeps the law and collectives run while the step computes: what a person chooses from.
 * [P] */
int tutti_design_overlaps(const tutti_design *design);

#endif
