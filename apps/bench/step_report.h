/* What tutti-bench step reports: a table for people, events for programs. */
#ifndef TUTTI_BENCH_STEP_REPORT_H
#define TUTTI_BENCH_STEP_REPORT_H

#include "apps/bench/step_rows.h"

/* On rank 0, after all turns. [M] */
void tutti_step_report(tutti_step_bench *bench);

#endif
