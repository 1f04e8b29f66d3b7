/* Stops all ranks before the same step, although only some received a signal or know of a reason (a loss
 * that is not finite).
 *
 *     rank 2   has a reason to stop          WISH to rank 0
 *     rank 0   before it submits step s      LIMIT s + ahead to all; waits until each has RECEIVED it
 *     all      submit the steps below the limit, and no other
 *
 * THE CONDITION: a rank asks before each step n that it submits, once its step n - ahead has ended; and no step ends
 * on a rank before all ranks have submitted it (it sums over them). While rank 0 stays before step s, no step from s
 * on ends anywhere, so no rank submits step s + ahead or a later one: no rank is beyond the limit. Where steps end once
 * all ranks have submitted the one before, ahead is one more than the steps that a rank has under way. When rank 0
 * continues, all ranks know the limit, so no rank goes beyond it. No rank waits for long: the passing thread
 * (designs/drive/driver.h) sends RECEIVED, whatever the rank's main thread is doing, and only rank 0 waits for it.
 *
 * While no rank wishes to stop, a step costs one lock and no message.
 *
 *   open -> { ask, pass }* -> close
 *
 * Threads: ask is [M]; pass belongs to the passing thread. */
#ifndef TUTTI_HALT_H
#define TUTTI_HALT_H

#include "collectives/control.h"

typedef struct tutti_halt tutti_halt;

typedef enum tutti_halt_answer {
    TUTTI_HALT_GO,   /* submit the step */
    TUTTI_HALT_STOP, /* neither it nor a later one */
    TUTTI_HALT_WAIT  /* rank 0: not all ranks have received the limit; pass, and ask again */
} tutti_halt_answer;

/* Borrows the control. NOMEM. */
tutti_status tutti_halt_open(tutti_control *control, tutti_halt **halt);
void tutti_halt_close(tutti_halt *halt); /* accepts NULL */

/* Whether step `step` may be submitted; ahead: see above; wish: whether this rank wants to stop.
 * After TUTTI_HALT_STOP all ranks have submitted the same steps. COMM (logged) if a message cannot
 * be sent. */
tutti_status tutti_halt_ask(
    tutti_halt *halt, int64_t step, int ahead, int wish, tutti_halt_answer *answer);
/* In every pass: sends pending messages. */
void tutti_halt_pass(tutti_halt *halt);
/* Whether messages are pending (0 for NULL). [A] */
int tutti_halt_busy(tutti_halt *halt);

#endif
