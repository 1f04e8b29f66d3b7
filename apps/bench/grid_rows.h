/* The results of tutti-bench step, read back from a file of JSON lines. Threads: [M]. */
#ifndef TUTTI_BENCH_GRID_ROWS_H
#define TUTTI_BENCH_GRID_ROWS_H

#include "dag/base/status.h"

typedef struct tutti_grid_row {
    char kind[16], name[64], model[32]; /* kind: "compute", "communicate", "design", "peer" */
    char wire[8], precision[8];         /* types; "f32" if not in the file */
    /* "": not in the file; commit: of the run that the row is of */
    char priority[8], lanes[24], workers[8], algorithm[64], commit[48];
    int batch, ranks;
    double link_mbit, step_ms, limit_ms, over_peer; /* over_peer 0: no peer */
    double over_best;         /* for design "auto": over the best fixed choice */
    double least_ms, most_ms; /* over blocks; 0: not in the file */
    /* Blocks; 0: not in the file, and its ratios are ratios of medians. */
    int count;
    /* Of paired ratios; valid if count is not 0. */
    double over_limit, over_limit_least, over_limit_most;
} tutti_grid_row;

typedef struct tutti_grid_rows {
    int count, room;
    tutti_grid_row *row;
    char commit[48]; /* of the last event "run" */
} tutti_grid_rows;

/* Reads the lines with event "step"; of several rows for the same measurement the last one counts.
 * A missing file has no rows. IO, FORMAT (logged), NOMEM. */
tutti_status tutti_grid_rows_read(const char *file, tutti_grid_rows *rows);
/* The row of the same cell (model, types, batch, ranks, link) with this kind and, unless NULL, this
 * name; or NULL. */
const tutti_grid_row *tutti_grid_rows_find(
    const tutti_grid_rows *rows, const tutti_grid_row *cell, const char *kind, const char *name);
void tutti_grid_rows_free(tutti_grid_rows *rows);

/* "vgg16", or "vgg16 computed in bf16 summed in bf16" into text; returns text. [P] */
enum { TUTTI_GRID_TITLE = 80 };
char *tutti_grid_row_title(const tutti_grid_row *row, char text[TUTTI_GRID_TITLE]);

#endif
