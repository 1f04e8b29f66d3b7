/* Sparse rows: samples with their labels, in memory that grows at its end; also as bytes, between ranks.
 * Threads: [A], one per object. */
#ifndef TUTTI_SVM_ROWS_H
#define TUTTI_SVM_ROWS_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, but for `floats`. */
typedef struct tutti_rows {
    int floats; /* values are float, not double */
    int64_t count, nonzeros;
    int64_t columns; /* the largest index of any row; of all ranks' rows, once they have agreed */
    int64_t from;    /* the number of the first row among all ranks' rows */
    int64_t *first;  /* [count + 1]: where each row's values begin */
    uint32_t *index; /* [nonzeros], from 1, ascending in a row */
    void *value;     /* [nonzeros] */
    double *label;   /* [count] */
    double *square;  /* [count]: a row's product with itself */
    int64_t row_room, value_room;
} tutti_rows;

/* Append a row, and a value to the last row. NOMEM (logged). */
tutti_status tutti_rows_add(tutti_rows *rows, double label);
tutti_status tutti_rows_put(tutti_rows *rows, uint32_t index, double value);
/* Removes the last row. */
void tutti_rows_drop(tutti_rows *rows);
/* Appends row r of another object. NOMEM (logged). */
tutti_status tutti_rows_copy(tutti_rows *to, const tutti_rows *from, int64_t r);
/* Keeps the rows which[0] < which[1] < ... alone. */
void tutti_rows_keep(tutti_rows *rows, int64_t count, const int64_t which[]);
void tutti_rows_clear(tutti_rows *rows);
void tutti_rows_free(tutti_rows *rows);

static inline size_t tutti_rows_element(const tutti_rows *rows)
{
    return rows->floats ? sizeof(float) : sizeof(double);
}
static inline double tutti_rows_value(const tutti_rows *rows, int64_t k)
{
    return rows->floats ? (double)((const float *)rows->value)[k]
                        : ((const double *)rows->value)[k];
}
/* The values of row r, and the bytes of a row with that many of them. */
static inline int64_t tutti_rows_nonzeros(const tutti_rows *rows, int64_t r)
{
    return rows->first[r + 1] - rows->first[r];
}
static inline size_t tutti_rows_bytes(const tutti_rows *rows, int64_t nonzeros)
{
    return (size_t)nonzeros * (sizeof *rows->index + tutti_rows_element(rows));
}
/* Writes row r without its label; returns where the next begins. */
char *tutti_rows_write(const tutti_rows *rows, int64_t r, char *to);
/* Appends such a row. NULL: NOMEM (logged). */
const char *tutti_rows_read(tutti_rows *rows, double label, int64_t nonzeros, const char *from);

#endif
