#include "apps/bench/svm_shape.h"

#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64, SEED = 7 };

/* Values of a row by ascending index. */
typedef struct row {
    int count, index[MOST];
    double value[MOST];
} row;

static void put(row *r, int index, double value)
{
    if (r->count == MOST || (r->count && r->index[r->count - 1] >= index)) return;
    r->index[r->count] = index;
    r->value[r->count++] = value;
}

static double draw(int64_t r, int k)
{
    return tutti_rng_uniform(SEED, 1, (uint64_t)r * MOST + (uint64_t)k);
}

static void draw_covtype(int64_t r, row *to)
{
    for (int k = 1; k <= 10; k++) put(to, k, draw(r, k));
    put(to, 11 + (int)(4 * draw(r, 11)), 1);
    put(to, 15 + (int)(40 * draw(r, 12) * draw(r, 13)), 1); /* some are frequent */
}

static void draw_higgs(int64_t r, row *to)
{
    for (int k = 1; k <= 28; k++)
        put(to, k, tutti_rng_normal(SEED, 2, (uint64_t)r * MOST + (uint64_t)k));
}

static void draw_real_sim(int64_t r, row *to)
{
    const double words = 30 + 40 * draw(r, 0);
    double square = 0;
    for (int k = 1; k <= words && k < MOST;
         k++) /* in a strip of the features each, most in the first */
        put(to, 1 + (int)(20958 * pow((k - draw(r, k)) / words, 3)), 0.2 + draw(r, MOST - k));
    for (int k = 0; k < to->count; k++) square += to->value[k] * to->value[k];
    for (int k = 0; k < to->count; k++) to->value[k] /= sqrt(square);
}

static const struct {
    const char *name;
    void (*draw)(int64_t, row *);
} shapes[] = {
    {"covtype", draw_covtype},
    {"real-sim", draw_real_sim},
    {"higgs", draw_higgs},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int find(const char *name)
{
    for (int s = 0; s < SHAPES; s++)
        if (!strcmp(shapes[s].name, name)) return s;
    return -1;
}

int tutti_svm_shape_is(const char *name)
{
    return find(name) >= 0;
}

/* A smooth function of the row that is not linear, and noise. */
static int label_of(int64_t number, const row *r)
{
    double a = 0, b = 0;
    for (int k = 0; k < r->count; k++) {
        a += r->value[k] * tutti_rng_normal(SEED, 3, (uint64_t)r->index[k]);
        b += r->value[k] * tutti_rng_normal(SEED, 4, (uint64_t)r->index[k]);
    }
    return a + b * b - 0.5 + 0.2 * tutti_rng_normal(SEED, 5, (uint64_t)number) > 0 ? 1 : -1;
}

tutti_status tutti_svm_shape_write(const char *name, int64_t rows, const char *path)
{
    const tutti_file_options options = {.what = "data", .path = path};
    FILE *out;
    tutti_status status = tutti_file_stream(&options, 0, &out);
    if (status) return status;
    for (int64_t i = 0; i < rows; i++) {
        row r = {0};
        shapes[find(name)].draw(i, &r);
        fprintf(out, "%d", label_of(i, &r));
        for (int k = 0; k < r.count; k++) fprintf(out, " %d:%.6g", r.index[k], r.value[k]);
        fprintf(out, "\n");
    }
    return ferror(out) | fclose(out) ? tutti_fail(TUTTI_ERR_IO, "%s could not be written", path)
                                     : TUTTI_OK;
}
