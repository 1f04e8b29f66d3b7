#include "dag/run/meter.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>

struct tutti_meter {
    pthread_mutex_t lock; /* protects everything below */
    double last;
    int active[2]; /* kernels running, collectives in flight */
    tutti_meter_reading sum;
};

tutti_status tutti_meter_new(tutti_meter **meter)
{
    tutti_meter *m = calloc(1, sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "meter: no memory");
    pthread_mutex_init(&m->lock, NULL);
    m->last = tutti_clock_s();
    *meter = m;
    return TUTTI_OK;
}

void tutti_meter_free(tutti_meter *meter)
{
    if (!meter) return;
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

/* Adds the time since the last change to the clocks that ran during it. */
static void advance(tutti_meter *m)
{
    double now = tutti_clock_s(), passed = now - m->last;
    if (m->active[TUTTI_METER_COMPUTE]) m->sum.compute_s += passed;
    if (m->active[TUTTI_METER_COMM]) m->sum.comm_s += passed;
    if (m->active[TUTTI_METER_COMPUTE] && m->active[TUTTI_METER_COMM]) m->sum.hidden_s += passed;
    m->last = now;
}

double tutti_meter_enter(tutti_meter *meter, tutti_meter_kind kind)
{
    if (!meter) return 0;
    pthread_mutex_lock(&meter->lock);
    advance(meter);
    meter->active[kind]++;
    double mark = meter->sum.compute_s;
    pthread_mutex_unlock(&meter->lock);
    return mark;
}

void tutti_meter_leave(tutti_meter *meter, tutti_meter_kind kind, double mark)
{
    if (!meter) return;
    pthread_mutex_lock(&meter->lock);
    advance(meter);
    meter->active[kind]--;
    if (kind == TUTTI_METER_COMM) {
        meter->sum.collectives++;
        if (meter->sum.compute_s > mark) meter->sum.hidden_collectives++;
    }
    pthread_mutex_unlock(&meter->lock);
}

tutti_meter_reading tutti_meter_read(tutti_meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    advance(meter);
    tutti_meter_reading reading = meter->sum;
    pthread_mutex_unlock(&meter->lock);
    return reading;
}
