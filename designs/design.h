/* The three designs (and the oracle): who starts a collective of a task graph, on which
 * communicator, after what.
 *
 * THE ORDERING LAW.  On every lane all ranks start the same collectives in the same order, and no
 * set of started collectives may occupy every worker that another rank needs to start its partner.
 *
 * How each design keeps it: the sequence number of a collective is taken where the graph is
 * submitted, in program order, and never restarts; the program is the same on every rank; so the
 * numbers agree. A step's collectives start in the order of their numbers, or in one that all ranks
 * have heard from rank 0 before (designs/order.h). The lane is written in the graph, which is the
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

typedef enum tutti_order {
    TUTTI_ORDER_QUEUE, /* the comm thread starts them, each lane in sequence order */
    TUTTI_ORDER_READY, /* the worker that finds one ready posts it: the graph's edges are the only
                          order */
    TUTTI_ORDER_MAIN,  /* the main thread runs them in program order while it waits */
} tutti_order;

typedef struct tutti_design {
    const char *name, *summary;
    tutti_order order;
    int many_lanes; /* whether --lanes above 1 makes sense */
    int chain;      /* a token that collective nodes hand on at their start orders them */
    int unsafe;     /* breaks the ordering law: refused unless the user insists */
    tutti_thread_level needed; /* when the starting thread initialises MPI */
    /* Writes a place on every collective node of the graph, and adds the accesses that order them.
     */
    tutti_status (*place)(tutti_graph *graph, int lanes);
} tutti_design;

/* NULL-terminated table; lookup by name, or NULL. [P] */
extern const tutti_design *const tutti_designs[];
const tutti_design *tutti_design_find(const char *name);
/* "funneled, concurrent, chained, sequential" into text; returns text. [P] */
char *tutti_design_names(char *text, size_t size);

#endif
