#include "apps/svm/samples.h"

#include "apps/svm/memory.h"

#include <string.h>

/* Room for one more, whose row was added, or is to be. */
static tutti_status add_numbers(tutti_svm_samples *s, int64_t i, int64_t id, double alpha, double f)
{
    if (i >= s->room) {
        const int64_t room = s->room * 3 / 2 + 64;
        tutti_status status = tutti_svm_widen(&s->id, room, sizeof *s->id);
        if (!status) status = tutti_svm_widen(&s->alpha, room, sizeof *s->alpha);
        if (!status) status = tutti_svm_widen(&s->f, room, sizeof *s->f);
        if (status) return status;
        s->room = room;
    }
    s->id[i] = id;
    s->alpha[i] = alpha;
    s->f[i] = f;
    return TUTTI_OK;
}

tutti_status tutti_svm_samples_add(
    tutti_svm_samples *to, int64_t id, int y, const tutti_rows *rows, int64_t r)
{
    const int64_t i = to->rows.count;
    tutti_status status = add_numbers(to, i, id, 0, -y);
    if (!status) status = tutti_rows_copy(&to->rows, rows, r);
    if (!status) to->rows.label[i] = y;
    return status;
}

tutti_status tutti_svm_samples_copy(tutti_svm_samples *to, const tutti_svm_samples *from, int64_t i)
{
    tutti_status status = add_numbers(to, to->rows.count, from->id[i], from->alpha[i], from->f[i]);
    return status ? status : tutti_rows_copy(&to->rows, &from->rows, i);
}

tutti_svm_member tutti_svm_samples_member(const tutti_svm_samples *s, int64_t i)
{
    return (tutti_svm_member){.id = s->id[i],
        .alpha = s->alpha[i],
        .f = s->f[i],
        .y = (int32_t)s->rows.label[i],
        .nonzeros = (int32_t)tutti_rows_nonzeros(&s->rows, i)};
}

const char *tutti_svm_samples_append(
    tutti_svm_samples *to, const tutti_svm_member *m, const char *row)
{
    if (add_numbers(to, to->rows.count, m->id, m->alpha, m->f)) return NULL;
    return tutti_rows_read(&to->rows, m->y, m->nonzeros, row);
}

size_t tutti_svm_samples_bytes(const tutti_svm_samples *s, int64_t i)
{
    return sizeof(tutti_svm_member) + tutti_rows_bytes(&s->rows, tutti_rows_nonzeros(&s->rows, i));
}

char *tutti_svm_samples_write(const tutti_svm_samples *s, int64_t i, char *to)
{
    const tutti_svm_member m = tutti_svm_samples_member(s, i);
    memcpy(to, &m, sizeof m);
    return tutti_rows_write(&s->rows, i, to + sizeof m);
}

const char *tutti_svm_samples_read(tutti_svm_samples *to, const char *from)
{
    tutti_svm_member m;
    memcpy(&m, from, sizeof m);
    return tutti_svm_samples_append(to, &m, from + sizeof m);
}

int64_t tutti_svm_samples_find(const tutti_svm_samples *s, int64_t id)
{
    int64_t low = 0, high = s->rows.count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->rows.count && s->id[low] == id ? low : -1;
}

void tutti_svm_samples_keep(tutti_svm_samples *s, int64_t count, const int64_t which[])
{
    tutti_rows_keep(&s->rows, count, which);
    for (int64_t i = 0; i < count; i++) {
        s->id[i] = s->id[which[i]];
        s->alpha[i] = s->alpha[which[i]];
        s->f[i] = s->f[which[i]];
    }
}

void tutti_svm_samples_free(tutti_svm_samples *s)
{
    tutti_rows_free(&s->rows);
    free(s->id);
    free(s->alpha);
    free(s->f);
    *s = (tutti_svm_samples){.rows.floats = s->rows.floats};
}
