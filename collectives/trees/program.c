#include "collectives/trees/program.h"

#include "dag/base/log.h"

#include <stdlib.h>

/* The table: a row for each resource and one for the objective; a column for each thing, each resource's rest, and
 * the limits. */
typedef struct table {
    int rows, columns, width;
    double *cell; /* [(rows + 1) * width] */
    int *basis;   /* [rows] the column of each row */
} table;

static const double tiny = 1e-11;

static double *row_of(const table *t, int row)
{
    return t->cell + (size_t)row * (size_t)t->width;
}

static tutti_status open_table(
    table *t, int rows, int columns, const double a[], const double limit[])
{
    *t = (table){.rows = rows, .columns = columns, .width = columns + rows + 1};
    t->cell = calloc(((size_t)rows + 1) * (size_t)t->width, sizeof *t->cell);
    t->basis = malloc(((size_t)rows + 1) * sizeof *t->basis);
    if (!t->cell || !t->basis)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a program of %d trees", columns);
    for (int r = 0; r < rows; r++) {
        double *row = row_of(t, r);
        for (int c = 0; c < columns; c++) row[c] = a[(size_t)r * (size_t)columns + (size_t)c];
        row[columns + r] = 1;
        row[t->width - 1] = limit[r];
        t->basis[r] = columns + r;
    }
    for (int c = 0; c < columns; c++) row_of(t, rows)[c] = -1;
    return TUTTI_OK;
}

/* The column that enters: the one of most gain, or, to leave where the table stands still, the first of any. -1: the
 * table is optimal. */
static int choose_column(const table *t, int first)
{
    const double *gain = row_of(t, t->rows);
    int best = -1;
    for (int c = 0; c < t->width - 1; c++) {
        if (gain[c] >= -tiny || (best >= 0 && gain[c] >= gain[best])) continue;
        best = c;
        if (first) break;
    }
    return best;
}

/* The row that limits a column most; of several, that of the least basis. */
static int choose_row(const table *t, int column)
{
    int best = -1;
    double least = 0;
    for (int r = 0; r < t->rows; r++) {
        const double *row = row_of(t, r);
        if (row[column] <= tiny) continue;
        double ratio = row[t->width - 1] / row[column];
        if (best >= 0 && (ratio > least || (ratio == least && t->basis[r] > t->basis[best])))
            continue;
        best = r;
        least = ratio;
    }
    return best;
}

static void pivot(table *t, int row, int column)
{
    double *from = row_of(t, row), by = from[column];
    for (int c = 0; c < t->width; c++) from[c] /= by;
    for (int r = 0; r <= t->rows; r++) {
        double *to = row_of(t, r), times = to[column];
        if (r == row || times == 0) continue;
        for (int c = 0; c < t->width; c++) to[c] -= times * from[c];
    }
    t->basis[row] = column;
}

tutti_status tutti_trees_share(
    int rows, int columns, const double a[], const double limit[], double x[], double price[])
{
    table t;
    tutti_status status = open_table(&t, rows, columns, a, limit);
    const double *objective = status ? NULL : row_of(&t, rows);
    int still = 0;
    while (!status) {
        int column = choose_column(&t, still > rows), row;
        if (column < 0 || (row = choose_row(&t, column)) < 0) break;
        double before = objective[t.width - 1];
        pivot(&t, row, column);
        still = objective[t.width - 1] > before ? 0 : still + 1;
    }
    for (int c = 0; !status && c < columns; c++) x[c] = 0;
    for (int r = 0; !status && r < rows; r++) {
        if (t.basis[r] < columns) x[t.basis[r]] = row_of(&t, r)[t.width - 1];
        price[r] = objective[columns + r];
    }
    free(t.cell);
    free(t.basis);
    return status;
}
