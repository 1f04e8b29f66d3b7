#include "designs/thread/clocks.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 200 };
static const double most_drift = 5e-4;

struct tutti_clocks {
    tutti_control *control;
    pthread_mutex_t lock; /* protects what follows; no other lock is taken under it */
    int left;             /* remaining round trips */
    int asked;            /* a question is in flight */
    double asked_s;
    tutti_clock_sample best;
    tutti_status status;
};

static void receive_question(void *ctx, const tutti_control_message *message)
{
    tutti_clocks *c = ctx;
    const tutti_control_message answer = {
        .kind = TUTTI_CONTROL_TIME, .value = {(int64_t)(1e9 * tutti_clock_s())}};
    if (tutti_control_send(c->control, message->from, &answer))
        tutti_log(TUTTI_LOG_WARN, "could not send the time to rank %d", message->from);
}

static void receive_answer(void *ctx, const tutti_control_message *message)
{
    tutti_clocks *c = ctx;
    double now_s = tutti_clock_s(), theirs_s = 1e-9 * (double)message->value[0];
    pthread_mutex_lock(&c->lock);
    double error_s = (now_s - c->asked_s) / 2, middle_s = (now_s + c->asked_s) / 2;
    if (error_s < c->best.error_s)
        c->best = (tutti_clock_sample){
            .at_s = middle_s, .offset_s = theirs_s - middle_s, .error_s = error_s};
    c->left -= c->left > 0;
    c->asked = 0;
    pthread_mutex_unlock(&c->lock);
    tutti_clocks_pass(c);
}

tutti_status tutti_clocks_open(tutti_control *control, tutti_clocks **clocks)
{
    tutti_clocks *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to compare clocks");
    c->control = control;
    pthread_mutex_init(&c->lock, NULL);
    tutti_control_handle(control, TUTTI_CONTROL_CLOCK, receive_question, c);
    tutti_control_handle(control, TUTTI_CONTROL_TIME, receive_answer, c);
    *clocks = c;
    return TUTTI_OK;
}

void tutti_clocks_close(tutti_clocks *clocks)
{
    if (!clocks) return;
    pthread_mutex_destroy(&clocks->lock);
    free(clocks);
}

void tutti_clocks_start(tutti_clocks *clocks)
{
    pthread_mutex_lock(&clocks->lock);
    clocks->left = ROUNDS;
    clocks->status = TUTTI_OK;
    clocks->best = (tutti_clock_sample){.error_s = INFINITY};
    pthread_mutex_unlock(&clocks->lock);
}

int tutti_clocks_busy(tutti_clocks *clocks)
{
    if (!clocks) return 0;
    pthread_mutex_lock(&clocks->lock);
    int busy = clocks->left > 0;
    pthread_mutex_unlock(&clocks->lock);
    return busy;
}

void tutti_clocks_pass(tutti_clocks *clocks)
{
    static const tutti_control_message question = {.kind = TUTTI_CONTROL_CLOCK};
    pthread_mutex_lock(&clocks->lock);
    int asks = clocks->left > 0 && !clocks->asked;
    if (asks) {
        clocks->asked = 1;
        clocks->asked_s = tutti_clock_s();
    }
    pthread_mutex_unlock(&clocks->lock);
    tutti_status status = asks ? tutti_control_send(clocks->control, 0, &question) : TUTTI_OK;
    if (!status) return;
    pthread_mutex_lock(&clocks->lock);
    clocks->status = status;
    clocks->left = 0;
    pthread_mutex_unlock(&clocks->lock);
}

int tutti_clocks_result(tutti_clocks *clocks, tutti_clock_sample *sample, tutti_status *status)
{
    pthread_mutex_lock(&clocks->lock);
    int complete = clocks->left == 0;
    *status = clocks->status;
    if (complete && !clocks->status) *sample = clocks->best;
    pthread_mutex_unlock(&clocks->lock);
    return complete;
}

double tutti_clock_convert(
    const tutti_clock_sample *first, const tutti_clock_sample *last, double t_s)
{
    double between_s = last->at_s - first->at_s;
    double drift = between_s > 0 ? (last->offset_s - first->offset_s) / between_s : 0;
    const tutti_clock_sample *exact = last->error_s < first->error_s ? last : first;
    drift = fmax(-most_drift, fmin(drift, most_drift));
    return t_s + exact->offset_s + drift * (t_s - exact->at_s);
}
