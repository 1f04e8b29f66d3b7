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
 * naive breaks the law, and the worker that waits occupies its place. It is what programs do that
 * put a blocking collective into a task: the suite of tests/deadlock is seen to fail with it.
 *
 * The levels hold for programs in which that thread also initialised MPI. In an existing MPI
 * program (attach), the comm thread is not MPI's main thread: SERIALIZED. */
#ifndef TUTTI_DESIGN_H
#define TUTTI_DESIGN_H

#include "collectives/boot.h"
#include "dag/base/status.h"
#include "dag/graph/graph.h"

/* How collectives are started. X(code, name):
 *   queue   the comm thread starts them, each lane in sequence order
 *   ready   the worker that finds one ready posts it: the graph's edges are the only order
 *   main    the main thread runs them in program order while it waits
 *
 * The driver starts collectives by this value, and the checker judges by it whether the ordering law
 * holds: each has a switch without a default, and a case that is missing does not compile
 * (-Werror=switch). An order that is not in the list is refused by both. */
#define TUTTI_ORDER_LIST(X)                                                                        \
    X(TUTTI_ORDER_QUEUE, "queue")                                                                  \
    X(TUTTI_ORDER_READY, "ready")                                                                  \
    X(TUTTI_ORDER_MAIN, "main")

typedef enum tutti_order {
#define TUTTI_ORDER_ENUM(code, name) code,
    TUTTI_ORDER_LIST(TUTTI_ORDER_ENUM)
#undef TUTTI_ORDER_ENUM
} tutti_order;

#define TUTTI_ORDER_COUNT(code, name) +1
enum { TUTTI_ORDERS = 0 TUTTI_ORDER_LIST(TUTTI_ORDER_COUNT) }; /* how many there are */
#undef TUTTI_ORDER_COUNT

/* "queue", ...; NULL for one that is not in the list. [P] */
const char *tutti_order_name(tutti_order order);

typedef struct tutti_design {
    const char *name, *summary;
    tutti_order order;
    int many_lanes; /* whether --lanes above 1 makes sense */
    int chain;      /* a token that collective nodes hand on at their start orders them; with
                       ORDER_READY only, where handing over to the driver is the start */
    int unsafe;     /* breaks the ordering law: refused unless the user insists */
    tutti_thread_level needed; /* when the starting thread initialises MPI */
    /* Writes a place on every collective node of the graph, and adds the accesses that order them.
     * Lanes are 0 to lanes - 1; indices 0, 1, ... in each section; workers are held (place.holds) with
     * ORDER_READY and no chain only; a TUTTI_CHAIN access stands where the design has a chain. Other places are
     * refused: neither the driver nor the checker knows what they mean. */
    tutti_status (*place)(tutti_graph *graph, int lanes);
} tutti_design;

/* The table, NULL-terminated: the one list of designs, from which every other is made (tutti-info
 * --list in scripts). Lookup by name, or NULL. [P] */
extern const tutti_design *const tutti_designs[];
const tutti_design *tutti_design_find(const char *name);
/* All names, ", " between, into text; returns text. [P] */
char *tutti_design_names(char *text, size_t size);
/* INVAL (logged) for a design of one's own that declares what neither the driver nor the checker has a
 * rule for: an order that is not in the list, a chain without ORDER_READY. [P] */
tutti_status tutti_design_check(const tutti_design *design);
/* Whether its collectives may hold their workers (place.holds): where workers start them, and no chain
 * lets another begin meanwhile. [P] */
int tutti_design_may_hold(const tutti_design *design);
/* Whether it keeps the law and collectives run while the step computes: what a person chooses from.
 * [P] */
int tutti_design_overlaps(const tutti_design *design);

#endif
