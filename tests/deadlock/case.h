/* A case of the deadlock suite as a value, and the language it is written in. [P]
 *
 * A case says what each rank's program does with collectives, in which design, and whether that is
 * right. One directive a line; '#' begins a comment. README.md of this folder has the language with
 * examples; every error is one sentence with file and line.
 *
 * Nothing here runs: tests/deadlock/rank.h makes one rank of a case from it. */
#ifndef TUTTI_DEADLOCK_CASE_H
#define TUTTI_DEADLOCK_CASE_H

#include "collectives/value/args.h"
#include "designs/design.h"

enum {
    CASE_MOST_RANKS = 16,
    CASE_MOST_GROUPS = 8,    /* with the first, which is everybody */
    CASE_MOST_TENSORS = 128, /* of a case; also the most collectives of one rank */
    CASE_MOST_AFTER = 4,
    CASE_MOST_STEPS = 64,
    CASE_MOST_COUNT = 1 << 22,
    CASE_NAME = 32, /* bytes of a name, with its end */
    CASE_LINE = 512,
};

typedef struct case_group {
    char name[CASE_NAME];
    int ranks, rank[CASE_MOST_RANKS]; /* members; the place in this list is the rank in the group */
} case_group;

/* One collective of one rank's program. */
typedef struct case_op {
    int tensor;           /* index into deadlock_case.tensor; at most one op of a rank has it */
    int group;            /* 0: everybody */
    tutti_coll_args args; /* without buffers; root is a rank of the group */
    int after[CASE_MOST_AFTER], afters; /* tensors whose collectives of this step end before */
    int lost;                           /* its end is not told: the token is dropped */
    int has_parts;                      /* of given lengths, whose sum is args.count */
    int64_t part[CASE_MOST_RANKS];
    int line; /* of the case file */
} case_op;

typedef struct case_program {
    int ops;
    case_op op[CASE_MOST_TENSORS];
    int steps; /* how often the program is submitted, without waiting in between */
    int left;  /* it ended with `leave` */
    int chunk; /* larger allreduces are cut into chunks of so many bytes; 0: none is */
    int readies, ready[CASE_MOST_TENSORS]; /* the order in which these tensors are computed */
} case_program;

typedef struct deadlock_case {
    char name[128]; /* the file's, without folder and ending */
    char diagnosis[CASE_LINE];
    const tutti_design *design;
    int ranks, workers, lanes;
    int nok; /* the verdict: 1 wrong, 0 right */
    char clause
        [CASE_NAME]; /* of the ordering law that is broken (designs/check/check.h); "" when ok */
    char verify[CASE_NAME]; /* "off", "on" or "full": what the run compares at run time */
    int groups, tensors;
    case_group group[CASE_MOST_GROUPS];
    char tensor[CASE_MOST_TENSORS][CASE_NAME];
    case_program program[CASE_MOST_RANKS];
} deadlock_case;

/* Reads a case; the caller frees it with free(). IO; FORMAT, naming file and line; NOMEM. */
tutti_status deadlock_case_load(const char *path, deadlock_case **loaded);
/* The same from text; `path` is for messages and for the name. */
tutti_status deadlock_case_parse(const char *path, const char *text, deadlock_case **parsed);

/* Which of a group's ranks this is; -1 when it is none. */
int deadlock_case_member(const case_group *group, int rank);
/* Elements of the op's tensor on each rank: its parts, where it has such, and one of them as its input. An
 * allgather has a tensor of its own for that, the other kinds work in place. */
int64_t deadlock_case_count(const deadlock_case *c, const case_op *op);
/* Its parts' lengths, or NULL. */
const int64_t *deadlock_case_parts(const case_op *op);
/* The op of a rank on this tensor, or NULL. */
const case_op *deadlock_case_op(const deadlock_case *c, int rank, int tensor);

#endif
