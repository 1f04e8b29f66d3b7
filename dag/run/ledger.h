/* Who has been submitted and who has ended: what every runner's wait rests on.
 *
 * Instances get ids 0, 1, 2... in submission order; a point is the number of instances before it.
 * [A] */
#ifndef TUTTI_LEDGER_H
#define TUTTI_LEDGER_H

#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_ledger tutti_ledger;

tutti_status tutti_ledger_new(tutti_ledger **ledger);
void tutti_ledger_free(tutti_ledger *ledger); /* accepts NULL */

/* Registers the next instance; `name` is borrowed until it has ended. NOMEM. */
tutti_status tutti_ledger_enter(tutti_ledger *ledger, const char *name, int64_t *id);
/* The instance has ended; the first status other than OK sticks. */
void tutti_ledger_leave(tutti_ledger *ledger, int64_t id, tutti_status status);

int64_t tutti_ledger_point(tutti_ledger *ledger);
/* Whether everything before the point has ended. */
int tutti_ledger_reached(tutti_ledger *ledger, int64_t point);
/* The first failure so far, or OK. */
tutti_status tutti_ledger_failure(tutti_ledger *ledger);

/* Sleeps until the point is reached, something failed, or at most this long. */
void tutti_ledger_sleep(tutti_ledger *ledger, int64_t point, double at_most_s);
/* Logs an error that names the first unfinished instances before the point. Returns TIMEOUT. */
tutti_status tutti_ledger_report_timeout(tutti_ledger *ledger, int64_t point, double timeout_s);

#endif
