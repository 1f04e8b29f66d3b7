/* Verifies at run time that all ranks start the same collectives in the same order.
 *   on    every rank compares with its left neighbour what it has started
 *         (designs/verify/compare.h): nothing waits, and a difference is found within
 *         milliseconds. Until then, messages carry bits of the fingerprint in their tags
 *         (tutti_coll_args.identity), so that messages of different collectives do not match: no
 *         unrelated data are summed.
 *   full  no collective starts before all ranks have reached it (designs/verify/gate.h). The
 *         library's own collectives have no tags and cannot be cancelled, so with the algorithm
 *         "mpi" `on` means `full`. So it does among three ranks and more where a GPU's library adds
 *         (NCCL): a rank whose neighbours agree with it does not know that all ranks do.
 *
 * A rank that finds a difference asks all others what they have at that place, and composes one
 * sentence from the answers. A rank that ends sends the others the number of collectives that it has
 * started on each lane (designs/verify/shutdown.h), so that a rank that waits for more fails at once.
 *
 *   open -> { admit, pass }* -> flush -> { pass }* -> close
 *
 * Threads: the driver's comm_lock. Buffers: none kept. */
#ifndef TUTTI_VERIFY_H
#define TUTTI_VERIFY_H

#include "collectives/control.h"
#include "designs/verify/fingerprint.h"
#include "designs/verify/shutdown.h"

typedef enum tutti_verify_mode {
    TUTTI_VERIFY_OFF, /* nothing is compared; with a lane for messages, ranks still shut down in order */
    TUTTI_VERIFY_ON,   /* compared while they run */
    TUTTI_VERIFY_FULL, /* none starts before all ranks have reached it */
    TUTTI_VERIFY_MODES
} tutti_verify_mode;

/* "off", "on", "full"; NULL for any other value. [P] */
const char *tutti_verify_mode_name(int mode);
/* MODES for an unknown name. [P] */
tutti_verify_mode tutti_verify_mode_find(const char *name);

typedef struct tutti_verify tutti_verify;

typedef struct tutti_verify_options {
    tutti_verify_mode mode; /* not OFF */
    /* 1: sends and reports at once, without waiting for more hashes or differences (explorers,
     * which have no clock). */
    int at_once;
    int untagged; /* 1: collectives may have no tags; ON among more than two ranks is then FULL */
    const tutti_members *members; /* of a group or edge, borrowed; NULL: all ranks */
    int history;                  /* fingerprints that are kept for the others; 0: 1024 */
} tutti_verify_options;

/* Handles TUTTI_CONTROL_ASK and FINGERPRINT; borrows control and shutdown until close. NOMEM. */
tutti_status tutti_verify_open(const tutti_verify_options *options, tutti_control *control,
    int lanes, const tutti_shutdown *shutdown, tutti_verify **verify);
void tutti_verify_close(tutti_verify *verify); /* accepts NULL */

/* Whether this collective may start now: call it again until it may. Its number is the next of its
 * lane, and it keeps it until it has started. COMM, NOMEM. */
tutti_status tutti_verify_admit(
    tutti_verify *verify, const tutti_fingerprint *fingerprint, int *may_start);
/* Whether the left neighbour's number-th collective of this lane is the same; always with FULL. Collectives without
 * tags (tutti_comm_tags_messages), which might be summed with anything, end no earlier. */
int tutti_verify_agrees(const tutti_verify *verify, int lane, int64_t number);
/* Whether none starts before all ranks have reached it. */
int tutti_verify_gates(const tutti_verify *verify);
/* Advances the comparison. *sentence: what differs, once known, for the log of every rank; else
 * NULL. COMM, NOMEM. */
tutti_status tutti_verify_pass(tutti_verify *verify, const char **sentence);
/* Whether passes must continue although nothing is in flight: a difference is being investigated. */
int tutti_verify_curious(const tutti_verify *verify);

/* This collective is ready here, the next on its lane, and waits for the other ranks' grant: if a rank has
 * left without it, pass reports that. */
void tutti_verify_expect(tutti_verify *verify, const tutti_fingerprint *fingerprint);
/* Sends what the others have not been sent yet: before BYE, after which they wait for no message. COMM. */
tutti_status tutti_verify_flush(tutti_verify *verify);
/* [lanes] How many collectives this rank has started. */
const int64_t *tutti_verify_started(const tutti_verify *verify);

#endif
