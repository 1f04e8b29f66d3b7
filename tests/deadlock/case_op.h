/* The line of a collective in a case file: "allreduce a 10 op=max on pair after b". [P] */
#ifndef TUTTI_DEADLOCK_CASE_OP_H
#define TUTTI_DEADLOCK_CASE_OP_H

#include "tests/deadlock/case.h"
#include "tests/deadlock/words.h"

/* Indexed by tutti_coll_kind; NULL-terminated. */
extern const char *const case_kind_words[];

/* Reads what follows the kind; adds a new tensor to the case. FORMAT. */
tutti_status case_read_op(case_words *words, deadlock_case *c, tutti_coll_kind kind, case_op *op);
/* Reads the next word as the tensor of a collective above; `what` is for the message. */
tutti_status case_read_tensor(
    case_words *words, const deadlock_case *c, const char *what, int *tensor);

#endif
