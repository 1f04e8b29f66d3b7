#include "apps/sim/trace_times.h"

#include "apps/trace/read.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t tutti_trace_times_key(const char *name)
{
    return tutti_rng_stream_of(name, strcspn(name, "@"));
}

static int by_key(const void *a, const void *b)
{
    const tutti_kernel_time *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Puts the median of those of each name, which follow each other, in place of them. Returns the number of names. */
static int take_medians(tutti_kernel_time *time, int64_t count, double *same)
{
    int names = 0;
    for (int64_t i = 0, n; i < count; i += n) {
        for (n = 0; i + n < count && time[i + n].key == time[i].key; n++)
            same[n] = time[i + n].time_s;
        time[names++] = (tutti_kernel_time){time[i].key, tutti_median(n, same)};
    }
    return names;
}

static tutti_status collect(const tutti_timeline *t, tutti_trace_times *times)
{
    int64_t count = 0;
    double *same = malloc((size_t)(t->events + 1) * sizeof *same);
    times->time = malloc((size_t)(t->events + 1) * sizeof *times->time);
    if (!same || !times->time) {
        free(same);
        return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory for its kernels", t->path);
    }
    for (int64_t i = 0; i < t->events; i++) {
        const tutti_event *e = &t->event[i];
        if (tutti_span_computes(e->kind) && e->step >= t->first_step && e->step <= t->last_step)
            times->time[count++] = (tutti_kernel_time){
                tutti_trace_times_key(e->name), 1e-3 * (e->end_ms - e->begin_ms)};
    }
    qsort(times->time, (size_t)count, sizeof *times->time, by_key);
    times->kernels = take_medians(times->time, count, same);
    free(same);
    return TUTTI_OK;
}

tutti_status tutti_trace_times_read(const char *path, tutti_trace_times *times)
{
    tutti_timeline t;
    *times = (tutti_trace_times){.time = NULL};
    tutti_status status = tutti_timeline_read(path, &t);
    if (status) return status;
    if (!t.images || !t.classes)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s: the trace does not say of how many images, and which, its kernels are: use one "
            "that "
            "tutti-cifar or tutti-imagenet wrote with --trace",
            path);
    if (!status) status = collect(&t, times);
    if (!status && !times->kernels)
        status = tutti_fail(
            TUTTI_ERR_FORMAT, "%s: no kernels in steps that are traced completely", path);
    snprintf(times->model, sizeof times->model, "%s", t.model);
    times->images = t.images;
    times->input = (tutti_model_input){t.height, t.width, t.channels, t.classes};
    times->on_gpu = t.launches > 0;
    times->shards = t.shards;
    times->blocks = t.blocks;
    if (status) free(times->time);
    tutti_timeline_free(&t);
    return status;
}
