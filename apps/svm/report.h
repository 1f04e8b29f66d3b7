/* What a training prints as it runs: for people, and as JSON. Rank 0 alone reports. [M] */
#ifndef TUTTI_SVM_REPORT_H
#define TUTTI_SVM_REPORT_H

#include "apps/svm/train.h"

typedef struct tutti_svm_report tutti_svm_report;

/* json: the file to write, or NULL; quiet: no lines for people. IO, NOMEM (logged). */
tutti_status tutti_svm_report_open(
    const char *json, int quiet, double eps, tutti_svm_report **report);
void tutti_svm_report_start(tutti_svm_report *report, const char *data, const tutti_rows *rows,
    int64_t all_rows, const tutti_svm_classes *classes, const tutti_svm_world *world);
void tutti_svm_report_event(
    tutti_svm_report *report, tutti_svm_event event, const tutti_svm_progress *progress);
/* A result of a pair of classes. */
void tutti_svm_report_pair(
    tutti_svm_report *report, int64_t positive, int64_t negative, const tutti_svm_result *result);
/* The accuracy that a machine with this cost and gamma has in cross-validation: an event. */
void tutti_svm_report_accuracy(
    tutti_svm_report *report, double cost, double gamma, double accuracy);
/* A number, as the event `name`. */
void tutti_svm_report_number(tutti_svm_report *report, const char *name, double value);
/* The active samples over time, if any were eliminated. */
void tutti_svm_report_table(const tutti_svm_report *report);
/* IO (logged): not everything could be written. Accepts NULL. */
tutti_status tutti_svm_report_close(tutti_svm_report *report);

#endif
