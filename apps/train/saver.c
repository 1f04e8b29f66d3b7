#include "apps/train/saver.h"

#include "apps/session/weights.h"
#include "apps/train/state.h"
#include "collectives/boot.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Rank 0's writing thread. */
typedef struct saver {
    tutti_trainer *trainer;
    int64_t step;
    int best;
    double until_s; /* the deadline */
    pthread_t thread;
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t ended;
    int done;
    tutti_status status;
} saver;

static void *write_checkpoint(void *arg)
{
    saver *w = arg;
    tutti_status status = tutti_state_save(w->trainer, w->step, w->best);
    pthread_mutex_lock(&w->lock);
    w->done = 1;
    w->status = status;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static tutti_status saver_start(tutti_trainer *trainer, int64_t step, int best, saver **made)
{
    enum { PATIENCE = 10 };
    saver *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the thread that saves");
    w->trainer = trainer;
    w->step = step;
    w->best = best;
    w->until_s = tutti_clock_s() + PATIENCE * trainer->options->exchange.timeout_s;
    pthread_mutex_init(&w->lock, NULL);
    tutti_clock_cond_init(&w->ended);
    if (pthread_create(&w->thread, NULL, write_checkpoint, w)) {
        free(w);
        return tutti_fail(TUTTI_ERR_NOMEM, "the thread that saves could not be started");
    }
    *made = w;
    return TUTTI_OK;
}

static void saver_free(saver *w)
{
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->ended);
    free(w);
}

/* Waits a moment; returns whether the thread has ended; if so, *status is its result. */
static int saver_wait(saver *w, double seconds, tutti_status *status)
{
    struct timespec until = tutti_clock_after(seconds);
    pthread_mutex_lock(&w->lock);
    while (!w->done)
        if (pthread_cond_timedwait(&w->ended, &w->lock, &until)) break;
    int done = w->done;
    *status = w->status;
    pthread_mutex_unlock(&w->lock);
    return done;
}

/* What rank 0 tells the others. */
typedef struct word {
    int32_t ended, status;
} word;

/* The next word of a saver; frees the saver when it has ended. */
static word saver_word(saver **w)
{
    const tutti_train_options *o = (*w)->trainer->options;
    tutti_status status;
    double moment_s = o->exchange.timeout_s / 4 < 1 ? o->exchange.timeout_s / 4 : 1;
    if (saver_wait(*w, moment_s, &status)) {
        saver_free(*w);
        *w = NULL;
        return (word){1, status};
    }
    if (tutti_clock_s() < (*w)->until_s) return (word){0};
    return (word){1, tutti_fail(TUTTI_ERR_TIMEOUT,
                         "checkpoint %s: not written within ten times --timeout %g s: is its disk "
                         "full or unreachable?",
                         o->checkpoint.file, o->exchange.timeout_s)};
}

static tutti_status share_word(const tutti_trainer *s, word *said)
{
    return tutti_exchange_broadcast(s->session.exchange, "the checkpoint's state", TUTTI_I32, 0,
        sizeof *said / sizeof(int32_t), said);
}

/* ---- what other stages have ---- */

typedef struct copying {
    tutti_trainer *trainer;
    int next;
} copying;

static tutti_status copy_tensor(void *ctx, const tutti_tensor *tensor, void *data)
{
    copying *c = ctx;
    const int i = c->next++;
    void *copy = c->trainer->elsewhere[i];
    if (copy) memcpy(copy, data, tensor->bytes);
    return TUTTI_OK;
}

static void drop_copies(tutti_trainer *s)
{
    for (int i = 0; s->elsewhere && i < tutti_weights_count(&s->session); i++)
        free(s->elsewhere[i]);
    free(s->elsewhere);
    s->elsewhere = NULL;
}

/* Room for copies, on rank 0. */
static tutti_status make_room(tutti_trainer *s)
{
    const int tensors = tutti_weights_count(&s->session);
    if (s->session.placement.rank != 0) return TUTTI_OK;
    s->elsewhere = calloc((size_t)tensors, sizeof *s->elsewhere);
    for (int i = 0; s->elsewhere && i < tensors; i++) {
        if (tutti_weights_tensor(&s->session, i) >= 0) continue;
        s->elsewhere[i] = malloc(tutti_weights_get(&s->session, i)->bytes);
        if (!s->elsewhere[i]) drop_copies(s);
    }
    return s->elsewhere
               ? TUTTI_OK
               : tutti_fail(TUTTI_ERR_NOMEM, "checkpoint %s: no memory for what other stages have",
                     s->options->checkpoint.file);
}

static tutti_status copy_from_stages(tutti_trainer *s)
{
    copying c = {s, 0};
    if (!s->session.whole) return TUTTI_OK;
    tutti_status status = tutti_exchange_agree(s->session.exchange, make_room(s), NULL);
    if (!status)
        status =
            tutti_weights_collect(&s->session, tutti_weights_count(&s->session), copy_tensor, &c);
    return status;
}

/* ---- saving ---- */

/* The ranks have lost each other, and train on in another epoch: it must not write there. */
static void await_writer(saver **w, tutti_status why)
{
    tutti_status status;
    const double left_s = (*w)->until_s - tutti_clock_s();
    if (!saver_wait(*w, left_s > 0 ? left_s : 0, &status)) {
        tutti_log(TUTTI_LOG_ERROR, "this rank cannot continue: %s; the others do without it",
            tutti_status_text(why));
        tutti_boot_quit(1);
    }
    saver_free(*w);
    *w = NULL;
}

tutti_status tutti_saver_save(tutti_trainer *s, int64_t step, int best, int *together)
{
    saver *writing = NULL;
    word said = {0};
    tutti_status copied = copy_from_stages(s);
    *together = copied == TUTTI_ERR_NOMEM;
    if (copied) {
        drop_copies(s);
        return copied;
    }
    if (s->session.placement.rank == 0) {
        said.status = saver_start(s, step, best, &writing);
        said.ended = said.status != TUTTI_OK;
    }
    tutti_status lost;
    do {
        if (writing) said = saver_word(&writing);
        lost = share_word(s, &said);
    } while (!lost && !said.ended);
    tutti_status status = lost ? lost : (tutti_status)said.status;
    if (writing && s->elastic) await_writer(&writing, status);
    *together = status != TUTTI_ERR_TIMEOUT && status != TUTTI_ERR_COMM;
    if (!writing) drop_copies(s);
    return status;
}
