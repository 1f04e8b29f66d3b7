/* The line of a collective in a case file: "allreduce a 10 op=max on pair after b". [P] */
#ifndef TUTTI_DEADLOCK_CASE_OP_H
#define TUTTI_DEADLOCK_CASE_OP_H

#include "tests/deadlock/case.h"
#include "tests/deadlock/words.h"

/* By tutti_coll_kind; NULL ends it. */
extern const char *const case_kind_words[];

/* What follows the kind; a tensor that is new is added to the case. FORMAT. */
tutti_status case_read_op(case_words *words, deadlock_case *c, tutti_coll_kind kind, case_op *op);
/* The next word as the tensor of a collective that stands above; `what` is for the message. */
tutti_status case_read_tensor(
    case_words *words, const deadlock_case *c, const char *what, int *tensor);

#endif
