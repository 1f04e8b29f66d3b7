/* Charts of lines with error bars as SVG: x on a logarithmic scale, or an even one from 0; y from 0.
 * [M] */
#ifndef TUTTI_CURVE_CHART_H
#define TUTTI_CURVE_CHART_H

#include <stdio.h>

enum { TUTTI_CHART_WIDTH = 420, TUTTI_CHART_HEIGHT = 300, TUTTI_CHART_POINTS = 256 };

typedef struct tutti_chart_line {
    char name[64];
    int dashed, points;
    double x[TUTTI_CHART_POINTS], y[TUTTI_CHART_POINTS];
    double low[TUTTI_CHART_POINTS], high[TUTTI_CHART_POINTS]; /* of a bar through y; equal: none */
} tutti_chart_line;

typedef struct tutti_chart {
    const char *title, *x_label, *y_label;
    int even;  /* the scale of x */
    int bytes; /* what x counts: ticks of whole KiB or MiB say so */
    int right; /* the names of the lines stand at the lower right: lines rise */
    int lines;
    const tutti_chart_line *line;
} tutti_chart;

/* Begins and ends a document of `charts` charts, `across` in a row. */
void tutti_chart_begin(FILE *out, int charts, int across);
void tutti_chart_end(FILE *out);
/* Draws chart `number` (from 0) in its place. All x are positive, or with `even` not
 * negative. */
void tutti_chart_draw(FILE *out, int number, int across, const tutti_chart *chart);

#endif
