/* The method `pair`: in each round the two samples that violate most change their multipliers. One collective
 * a round, which finds them and brings their rows to all ranks. Source: arXiv:1406.5161, section 3; with
 * one allreduce of a record in place of its two allreduces and two broadcasts. */
#include "apps/svm/solve_parts.h"

#include <math.h>
#include <string.h>

/* The sample of least f that is up and the one of largest f that is low. Behind it: their two rows, padded. */
typedef struct record {
    tutti_svm_member member[2]; /* the up one and the low one; id -1: none */
    int64_t active, most, wish;
    int64_t row_bytes; /* room of a row */
} record;

static char *row_of(const record *r, int which)
{
    return (char *)(r + 1) + (size_t)which * (size_t)r->row_bytes;
}

/* Whether the right one's up (low) sample is worse than the left one's. */
static int is_right(const record *a, const record *b, int low)
{
    const tutti_svm_member *x = &a->member[low], *y = &b->member[low];
    if (y->id < 0 || x->id < 0) return x->id < 0 && y->id >= 0;
    if (x->f != y->f) return low ? y->f > x->f : y->f < x->f;
    return y->id < x->id;
}

void tutti_svm_record_combine(const void *left, const void *right, void *result, size_t bytes)
{
    const record *a = left, *b = right;
    if (bytes < sizeof *a || bytes != sizeof *a + 2 * (size_t)a->row_bytes ||
        a->row_bytes != b->row_bytes)
        return;
    record head = *a;
    head.active = a->active + b->active;
    head.most = a->most > b->most ? a->most : b->most;
    head.wish = a->wish > b->wish ? a->wish : b->wish;
    for (int w = 0; w < 2; w++) {
        const record *from = is_right(a, b, w) ? b : a;
        head.member[w] = from->member[w];
        const size_t offset = (size_t)(row_of(from, w) - (const char *)from);
        memmove((char *)result + offset, (const char *)from + offset, (size_t)head.row_bytes);
    }
    memcpy(result, &head, sizeof head);
}

typedef struct pair {
    record *record;
    size_t bytes, row_bytes;
    tutti_rows rows; /* of the two */
} pair;

static void close_pair(tutti_svm_solver *s)
{
    pair *p = s->of_method;
    if (!p) return;
    tutti_rows_free(&p->rows);
    free(p->record);
    free(p);
    s->of_method = NULL;
}

static tutti_status open_pair(tutti_svm_solver *s)
{
    pair *p = s->of_method = tutti_svm_new(1, sizeof *p);
    const tutti_rows *rows = &s->home.rows;
    double most = 0;
    if (!p) return TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < rows->count; i++)
        most = fmax(most, (double)tutti_rows_nonzeros(rows, i));
    tutti_status status = tutti_svm_largest(s->problem.world, &most);
    if (status) return status;
    p->rows.floats = rows->floats;
    p->row_bytes = (tutti_rows_bytes(rows, (int64_t)most) + 7) / 8 * 8;
    p->bytes = sizeof(record) + 2 * p->row_bytes;
    p->record = tutti_svm_new(1, p->bytes);
    s->progress.survey_bytes = (int64_t)p->bytes;
    s->progress.combines = 1;
    return p->record ? TUTTI_OK : TUTTI_ERR_NOMEM;
}

static tutti_status survey(tutti_svm_solver *s)
{
    pair *p = s->of_method;
    const tutti_svm_samples *a = tutti_svm_working(s);
    record *r = p->record;
    int64_t at[2] = {-1, -1};
    for (int64_t i = 0; i < a->rows.count; i++) {
        const double y = a->rows.label[i], C = tutti_svm_C(s, y);
        if (tutti_svm_is_up(y, a->alpha[i], C) && (at[0] < 0 || a->f[i] < a->f[at[0]])) at[0] = i;
        if (tutti_svm_is_low(y, a->alpha[i], C) && (at[1] < 0 || a->f[i] > a->f[at[1]])) at[1] = i;
    }
    memset(r, 0, p->bytes);
    r->row_bytes = (int64_t)p->row_bytes;
    r->active = r->most = a->rows.count;
    r->wish = tutti_svm_own_wish(s);
    for (int w = 0; w < 2; w++) {
        r->member[w].id = -1;
        if (at[w] < 0) continue;
        r->member[w] = tutti_svm_samples_member(a, at[w]);
        tutti_rows_write(&a->rows, at[w], row_of(r, w));
    }
    tutti_status status = tutti_svm_combine_all(s->problem.world, r, p->bytes);
    if (status) return status;
    s->up = r->member[0].id < 0 ? INFINITY : r->member[0].f;
    s->low = r->member[1].id < 0 ? -INFINITY : r->member[1].f;
    s->wish = (tutti_svm_wish)r->wish;
    s->progress.active = r->active;
    s->progress.busiest = tutti_svm_busiest(r->most, r->active, s->problem.world->size);
    return TUTTI_OK;
}

static tutti_status advance(tutti_svm_solver *s)
{
    pair *p = s->of_method;
    tutti_svm_samples *a = tutti_svm_working(s);
    const tutti_svm_member *m = p->record->member;
    const int64_t id[2] = {m[0].id, m[1].id};
    double k[4], weight[2], alpha[2] = {m[0].alpha, m[1].alpha};
    tutti_rows_clear(&p->rows);
    for (int w = 0; w < 2; w++)
        if (!tutti_rows_read(&p->rows, m[w].y, m[w].nonzeros, row_of(p->record, w)))
            return TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_engine_matrix(s->engine, &p->rows, &p->rows, 2, k);
    if (status) return status;
    tutti_svm_step(s, m[0].y, &alpha[0], m[1].y, &alpha[1], m[1].f - m[0].f,
        tutti_svm_curvature(k[0], k[3], k[1]));
    for (int w = 0; w < 2; w++) {
        weight[w] = m[w].y * (alpha[w] - m[w].alpha);
        const int64_t i = tutti_svm_samples_find(a, id[w]);
        if (i >= 0) a->alpha[i] = alpha[w];
    }
    s->progress.steps++;
    return tutti_svm_engine_add(s->engine, &a->rows, &p->rows, id, weight, NULL, a->f);
}

const tutti_svm_method_ops tutti_svm_method_pair = {
    .open = open_pair, .close = close_pair, .survey = survey, .advance = advance};
