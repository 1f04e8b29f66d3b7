/* Whether all ranks start the same collectives in the same order, found out while the program runs.
 *
 *   on    every rank compares with its left neighbour what it has started (designs/verify/compare.h):
 *         nothing waits, and a difference is known within milliseconds. Meanwhile messages carry
 *         bits of the fingerprint in their tags (tutti_coll_args.identity), so that those of
 *         different collectives do not meet: nothing is summed that does not belong together.
 *   full  no collective starts before all ranks have come to the same one (designs/verify/gate.h). The
 *         only safe way when starting blocks inside MPI, so with the algorithm "mpi" `on` means it, too.
 *
 * Where ranks differ, the rank that sees it asks all others what they have at that place and makes
 * one sentence of the answers. A rank that ends sends the others the number of collectives it has
 * started on each lane: one that waits for more of them learns so at once.
 *
 *   open -> { admit, pass }* -> leave -> { pass }* until left -> close
 *
 * Threads: the driver's comm_lock. Buffers: none kept. */
#ifndef TUTTI_VERIFY_H
#define TUTTI_VERIFY_H

#include "collectives/control.h"
#include "designs/verify/fingerprint.h"

#include <stddef.h>

typedef enum tutti_verify_mode {
    TUTTI_VERIFY_OFF,  /* no extra lane, no extra message */
    TUTTI_VERIFY_ON,   /* compared while they run */
    TUTTI_VERIFY_FULL, /* none starts before all ranks have come to the same one */
    TUTTI_VERIFY_MODES
} tutti_verify_mode;

/* "off", "on", "full"; NULL for any other value. [P] */
const char *tutti_verify_mode_name(int mode);
/* MODES when there is none of this name. [P] */
tutti_verify_mode tutti_verify_mode_find(const char *name);

typedef struct tutti_verify tutti_verify;

typedef struct tutti_verify_options {
    tutti_verify_mode mode; /* not OFF */
    int at_once;            /* 1: nothing waits for more to be sent with it or for more differences
                               (explorers, which have no time) */
} tutti_verify_options;

/* Handles TUTTI_CONTROL_ASK, TELL and BYE; borrows control until close. NOMEM. */
tutti_status tutti_verify_open(
    const tutti_verify_options *options, tutti_control *control, int lanes, tutti_verify **verify);
void tutti_verify_close(tutti_verify *verify); /* accepts NULL */

/* Whether this collective may start now: ask again until it may. Its number is that of the next one
 * of its lane, and stays with it until it has started. COMM, NOMEM. */
tutti_status tutti_verify_admit(
    tutti_verify *verify, const tutti_fingerprint *fingerprint, int *may_start);
/* Moves what is under way. *sentence: what differs, once that is known, for the log of every rank;
 * else NULL. COMM, NOMEM. */
tutti_status tutti_verify_pass(tutti_verify *verify, const char **sentence);
/* Whether passes must go on although nothing is in flight: a difference is being looked into. */
int tutti_verify_curious(const tutti_verify *verify);

/* This rank starts nothing any more. failed: nor does it count what it has started. COMM. */
tutti_status tutti_verify_leave(tutti_verify *verify, int failed);
/* After leave: whether all others have left, too, with as many collectives (failed: with any). */
int tutti_verify_left(const tutti_verify *verify, int failed);
/* "1, 3": the ranks that have not left, into text; returns text. */
char *tutti_verify_missing(const tutti_verify *verify, char *text, size_t size);

#endif
