/* What a launcher says to a rank of an elastic run, in the environment (TUTTI_ELASTIC): ten words.
 *
 *   LEAST MOST RANKS NUMBER DOOR REPORT RUN TOKEN first ADDRESS,ADDRESS...   of ranks 0, 1 ..., NUMBER too
 *   LEAST MOST RANKS NUMBER DOOR REPORT RUN TOKEN join ADDRESS,CONTACT       its own, and that of a rank
 *
 * RANKS began the run. DOOR is a descriptor that listens on the rank's own address. REPORT is a socket to the launcher:
 * the rank sends its NUMBER (8 bytes) when it has entered its first epoch, and again when the run has come to its end.
 * [P] */
#ifndef TUTTI_ELASTIC_START_H
#define TUTTI_ELASTIC_START_H

#include "collectives/lasting.h"
#include "collectives/transport/tcp.h"
#include "designs/elastic/elastic.h"

typedef struct tutti_elastic_start {
    int least, most, ranks, door, report;
    int entered; /* the launcher knows */
    uint64_t run;
    char token[TUTTI_TCP_TOKEN_BYTES + 1];
    tutti_membership_entry self;
    tutti_membership first; /* n 0: this rank joins */
    char contact[TUTTI_MEMBERSHIP_ADDRESS];
    tutti_lasting *lasting; /* NULL: TUTTI_ELASTIC says all */
} tutti_elastic_start;

/* What it says; NULL: this is another run. [A] */
const char *tutti_elastic_start_asked(void);
/* NULL, or what is wrong, as a predicate: "has ...". */
const char *tutti_elastic_start_read(const char *text, tutti_elastic_start *start);
/* The options of such a run; the caller sets door, options and ack_s. Fewer than start->least wait for others. Borrows
 * what is in *start. [P] */
tutti_elastic_options tutti_elastic_start_options(const tutti_elastic_start *start);
/* The same without a launcher: all ranks of MPI begin, with a door each; `least` are to be left. Starts MPI, which the
 * caller ends (start->lasting). All ranks call it. UNSUPPORTED: this MPI ends with the first rank that dies; USAGE,
 * COMM, NOMEM (logged). */
tutti_status tutti_elastic_start_mpi(
    int least, tutti_elastic_start *start, tutti_tcp_listener **door);
/* Tells the launcher, which may be gone, that this rank has entered its first epoch. Again, it does nothing. */
void tutti_elastic_start_entered(tutti_elastic_start *start);
/* Tells it that the run has come to its end here: what this process still does may take as long as it likes. */
void tutti_elastic_start_ended(tutti_elastic_start *start);

#endif
