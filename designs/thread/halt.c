#include "designs/thread/halt.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>

enum { NO_LIMIT = -1 };

struct tutti_halt {
    tutti_control *control;
    int rank, size;
    pthread_mutex_t lock; /* protects what follows; no other lock is taken under it */
    int wished;           /* by this rank; on rank 0, by any rank */
    int unsent;           /* the wish or the limit has yet to be sent */
    int64_t limit;
    int confirmed; /* on rank 0: how many others have received it */
    tutti_status status;
};

static void set_failure(tutti_halt *h, tutti_status status)
{
    pthread_mutex_lock(&h->lock);
    if (!h->status) h->status = status;
    pthread_mutex_unlock(&h->lock);
}

static void receive_wish(void *ctx, const tutti_control_message *message)
{
    tutti_halt *h = ctx;
    (void)message;
    pthread_mutex_lock(&h->lock);
    h->wished = 1;
    pthread_mutex_unlock(&h->lock);
}

static void receive_limit(void *ctx, const tutti_control_message *message)
{
    tutti_halt *h = ctx;
    const tutti_control_message confirmation = {.kind = TUTTI_CONTROL_RECEIVED};
    pthread_mutex_lock(&h->lock);
    h->limit = message->value[0];
    pthread_mutex_unlock(&h->lock);
    set_failure(h, tutti_control_send(h->control, message->from, &confirmation));
}

static void receive_confirmation(void *ctx, const tutti_control_message *message)
{
    tutti_halt *h = ctx;
    (void)message;
    pthread_mutex_lock(&h->lock);
    h->confirmed++;
    pthread_mutex_unlock(&h->lock);
}

tutti_status tutti_halt_open(tutti_control *control, tutti_halt **halt)
{
    tutti_halt *h = calloc(1, sizeof *h);
    if (!h) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to stop all ranks together");
    h->control = control;
    h->rank = tutti_control_rank(control);
    h->size = tutti_control_size(control);
    h->limit = NO_LIMIT;
    pthread_mutex_init(&h->lock, NULL);
    tutti_control_handle(control, TUTTI_CONTROL_WISH, receive_wish, h);
    tutti_control_handle(control, TUTTI_CONTROL_LIMIT, receive_limit, h);
    tutti_control_handle(control, TUTTI_CONTROL_RECEIVED, receive_confirmation, h);
    *halt = h;
    return TUTTI_OK;
}

void tutti_halt_close(tutti_halt *halt)
{
    if (!halt) return;
    pthread_mutex_destroy(&halt->lock);
    free(halt);
}

/* Lock held. */
static void wish_once(tutti_halt *h)
{
    if (h->wished) return;
    h->wished = 1;
    h->unsent = h->rank != 0;
}

/* Rank 0 before a step, lock held. */
static void set_limit(tutti_halt *h, int64_t step, int ahead)
{
    if (!h->wished || h->limit != NO_LIMIT) return;
    h->limit = step + ahead;
    h->unsent = 1;
}

tutti_status tutti_halt_ask(
    tutti_halt *h, int64_t step, int ahead, int wish, tutti_halt_answer *answer)
{
    pthread_mutex_lock(&h->lock);
    if (wish) wish_once(h);
    if (h->rank == 0) set_limit(h, step, ahead);
    int limited = h->limit != NO_LIMIT;
    int wait = h->rank == 0 && limited && h->confirmed < h->size - 1;
    *answer = wait                          ? TUTTI_HALT_WAIT
              : limited && step >= h->limit ? TUTTI_HALT_STOP
                                            : TUTTI_HALT_GO;
    tutti_status status = h->status;
    pthread_mutex_unlock(&h->lock);
    return status;
}

void tutti_halt_pass(tutti_halt *h)
{
    pthread_mutex_lock(&h->lock);
    int unsent = h->unsent;
    const tutti_control_message message = {
        .kind = h->rank == 0 ? TUTTI_CONTROL_LIMIT : TUTTI_CONTROL_WISH, .value = {h->limit}};
    h->unsent = 0;
    pthread_mutex_unlock(&h->lock);
    if (!unsent) return;
    set_failure(h, h->rank == 0 ? tutti_control_broadcast(h->control, &message)
                                : tutti_control_send(h->control, 0, &message));
}

int tutti_halt_busy(tutti_halt *h)
{
    if (!h) return 0;
    pthread_mutex_lock(&h->lock);
    int busy = h->unsent;
    pthread_mutex_unlock(&h->lock);
    return busy;
}
