/* What a training run reports: to people on stdout, to programs as JSON, one object per line.
 *
 * People get a progress bar that fits the terminal, or without a terminal a plain line every few
 * seconds; both show the remaining time. The JSON file has an object for every event: "start",
 * "step", "eval", "checkpoint" and, last, "summary", "find_lr" or "interrupted"; numbers that are not finite
 * become null. The table has a row for every step and evaluation. Only rank 0 reports; on the others
 * every call does nothing. Write errors are kept, and close returns them.
 *
 * Threads: [M]. */
#ifndef TUTTI_TRAIN_REPORT_H
#define TUTTI_TRAIN_REPORT_H

#include "apps/train/events.h"
#include "dag/base/status.h"

#include <stdint.h>
#include <stdio.h>

typedef struct tutti_report tutti_report;

typedef enum tutti_report_style {
    TUTTI_REPORT_QUIET,
    TUTTI_REPORT_LINES,
    TUTTI_REPORT_BAR
} tutti_report_style;

typedef struct tutti_report_options {
    int active;               /* rank 0 */
    tutti_report_style style; /* for people */
    FILE *out;                /* for people; NULL: stdout */
    int columns;              /* of the terminal; 0: ask it */
    const char *json;         /* file for programs; NULL: none */
    const char *csv;          /* the same as a table; NULL: none */
    const char *page;         /* file for --report (apps/train/page.h); NULL: none */
    const char *metrics;      /* file for --metrics (apps/train/metrics.h); NULL: none */
    const char *tensorboard;  /* folder (apps/train/tensorboard.h); NULL: none */
    int keep;                 /* how many earlier files are kept (dag/base/file.h) */
    int append;               /* the earlier file is continued */
    int64_t
        membership; /* the epoch of the membership in an elastic run; 0: the run is not elastic */
    int64_t again;            /* steps that this epoch computes again */
} tutti_report_options;

/* BAR if stdout is a terminal (apps/terminal/terminal.h), else LINES. */
tutti_report_style tutti_report_find_style(void);

/* IO (logged) if the JSON file cannot be created; NOMEM. */
tutti_status tutti_report_open(const tutti_report_options *options, tutti_report **report);
void tutti_report_on_start(tutti_report *report, const tutti_report_start *start);
void tutti_report_on_step(tutti_report *report, const tutti_report_step *step);
void tutti_report_on_eval(tutti_report *report, const tutti_report_eval *eval);
void tutti_report_on_checkpoint(tutti_report *report, const char *path, int64_t step);
/* The last event of a run ended by `signal`; command: how to continue it, or NULL. */
void tutti_report_on_interrupt(
    tutti_report *report, const char *signal, int64_t step, const char *command);
/* The last event of a run with --find-lr. */
void tutti_report_on_rates(tutti_report *report, const tutti_report_rates *rates);
void tutti_report_on_summary(tutti_report *report, const tutti_report_summary *summary);
/* continues: others write the files from now on, as after a change of an elastic run's ranks. IO (logged) if something
 * could not be written. Accepts NULL. */
tutti_status tutti_report_close(tutti_report *report, int continues);

#endif
