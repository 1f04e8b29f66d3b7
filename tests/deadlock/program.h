/* What the ranks of an explored world run, as a value: collectives in program order, and the
 * setting they run in. In a right program all ranks' programs are equal; in a wrong
 * one they may differ in any way.
 *
 * One step of a rank feeds every collective's buffer with numbers of this step, runs the
 * collectives and fetches their results. Steps are submitted one after another without waiting;
 * they overlap. */
#ifndef TUTTI_TEST_PROGRAM_H
#define TUTTI_TEST_PROGRAM_H

#include "collectives/value/args.h"
#include "designs/drive/driver.h"

enum {
    PROGRAM_RANKS = 16,
    PROGRAM_GROUPS = 40,
    PROGRAM_AFTER = 4,
    PROGRAM_VECTORS = 4,
    PROGRAM_NAME = 32
};

typedef struct program_collective {
    char name[PROGRAM_NAME]; /* unique in its program; the partners on other ranks have the same */
    tutti_coll_kind kind;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root;                  /* a rank of the group */
    const tutti_user_op *user; /* the program's own operator, borrowed; or NULL */
    int64_t count;
    int apart; /* out of place */
    /* More than 0: the rank has so many vectors, the n-th of which is n times its input, and the mark adds them
     * (float32 allreduces in groups of several ranks, without reads). Ranks may differ in it */
    int vectors;
    int parts; /* how many lengths are given, as in tutti_coll_args.counts; 0: none */
    int64_t part[2 * PROGRAM_RANKS];
    int group; /* or edge */
    /* Bit j: the result of the earlier collective j < 64 is added to its input (float32 allreduces
     * of equal counts). */
    uint64_t reads;
    int after[PROGRAM_AFTER], afters; /* earlier collectives whose end it waits for */
    int priority;                     /* of its place */
    int lost;                         /* its end goes unnoticed */
} program_collective;

typedef struct program {
    int n, steps;
    int64_t chunk_bytes;            /* on this rank; 0: as in the setting */
    program_collective *collective; /* [n], in program order */
    int orders, *order;             /* of these collectives, workers start the first ready one */
} program;

typedef struct program_group {
    int size, rank[PROGRAM_RANKS]; /* the index is the rank in the group */
    int is_edge, edge;             /* messages of this number from rank[0] to rank[1] */
} program_group;

typedef struct program_setting {
    const tutti_design *design;
    int ranks, workers, lanes;
    const char *algorithm; /* NULL: auto */
    uint64_t trees;        /* not 0: along random spanning trees, drawn from this, instead */
    int hosts; /* of the loop transport: rank r is on host r % hosts; 0: all are on one */
    size_t eager_bytes;    /* of the loop transport */
    int device_slots;      /* likewise; 0: lanes share nothing */
    int edges_aside;       /* likewise: edges take none of them */
    int depth;             /* of a lane: collectives in flight; 0: the default */
    tutti_verify_mode verify;
    int64_t chunk_bytes; /* larger sums are cut; 0: none */
    int regions;         /* kernels that may are one task (dag/graph/region.h) */
    int ordered;         /* from the second step on, ranks follow an agreed order (one group) */
    uint64_t order_seed; /* draws that order */
    tutti_priority_options priorities; /* not with `ordered` */
    int groups;                        /* and edges; number 0 has every rank */
    program_group group[PROGRAM_GROUPS];
    program program[PROGRAM_RANKS];
} program_setting;

/* Makes group 0, with every rank. */
void program_all(program_setting *s);
/* Rank r's rank in a group, or -1. [P] */
int program_rank_in(const program_setting *s, int group, int r);
/* A collective's arguments as in a node's descriptor: send says whether it is out of place, counts
 * point into the collective. [P] */
tutti_coll_args program_args(const program_collective *c);
/* Whether its input and its result are two buffers of this rank. [P] */
int program_has_input(const program_setting *s, int r, const program_collective *c);
/* Elements of its input and of its result on a rank. Where there is only one buffer, both are its
 * elements. [P] */
int64_t program_in_count(const program_setting *s, int r, const program_collective *c);
int64_t program_out_count(const program_setting *s, int r, const program_collective *c);
/* The index of the collective of that name in a rank's program, or -1; tries `near` first. [P] */
int program_find(const program *p, const char *name, int near);

/* Frees the programs' arrays. */
void program_clear(program_setting *s);

#endif
