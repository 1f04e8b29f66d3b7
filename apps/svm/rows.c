#include "apps/svm/rows.h"

#include "apps/svm/memory.h"

#include <string.h>

tutti_status tutti_rows_add(tutti_rows *rows, double label)
{
    if (rows->count + 1 >= rows->row_room) {
        const int64_t room = rows->row_room * 3 / 2 + 64;
        tutti_status status = tutti_svm_widen(&rows->first, room, sizeof *rows->first);
        if (!status) status = tutti_svm_widen(&rows->label, room, sizeof *rows->label);
        if (!status) status = tutti_svm_widen(&rows->square, room, sizeof *rows->square);
        if (status) return status;
        rows->row_room = room;
    }
    rows->first[rows->count] = rows->nonzeros;
    rows->square[rows->count] = 0;
    rows->label[rows->count++] = label;
    rows->first[rows->count] = rows->nonzeros;
    return TUTTI_OK;
}

tutti_status tutti_rows_put(tutti_rows *rows, uint32_t index, double value)
{
    const int64_t k = rows->nonzeros;
    if (k == rows->value_room) {
        const int64_t room = rows->value_room * 3 / 2 + 1024;
        tutti_status status = tutti_svm_widen(&rows->index, room, sizeof *rows->index);
        if (!status) status = tutti_svm_widen(&rows->value, room, tutti_rows_element(rows));
        if (status) return status;
        rows->value_room = room;
    }
    rows->index[k] = index;
    if (rows->floats)
        ((float *)rows->value)[k] = (float)value;
    else
        ((double *)rows->value)[k] = value;
    value = tutti_rows_value(rows, k);
    rows->square[rows->count - 1] += value * value;
    rows->first[rows->count] = ++rows->nonzeros;
    if (index > rows->columns) rows->columns = index;
    return TUTTI_OK;
}

void tutti_rows_drop(tutti_rows *rows)
{
    rows->count--;
    rows->nonzeros = rows->first[rows->count];
}

tutti_status tutti_rows_copy(tutti_rows *to, const tutti_rows *from, int64_t r)
{
    tutti_status status = tutti_rows_add(to, from->label[r]);
    for (int64_t k = from->first[r]; k < from->first[r + 1] && !status; k++)
        status = tutti_rows_put(to, from->index[k], tutti_rows_value(from, k));
    return status;
}

void tutti_rows_keep(tutti_rows *rows, int64_t count, const int64_t which[])
{
    const size_t element = tutti_rows_element(rows);
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t r = which[i], from = rows->first[r], n = rows->first[r + 1] - from;
        if (n) {
            memmove(rows->index + at, rows->index + from, (size_t)n * sizeof *rows->index);
            memmove((char *)rows->value + (size_t)at * element,
                (char *)rows->value + (size_t)from * element, (size_t)n * element);
        }
        rows->label[i] = rows->label[r];
        rows->square[i] = rows->square[r];
        rows->first[i] = at;
        at += n;
    }
    rows->count = count;
    rows->nonzeros = at;
    if (rows->first) rows->first[count] = at;
}

void tutti_rows_clear(tutti_rows *rows)
{
    rows->count = rows->nonzeros = 0;
}

void tutti_rows_free(tutti_rows *rows)
{
    free(rows->first);
    free(rows->index);
    free(rows->value);
    free(rows->label);
    free(rows->square);
    *rows = (tutti_rows){.floats = rows->floats};
}

char *tutti_rows_write(const tutti_rows *rows, int64_t r, char *to)
{
    const size_t n = (size_t)tutti_rows_nonzeros(rows, r), element = tutti_rows_element(rows);
    if (!n) return to;
    memcpy(to, rows->index + rows->first[r], n * sizeof *rows->index);
    to += n * sizeof *rows->index;
    memcpy(to, (const char *)rows->value + (size_t)rows->first[r] * element, n * element);
    return to + n * element;
}

const char *tutti_rows_read(tutti_rows *rows, double label, int64_t nonzeros, const char *from)
{
    const char *values = from + (size_t)nonzeros * sizeof *rows->index;
    tutti_status status = tutti_rows_add(rows, label);
    for (int64_t k = 0; k < nonzeros && !status; k++) {
        uint32_t index;
        float single;
        double value;
        memcpy(&index, from + (size_t)k * sizeof index, sizeof index);
        memcpy(rows->floats ? (void *)&single : &value,
            values + (size_t)k * tutti_rows_element(rows), tutti_rows_element(rows));
        status = tutti_rows_put(rows, index, rows->floats ? (double)single : value);
    }
    return status ? NULL : from + tutti_rows_bytes(rows, nonzeros);
}
