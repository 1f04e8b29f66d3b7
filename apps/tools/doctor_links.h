/* tutti-doctor --measure: the topology of the machines at hand (tutti-topology(5)).
 *
 *   measure (all ranks, over MPI's messages) -> measures -> topology -> file
 *
 * What is not measured is left out of the file: GPUs and their links, and the size up to which MPI sends without
 * asking. */
#ifndef TUTTI_DOCTOR_LINKS_H
#define TUTTI_DOCTOR_LINKS_H

#include "collectives/boot.h"
#include "collectives/links/topology.h"

enum { TUTTI_HOST_NAME = 64 };

/* What one rank has found out; plain bytes. */
typedef struct tutti_measure {
    char host[TUTTI_HOST_NAME]; /* as gethostname says */
    int cores;                  /* that this rank may use */
    double send_s, recv_s;      /* of this rank's time for a short message */
    double reduce, copy;        /* bytes a second */
    double
        memory; /* bytes a second with the other rank of a pair on its host, both ways together; 0: not measured */
} tutti_measure;

/* Between the first ranks of two hosts: bytes a second each way while both send, and half of a round trip of a short
 * message. */
typedef struct tutti_way {
    double bytes_per_s, time_s;
} tutti_way;

typedef struct tutti_measures {
    int ranks, hosts;
    int *
        host; /* [ranks] of each rank, from 0; a host's first rank comes before those of later hosts */
    tutti_measure *rank; /* [ranks] */
    tutti_way *way;      /* [hosts * hosts]; a host's with itself is not used */
} tutti_measures;

/* Measures; all ranks call it, and all get the same. It calls `enter` (unless NULL) before each part.
 * USAGE: fewer than two ranks. TIMEOUT, COMM, NOMEM. */
tutti_status tutti_doctor_measure(const tutti_boot *boot, double timeout_s,
    void (*enter)(void *ctx, const char *stage), void *ctx, tutti_measures *m);
void tutti_measures_free(tutti_measures *m);

/* The topology of these measures: hosts at one switch, a host's link as fast as its fastest way. remark: "", or
 * where the ways do not agree with that. NOMEM. */
tutti_status tutti_doctor_make_topology(
    const tutti_measures *m, tutti_topology **t, char *remark, size_t size);

#endif
