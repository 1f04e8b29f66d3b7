/* --report: a run as one HTML file that needs no other: its settings, curves of loss, rate and
 * accuracy as SVG, precision, recall and F1 of each class, and the confusion matrix. The file is replaced as a
 * whole when it is `every_s` old, after each evaluation and at the end; until then it says how far the
 * run is, and browsers load it anew. The curves (apps/curve/curve.h, over epochs) and the
 * confusion matrix are also in it as JSON, in the elements with the ids "curves" and "confusion".
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_PAGE_H
#define TUTTI_TRAIN_PAGE_H

#include "apps/train/events.h"
#include "dag/base/status.h"

typedef struct tutti_page tutti_page;

/* keep: how many earlier files are kept; continues: the curves continue those of the file, which
 * is then replaced. NOMEM. Nothing is written yet. */
tutti_status tutti_page_new(
    const char *path, int keep, int continues, int every_s, tutti_page **page);
void tutti_page_on_start(tutti_page *page, const tutti_report_start *start);
/* left_s: the remaining time of the run; not finite: not known. IO (logged): the file could not be written. */
tutti_status tutti_page_on_step(tutti_page *page, const tutti_report_step *step, double left_s);
tutti_status tutti_page_on_eval(tutti_page *page, const tutti_report_eval *eval);
/* As in apps/train/report.h; end writes what they say. */
void tutti_page_on_interrupt(
    tutti_page *page, const char *signal, int64_t step, const char *command);
void tutti_page_on_summary(tutti_page *page, const tutti_report_summary *summary);
/* A search for a rate has ended, after this many steps. */
void tutti_page_on_rates(tutti_page *page, int64_t steps);
/* Writes the file for the last time: a run without summary, rates and interruption has failed, unless others continue
 * it. IO (logged). */
tutti_status tutti_page_end(tutti_page *page, int continues);
/* Accepts NULL. */
void tutti_page_free(tutti_page *page);

#endif
