#include "apps/train/snapshot.h"

#include "apps/session/weights.h"
#include "dag/base/log.h"
#include "dag/kernels/loss.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const tutti_snapshot none = {.step = -1};

static void free_snapshot(tutti_snapshot *s)
{
    for (int i = 0; i < s->tensors; i++) free(s->data[i]);
    free(s->data);
    free(s->sums.value);
    *s = none;
}

/* Room for the tensors, and for the sums, of a trainer. */
static tutti_status make_room(const tutti_trainer *s, tutti_snapshot *made)
{
    const tutti_training_session *on = &s->session;
    const int tensors = tutti_weights_count(on);
    size_t bytes = (size_t)s->sums.replicas * TUTTI_METRICS * sizeof(double);
    int good = (made->data = calloc((size_t)tensors, sizeof *made->data)) != NULL;
    if (good && bytes) good = (made->sums.value = malloc(bytes)) != NULL;
    for (; good && made->tensors < tensors; made->tensors++) {
        bytes = tutti_weights_get(on, made->tensors)->bytes;
        good = (made->data[made->tensors] = malloc(bytes)) != NULL;
    }
    return good ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a snapshot");
}

/* Its memory, when it is used again for a trainer of the same run. */
static int fits(const tutti_snapshot *s, const tutti_trainer *trainer)
{
    return s->data && s->tensors == tutti_weights_count(&trainer->session) &&
           s->sums.replicas == trainer->sums.replicas;
}

typedef struct copying {
    void **data;
    int next;
} copying;

static tutti_status keep_tensor(void *ctx, const tutti_tensor *tensor, void *data)
{
    copying *c = ctx;
    memcpy(c->data[c->next++], data, tensor->bytes);
    return TUTTI_OK;
}

static tutti_status write_tensor(void *ctx, const tutti_tensor *tensor, void *data)
{
    copying *c = ctx;
    memcpy(data, c->data[c->next++], tensor->bytes);
    return TUTTI_OK;
}

static void copy_sums(const tutti_epoch_sums *from, tutti_epoch_sums *to)
{
    to->replicas = from->replicas;
    if (from->replicas)
        memcpy(to->value, from->value, (size_t)from->replicas * TUTTI_METRICS * sizeof(double));
}

void tutti_snapshots_begin(tutti_snapshots *kept, int has_beginning)
{
    kept->newest = kept->before = none;
    if (has_beginning) kept->newest.step = 0;
}

tutti_status tutti_snapshots_take(tutti_snapshots *kept, const tutti_trainer *s, int64_t step)
{
    tutti_snapshot made = kept->before;
    tutti_status status = TUTTI_OK;
    kept->before = none;
    if (!fits(&made, s)) {
        free_snapshot(&made);
        status = make_room(s, &made);
    }
    copying c = {.data = made.data};
    const int tensors = tutti_weights_count(&s->session);
    if (!status) status = tutti_weights_gather(&s->session, tensors, keep_tensor, &c);
    if (status) {
        free_snapshot(&made);
        return status;
    }
    copy_sums(&s->sums, &made.sums);
    made.step = step;
    made.best = s->best;
    made.steps_per_epoch = s->steps_per_epoch;
    made.plateau = s->rate_schedule.plateau;
    made.precision = s->precision;
    kept->before = kept->newest;
    kept->newest = made;
    return TUTTI_OK;
}

void tutti_snapshots_cut(tutti_snapshots *kept, int64_t step)
{
    if (kept->newest.step > step) {
        free_snapshot(&kept->newest);
        kept->newest = kept->before;
        kept->before = none;
    }
    if (kept->newest.step > step) free_snapshot(&kept->newest);
}

const tutti_snapshot *tutti_snapshots_find(const tutti_snapshots *kept, int64_t step)
{
    if (step > 0 && kept->newest.step == step) return &kept->newest;
    return step > 0 && kept->before.step == step ? &kept->before : NULL;
}

tutti_status tutti_snapshot_restore(const tutti_snapshot *snapshot, tutti_trainer *s)
{
    const int tensors = tutti_weights_count(&s->session);
    const int sums = snapshot->steps_per_epoch == s->steps_per_epoch ? snapshot->sums.replicas : 0;
    copying c = {.data = snapshot->data};
    double *value = NULL;
    if (snapshot->tensors != tensors)
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "the snapshot of step %" PRId64 " has %d tensors, and the model %d", snapshot->step,
            snapshot->tensors, tensors);
    if (sums) {
        value = calloc((size_t)sums * TUTTI_METRICS, sizeof *value);
        if (!value) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums");
    }
    tutti_status status = TUTTI_OK;
    if (!s->session.whole)
        status = tutti_weights_walk(&s->session, tensors, TUTTI_READWRITE, write_tensor, &c);
    free(s->sums.value);
    s->sums = (tutti_epoch_sums){.value = value};
    if (sums) copy_sums(&snapshot->sums, &s->sums);
    s->best = snapshot->best;
    s->rate_schedule.plateau = snapshot->plateau;
    s->first_step = snapshot->step;
    return status;
}

static tutti_status fill_tensor(void *ctx, const tutti_tensor *tensor, void *data, int *filled)
{
    *filled = 1;
    return write_tensor(ctx, tensor, data);
}

tutti_status tutti_snapshot_spread(const tutti_snapshot *snapshot, tutti_trainer *s)
{
    copying c = {.data = snapshot ? snapshot->data : NULL};
    return tutti_weights_spread(&s->session, fill_tensor, &c);
}

static tutti_status skip_tensor(void *ctx, const tutti_tensor *tensor, void *data)
{
    (void)ctx;
    (void)tensor;
    (void)data;
    return TUTTI_OK;
}

tutti_status tutti_snapshots_attend(const tutti_trainer *s)
{
    return tutti_weights_gather(&s->session, tutti_weights_count(&s->session), skip_tensor, NULL);
}

void tutti_snapshots_free(tutti_snapshots *kept)
{
    free_snapshot(&kept->newest);
    free_snapshot(&kept->before);
}
