#include "apps/pack/workers.h"

#include "apps/data/sampler.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 4 }; /* items per thread */

typedef struct slot {
    tutti_pack_item item;
    tutti_status status;
    int made;
    char error[TUTTI_ERROR_TEXT];
} slot;

struct tutti_pack_workers {
    tutti_pack_task task;
    int slots, threads;
    pthread_t *thread;
    slot *ring;
    pthread_mutex_t lock; /* of what follows, and of every slot's status, made and error */
    pthread_cond_t made, room;
    int64_t claimed, taken; /* places: the next to be made, the one to be taken */
    int holds, ends;        /* holds: the writer still reads the item before `taken` */
};

static int64_t image_at(const tutti_pack_task *task, int64_t place)
{
    if (!task->shuffled) return place;
    return tutti_sampler_permute(
        task->seed ^ tutti_rng_stream("pack.order"), 0, task->dataset->count, place);
}

static slot *slot_of(const tutti_pack_workers *w, int64_t place)
{
    return &w->ring[place % w->slots];
}

/* The next place whose slot is free; -1: there is no more to do. */
static int64_t claim(tutti_pack_workers *w)
{
    int64_t place = -1;
    pthread_mutex_lock(&w->lock);
    while (!w->ends && w->claimed < w->task.dataset->count &&
           w->claimed - (w->taken - w->holds) >= w->slots)
        pthread_cond_wait(&w->room, &w->lock);
    if (!w->ends && w->claimed < w->task.dataset->count) place = w->claimed++;
    pthread_mutex_unlock(&w->lock);
    return place;
}

static void *work(void *arg)
{
    tutti_pack_workers *w = arg;
    tutti_decoder *decoder = NULL;
    tutti_status begun = tutti_decoder_new(&decoder);
    for (int64_t place; (place = claim(w)) >= 0;) {
        slot *s = slot_of(w, place);
        tutti_status status = begun ? begun
                                    : tutti_pack_item_make(w->task.recipe, w->task.dataset,
                                          image_at(&w->task, place), place, decoder, &s->item);
        pthread_mutex_lock(&w->lock);
        s->status = status;
        s->made = 1;
        if (status) {
            strncpy(s->error, tutti_last_error(), sizeof s->error - 1);
            w->ends = 1; /* places before this one are claimed already */
            pthread_cond_broadcast(&w->room);
        }
        pthread_cond_signal(&w->made);
        pthread_mutex_unlock(&w->lock);
    }
    tutti_decoder_free(decoder);
    return NULL;
}

static void stop(tutti_pack_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->ends = 1;
    pthread_cond_broadcast(&w->room);
    pthread_mutex_unlock(&w->lock);
    for (int t = 0; t < w->threads; t++) pthread_join(w->thread[t], NULL);
}

tutti_status tutti_pack_workers_open(const tutti_pack_task *task, tutti_pack_workers **workers)
{
    tutti_pack_workers *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for threads");
    *w = (tutti_pack_workers){.task = *task,
        .slots = AHEAD * task->threads,
        .claimed = task->first,
        .taken = task->first};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->made, NULL);
    pthread_cond_init(&w->room, NULL);
    w->thread = calloc((size_t)task->threads, sizeof *w->thread);
    w->ring = calloc((size_t)w->slots, sizeof *w->ring);
    int failed = !w->thread || !w->ring;
    for (; !failed && w->threads < task->threads; w->threads++) {
        failed = pthread_create(&w->thread[w->threads], NULL, work, w) != 0;
        if (failed) break;
    }
    if (failed) {
        tutti_pack_workers_close(w);
        return tutti_fail(TUTTI_ERR_NOMEM, "the threads could not be started");
    }
    *workers = w;
    return TUTTI_OK;
}

tutti_status tutti_pack_workers_next(tutti_pack_workers *w, const tutti_pack_item **item)
{
    slot *s = slot_of(w, w->taken);
    pthread_mutex_lock(&w->lock);
    if (w->holds) {
        slot_of(w, w->taken - 1)->made = 0;
        w->holds = 0;
        pthread_cond_signal(&w->room);
    }
    while (!s->made) pthread_cond_wait(&w->made, &w->lock);
    tutti_status status = s->status;
    w->taken++;
    w->holds = 1;
    pthread_mutex_unlock(&w->lock);
    if (status) tutti_error_adopt(s->error);
    *item = &s->item;
    return status;
}

void tutti_pack_workers_close(tutti_pack_workers *w)
{
    if (!w) return;
    stop(w);
    for (int s = 0; w->ring && s < w->slots; s++) tutti_pack_item_free(&w->ring[s].item);
    pthread_cond_destroy(&w->made);
    pthread_cond_destroy(&w->room);
    pthread_mutex_destroy(&w->lock);
    free(w->ring);
    free(w->thread);
    free(w);
}
