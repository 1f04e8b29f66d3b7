/* A case of the deadlock suite as a value, and the language it is written in. [P]
 *
 * A case describes what each rank's program does with collectives, in which design, and whether
 * that is right. One directive per line; '#' begins a comment. README.md in this folder documents
 * the language with examples; every error is one sentence with file and line.
 *
 * Nothing runs here: tests/deadlock/rank.h builds one rank of a case. */
#ifndef TUTTI_DEADLOCK_CASE_H
#define TUTTI_DEADLOCK_CASE_H

#include "collectives/value/args.h"
#include "designs/design.h"
#include "tests/deadlock/kv_case.h"

enum {
    CASE_MOST_RANKS = 16,
    CASE_MOST_GROUPS = 16,   /* and edges, including the first, which has every rank */
    CASE_MOST_TENSORS = 128, /* of a case; also the limit of one rank's collectives */
    CASE_MOST_AFTER = 4,
    CASE_MOST_VECTORS = 4,
    CASE_MOST_OPERATORS = 8, /* of a rank */
    CASE_MOST_STEPS = 64,
    CASE_MOST_COUNT = 1 << 22,
    CASE_NAME = 32, /* bytes of a name, with the final 0 */
    CASE_LINE = 512,
};

typedef struct case_group {
    char name[CASE_NAME];
    int ranks, rank[CASE_MOST_RANKS]; /* members; the index is the rank in the group */
    int is_edge, edge;                /* messages of this number from rank[0] to rank[1] */
} case_group;

/* An operator that a rank's program makes; its number is TUTTI_USER_OP plus its index. */
typedef struct case_operator {
    char name[CASE_NAME];
    tutti_user_op user;
} case_operator;

/* One collective of one rank's program. */
typedef struct case_op {
    int tensor;           /* index into deadlock_case.tensor; at most one op of a rank has it */
    int group;            /* 0: every rank */
    tutti_coll_args args; /* without buffers and counts; root is a rank of the group */
    int apart;            /* out of place: its input is another tensor */
    int vectors; /* of the rank, which the mark adds, out of place; 0: no more than its input */
    int after[CASE_MOST_AFTER], afters; /* tensors whose collectives of this step must end before */
    int priority;                       /* of its place */
    int lost;                           /* its token is dropped: its end goes unnoticed */
    int parts; /* how many lengths are given, as in tutti_coll_args.counts; 0: none */
    int64_t part[2 * CASE_MOST_RANKS];
    int line; /* of the case file */
} case_op;

typedef struct case_program {
    int operators;
    case_operator operator_[CASE_MOST_OPERATORS];
    int ops;
    case_op op[CASE_MOST_TENSORS];
    int steps; /* how often the program is submitted, without waiting in between */
    int left;  /* the program ends with `leave` */
    int chunk; /* bytes; larger allreduces are cut into chunks of this size; 0: not cut */
    int readies, ready[CASE_MOST_TENSORS]; /* the order in which these tensors are computed */
} case_program;

typedef struct deadlock_case {
    char name[128]; /* of the file, without folder and suffix */
    char diagnosis[CASE_LINE];
    const tutti_design *design;
    int ranks, workers, lanes;
    char algorithm[CASE_LINE]; /* "": auto */
    int hosts;                 /* of the explorer: rank r is on host r % hosts; 0: all are on one */
    int device_slots; /* that a rank's lanes share; 0: they share nothing */
    int edges_aside;  /* edges take none of them */
    int regions;      /* kernels that may are one task (dag/graph/region.h) */
    int nok;          /* the verdict: 1 wrong, 0 right */
    /* The broken clause of the ordering law (designs/check/check.h); "" if right. */
    char clause[CASE_NAME];
    char says
        [CASE_LINE]; /* what the explorer must say of the schedule that goes wrong; "": anything */
    char verify[CASE_NAME]; /* "off", "on" or "full": what ranks compare at run time */
    int priorities;         /* some collective has one */
    int groups, tensors;
    case_group group[CASE_MOST_GROUPS];
    char tensor[CASE_MOST_TENSORS][CASE_NAME];
    case_program program[CASE_MOST_RANKS];
    kv_case
        kv; /* instead of collectives: ranks that serve keys, and those that push and pull them */
} deadlock_case;

/* Reads a case; the caller frees it with free(). IO; FORMAT, naming file and line; NOMEM. */
tutti_status deadlock_case_load(const char *path, deadlock_case **loaded);
/* The same from text; `path` serves for messages and the name. */
tutti_status deadlock_case_parse(const char *path, const char *text, deadlock_case **parsed);

/* The rank's number in a group; -1 if it is not a member. */
int deadlock_case_member(const case_group *group, int rank);
/* The op's arguments as in a node's descriptor: send says whether it is out of place, counts point
 * into the op. */
tutti_coll_args deadlock_case_args(const case_op *op);
/* Elements of the op's tensor on a rank, and of its input if that is another tensor, else -1. The
 * tensor is the result; or the input, where a rank has only that. */
int64_t deadlock_case_count(const deadlock_case *c, int rank, const case_op *op);
int64_t deadlock_case_input_count(const deadlock_case *c, int rank, const case_op *op);
/* The op of a rank on this tensor, or NULL. */
const case_op *deadlock_case_op(const deadlock_case *c, int rank, int tensor);

#endif
