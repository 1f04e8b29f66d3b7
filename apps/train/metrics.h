/* --metrics: where a run is, as OpenMetrics text, which Prometheus's node_exporter reads from a folder. The
 * file is replaced as a whole when it is `every_s` old, after each evaluation, and at the end.
 * Source: OpenMetrics 1.0, https://prometheus.io/docs/specs/om/open_metrics_spec/. Threads: [M]. */
#ifndef TUTTI_TRAIN_METRICS_H
#define TUTTI_TRAIN_METRICS_H

#include "apps/train/events.h"
#include "dag/base/status.h"

typedef struct tutti_metrics tutti_metrics;

/* NOMEM. Nothing is written yet. */
tutti_status tutti_metrics_new(const char *path, double every_s, tutti_metrics **metrics);
void tutti_metrics_on_start(tutti_metrics *metrics, const tutti_report_start *start);
/* IO (logged): the file could not be written. */
tutti_status tutti_metrics_on_step(tutti_metrics *metrics, const tutti_report_step *step);
tutti_status tutti_metrics_on_eval(tutti_metrics *metrics, const tutti_report_eval *eval);
tutti_status tutti_metrics_write(tutti_metrics *metrics);
/* Accepts NULL. */
void tutti_metrics_free(tutti_metrics *metrics);

#endif
