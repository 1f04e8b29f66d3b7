/* Eliminated samples come back: their f is computed anew from all support vectors, which travel round a ring
 * of ranks in blocks of whatever size each rank has. Sums are exact, so that the order in which blocks come
 * does not matter. Source: arXiv:1406.5161, section 4.3 (gradient reconstruction). */
#include "apps/svm/solve_parts.h"

typedef struct block {
    char *bytes;
    int64_t size;
} block;

/* The support vectors of these samples as bytes. */
static int64_t write_support(const tutti_svm_samples *a, char *to)
{
    int64_t size = 0;
    for (int64_t i = 0; i < a->rows.count; i++) {
        if (a->alpha[i] <= 0) continue;
        size += (int64_t)tutti_svm_samples_bytes(a, i);
        if (to) to = tutti_svm_samples_write(a, i, to);
    }
    return size;
}

enum { BATCH = 256 };

/* Adds one block's contributions. */
static tutti_status add_block(tutti_svm_engine *engine, const block *b, const tutti_rows *rows,
    const tutti_svm_exact *exact, double sum[])
{
    tutti_svm_samples members = {.rows.floats = rows->floats};
    double weight[BATCH];
    tutti_status status = TUTTI_OK;
    for (const char *at = b->bytes, *end = at + b->size; at < end && !status;) {
        tutti_rows_clear(&members.rows);
        while (at && at < end && members.rows.count < BATCH)
            at = tutti_svm_samples_read(&members, at);
        for (int64_t j = 0; j < members.rows.count; j++)
            weight[j] = members.alpha[j] * members.rows.label[j];
        status = at ? tutti_svm_engine_add(engine, rows, &members.rows, NULL, weight, exact, sum)
                    : TUTTI_ERR_NOMEM;
    }
    tutti_svm_samples_free(&members);
    return status;
}

/* One step of the ring: the block travels on while it is added. */
static tutti_status add_and_pass_on(tutti_svm_world *world, tutti_svm_engine *engine, block *here,
    block *next, const tutti_rows *rows, const tutti_svm_exact *exact, double sum[])
{
    tutti_status status = tutti_svm_shift(world, here->bytes, here->size, next->bytes, next->size);
    if (status) return status;
    status = add_block(engine, here, rows, exact, sum);
    tutti_status shifted = tutti_svm_shifted(world);
    const block passed = *here;
    *here = *next;
    *next = passed;
    return status ? status : shifted;
}

tutti_status tutti_svm_ring(tutti_svm_world *world, tutti_svm_engine *engine,
    const tutti_svm_samples *samples, const tutti_rows *rows, double bound, double sum[])
{
    const tutti_svm_exact exact = {
        .bound = bound, .rest = tutti_svm_new(rows->count, sizeof(double))};
    int64_t *size = tutti_svm_new(world->size, sizeof *size), largest = 0;
    block here = {.size = write_support(samples, NULL)}, next = {0};
    tutti_status status = size && exact.rest ? TUTTI_OK : TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather(world, &here.size, sizeof here.size, size);
    for (int r = 0; r < world->size && !status; r++)
        if (size[r] > largest) largest = size[r];
    here.bytes = tutti_svm_new(largest, 1);
    next.bytes = world->size > 1 ? tutti_svm_new(largest, 1) : NULL;
    if (!here.bytes || (world->size > 1 && !next.bytes)) status = TUTTI_ERR_NOMEM;
    if (!status) write_support(samples, here.bytes);
    for (int step = 0; step + 1 < world->size && !status; step++) {
        next.size = size[(world->rank + 2 * world->size - step - 1) % world->size];
        status = add_and_pass_on(world, engine, &here, &next, rows, &exact, sum);
    }
    if (!status) status = add_block(engine, &here, rows, &exact, sum);
    for (int64_t i = 0; i < rows->count && !status; i++) sum[i] += exact.rest[i];
    free(here.bytes);
    free(next.bytes);
    free(exact.rest);
    free(size);
    return status;
}

tutti_status tutti_svm_rebuild(tutti_svm_solver *s)
{
    tutti_svm_samples *h = &s->home;
    tutti_rows rows = {.floats = h->rows.floats};
    double *sum = tutti_svm_new(h->rows.count, sizeof *sum);
    tutti_status status = sum ? tutti_svm_bring_home(s) : TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < h->rows.count && !status; i++)
        if (s->out[i]) status = tutti_rows_copy(&rows, &h->rows, i);
    const double C = s->problem.C[0] > s->problem.C[1] ? s->problem.C[0] : s->problem.C[1];
    const double bound = C * s->problem.largest * (double)s->progress.total;
    if (!status) status = tutti_svm_ring(s->problem.world, s->engine, h, &rows, bound, sum);
    for (int64_t i = 0, r = 0; i < h->rows.count && !status; i++)
        if (s->out[i]) h->f[i] = sum[r++] - h->rows.label[i];
    free(sum);
    tutti_rows_free(&rows);
    if (status) return status;
    tutti_rows_clear(&s->active.rows);
    s->eliminated = 0;
    tutti_svm_engine_renew(s->engine, h->rows.count);
    return TUTTI_OK;
}
