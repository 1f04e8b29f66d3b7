/* The line of a collective in a case file: "allreduce a 10 op=max on pair after b". [P]
 *
 * Ranks may differ in what the line means to them: in the numbers of their operators, and in the
 * lengths that an alltoall gives each of them. */
#ifndef TUTTI_DEADLOCK_CASE_OP_H
#define TUTTI_DEADLOCK_CASE_OP_H

#include "tests/deadlock/case.h"
#include "tests/deadlock/words.h"

/* Indexed by tutti_coll_kind; NULL-terminated. */
extern const char *const case_kind_words[];

typedef struct case_statement {
    case_op op;                /* without what differs between ranks */
    char operator_[CASE_NAME]; /* "": of the list, op.args.op */
    int lengths;               /* given: one for each rank of the group, or for each pair */
    int64_t length[CASE_MOST_RANKS * CASE_MOST_RANKS]; /* [from][to] for pairs */
} case_statement;

/* Reads what follows the kind; adds a new tensor to the case. FORMAT. */
tutti_status case_read_statement(
    case_words *words, deadlock_case *c, tutti_coll_kind kind, case_statement *line);
/* Reads what follows `send` or `recv` of a rank: "TENSOR COUNT to RANK edge NUMBER DETAIL...", a
 * broadcast on the edge, which is added to the case's groups. The other rank may have the tensor
 * already. FORMAT. */
tutti_status case_read_message(
    case_words *words, deadlock_case *c, int rank, int sends, case_statement *line);
/* The line as an op of one rank, which is in its group. FORMAT: the rank has no such operator. */
tutti_status case_op_of(const case_words *words, const deadlock_case *c, int rank,
    const case_statement *line, case_op *op);
/* Reads the next word as the tensor of a collective above; `what` is for the message. */
tutti_status case_read_tensor(
    case_words *words, const deadlock_case *c, const char *what, int *tensor);

#endif
