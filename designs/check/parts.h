/* The parts of the static checker (designs/check/check.h), a clause or two each. [P] */
#ifndef TUTTI_CHECK_PARTS_H
#define TUTTI_CHECK_PARTS_H

#include "designs/check/check.h"

/* The collectives of all ranks, matched: one event per collective. Made once the lanes are known to
 * agree. */
typedef struct tutti_check_match {
    const tutti_check *check;
    int events;
    int **event;  /* [rank][sequence] -> event */
    int **at;     /* [rank][event] -> sequence, or -1 */
    int *members; /* [event] ranks that start it */
} tutti_check_match;

tutti_status tutti_check_match_new(const tutti_check *check, tutti_check_match *match);
void tutti_check_match_free(tutti_check_match *match);

/* Appends a copy of a collective to a rank's list and numbers it on its lane. */
tutti_status tutti_check_append(tutti_check *check, int rank, const tutti_check_coll *coll);

/* Each fills the verdict if its clause is broken, and leaves it unchanged otherwise. */
/* any_lane: of all collectives of a rank, instead of those of a lane. */
tutti_status tutti_check_overtaking(const tutti_check *check, int any_lane, tutti_verdict *verdict);
/* one_order: lanes share device slots, and the design keeps the order that this needs. */
tutti_status tutti_check_cycle(const tutti_check_match *match, const tutti_start_rule *rule,
    int one_order, tutti_verdict *verdict);
tutti_status tutti_check_workers(const tutti_check_match *match, tutti_verdict *verdict);

/* above[n * words ...]: a bit for each collective that must end before collective n of this rank
 * can start. The caller frees it. */
tutti_status tutti_check_closure(const tutti_check_rank *rank, uint64_t **above, size_t *words);

/* verdict->text = "CLAUSE: sentence". */
void tutti_check_report(tutti_verdict *verdict, tutti_clause clause, int rank, int other,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Writes "lane 2" or "lane 2 of group 'rows'" into text; returns text. */
char *tutti_check_lane_name(
    const tutti_check *check, const tutti_check_coll *coll, char *text, size_t size);

#endif
