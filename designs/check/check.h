/* The static checker: decides from what every rank is about to submit whether the ordering law
 * (design.h) holds, without running anything.
 *
 * Its input: for each rank its collectives in program order, each with its fingerprint, its lane, and
 * the collectives that must end before it can start, taken from the dependencies of the rank's graph.
 * The input comes from placed graphs (submit), or as text from another rank.
 *
 *   new -> group* -> { submit(rank, graph, section) | read(rank, text) }* -> judge -> verdict
 *
 * The clauses, in the order of judging; the first broken one is reported:
 *
 *   missing    a rank never starts a collective that another rank of its group starts
 *   order      the ranks' n-th collectives on a lane differ; or nothing orders two collectives of a
 *              lane, or of lanes that share device slots
 *   kind, type, count, root, operator, priority    the n-th collectives agree in name but not in
 *              this
 *   token      a collective's end is never reported, so nothing that waits for it ever runs
 *   cycle      collectives wait for each other in a ring, across ranks and communicators
 *   workers    collectives that hold their workers can occupy every worker while each waits for a
 *              rank that has no worker left
 *
 * A collective is assumed to end when every rank of its group has started it: MPI guarantees this, and no
 * more. If it takes a device slot, it ends when it has one on every rank; a rank has only one. Under these
 * assumptions token and cycle are exact. workers is exact, by exploration, while there are few states;
 * beyond that it is the bound W > K(P-1)/P, where K is the largest number of mutually unordered
 * collectives (also exact if all ranks have the same dependencies and one group).
 *
 * Threads: [P]. Errors: NOMEM; FORMAT for malformed text; INVAL for a design that cannot be judged;
 * otherwise always a verdict. */
#ifndef TUTTI_CHECK_H
#define TUTTI_CHECK_H

#include "collectives/value/args.h"
#include "dag/graph/edges.h"
#include "designs/design.h"

/* X(code, name) */
#define TUTTI_CLAUSE_LIST(X)                                                                       \
    X(TUTTI_CLAUSE_NONE, "none")                                                                   \
    X(TUTTI_CLAUSE_MISSING, "missing")                                                             \
    X(TUTTI_CLAUSE_ORDER, "order")                                                                 \
    X(TUTTI_CLAUSE_KIND, "kind")                                                                   \
    X(TUTTI_CLAUSE_TYPE, "type")                                                                   \
    X(TUTTI_CLAUSE_COUNT, "count")                                                                 \
    X(TUTTI_CLAUSE_ROOT, "root")                                                                   \
    X(TUTTI_CLAUSE_OPERATOR, "operator")                                                           \
    X(TUTTI_CLAUSE_PRIORITY, "priority")                                                           \
    X(TUTTI_CLAUSE_TOKEN, "token")                                                                 \
    X(TUTTI_CLAUSE_CYCLE, "cycle")                                                                 \
    X(TUTTI_CLAUSE_WORKERS, "workers")

typedef enum tutti_clause {
#define TUTTI_CLAUSE_ENUM(code, name) code,
    TUTTI_CLAUSE_LIST(TUTTI_CLAUSE_ENUM)
#undef TUTTI_CLAUSE_ENUM
        TUTTI_CLAUSES
} tutti_clause;

/* Indexed by code; NULL-terminated. */
extern const char *const tutti_clause_names[];

typedef struct tutti_verdict {
    tutti_clause clause; /* NONE: the law holds */
    int rank, other;     /* the two that disagree, or the first two that wait; -1: none */
    char text[1024];     /* "order: on lane 0, rank 0 starts 'a' as number 3 and rank 1 'b'" */
} tutti_verdict;

/* One collective of one rank. */
typedef struct tutti_check_coll {
    char *name; /* of the node; with "(chunk 2 of 3)" if it is cut */
    tutti_coll_kind kind;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root;
    int64_t count;
    uint64_t counts; /* tutti_coll_counts_hash */
    uint64_t own;    /* tutti_coll_operator_hash */
    int group, lane;
    int64_t number; /* on its lane of its group, from 0 */
    int64_t index;  /* of its place: 0 begins a section */
    int priority;   /* of its place */
    int chunk;      /* of its node; a node's chunks have consecutive numbers */
    int holds;      /* its worker waits for its end */
    int lost;       /* its end is never reported */
    /* The collectives of this rank that must end before it can start, or that precede it on a chain; direct
     * predecessors only. */
    int *before;
    int befores;
    /* The counts of an alltoall that has any, which ranks compare pair by pair. */
    int64_t *length;
    int lengths;
} tutti_check_coll;

typedef struct tutti_check_rank {
    tutti_check_coll *coll; /* in program order: indexed by sequence number */
    int colls, room;
    int workers;        /* 0: unknown, and not judged */
    tutti_reach *reach; /* of what has been submitted; NULL when read from text */
} tutti_check_rank;

typedef struct tutti_check_group {
    char *name;
    int size, *rank;
    /* 1: messages. The two ranks name them differently, so the group's name is used */
    int edge;
} tutti_check_group;

typedef struct tutti_check {
    int ranks, groups;
    tutti_check_rank *rank;
    tutti_check_group *group; /* 0: all ranks */
    int shares_slots; /* the ranks' lanes share device slots (designs/design.h); set by the user */
    int edges_aside;  /* but edges do not; set by the user */
} tutti_check;

tutti_status tutti_check_new(int ranks, tutti_check **check);
void tutti_check_free(tutti_check *check); /* accepts NULL */
/* Adds a subset of the ranks with its own lanes; *group: its number, from 1. */
tutti_status tutti_check_add_group(
    tutti_check *check, const char *name, int size, const int rank[], int *group);
/* `rank` submits this section of its placed graph next; always the same graph. group_of: returns the
 * group of a node's collective; NULL: all ranks. */
tutti_status tutti_check_submit(tutti_check *check, int rank, const tutti_graph *graph, int section,
    int (*group_of)(void *ctx, const tutti_node *node), void *ctx);

/* The groups, and the collectives of one rank, as text, one per line; equal values give equal text.
 * The caller frees *text. */
tutti_status tutti_check_text(const tutti_check *check, int rank, char **text);
/* Adds the collectives described by such a text to a rank. Groups are identified by their names; unknown
 * ones are added. FORMAT. */
tutti_status tutti_check_read(tutti_check *check, int rank, const char *text);
/* A 64-bit hash of such a text. */
uint64_t tutti_check_digest(const char *text);

/* Decides whether the law holds when this design starts the collectives. INVAL, and no verdict, if that
 * cannot be decided for what the design declares and places: see tutti_design_check, and design.h on
 * places. */
tutti_status tutti_check_judge(
    const tutti_check *check, const tutti_design *design, tutti_verdict *verdict);

#endif
