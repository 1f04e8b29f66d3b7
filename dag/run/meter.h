/* How much of the communication is hidden: four clocks, one for each combination of "some kernel
 * runs" and "some collective is in flight". Runners enter and leave COMPUTE around every kernel,
 * the communication layer COMM around every collective; only the union over workers and collectives
 * counts. It is exact and keeps no trace. [A] */
#ifndef TUTTI_METER_H
#define TUTTI_METER_H

#include "dag/base/status.h"

typedef struct tutti_meter tutti_meter;

typedef enum tutti_meter_kind { TUTTI_METER_COMPUTE, TUTTI_METER_COMM } tutti_meter_kind;

/* Seconds since the meter was made. Subtract two readings for an interval. */
typedef struct tutti_meter_reading {
    double compute_s; /* at least one kernel ran */
    double comm_s;    /* at least one collective was in flight */
    double hidden_s;  /* both */
    long collectives; /* collectives finished */
    /* those of them during which a kernel ran at some time */
    long hidden_collectives;
} tutti_meter_reading;

tutti_status tutti_meter_new(tutti_meter **meter);
void tutti_meter_free(tutti_meter *meter);

/* Returns a value to pass to the matching leave. A NULL meter is accepted and counts nothing. */
double tutti_meter_enter(tutti_meter *meter, tutti_meter_kind kind);
void tutti_meter_leave(tutti_meter *meter, tutti_meter_kind kind, double mark);

tutti_meter_reading tutti_meter_read(tutti_meter *meter);

#endif
