#include "apps/svm/predict.h"

#include "apps/svm/engine.h"
#include "apps/svm/memory.h"
#include "apps/svm/read.h"
#include "apps/svm/same.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- decision values ---- */

enum { BATCH = 256 };

/* What the support vectors of a class add to the values of a pair. Row `of` of the coefficients is that of the
 * other class. */
static void add_class(const tutti_svm_model *m, int64_t of, int64_t begin, int64_t end,
    const double kernel[], int64_t rows, double to[])
{
    const double *coefficient = m->coefficient + of * m->rows.count;
    for (int64_t v = begin; v < end; v++) {
        const double x = coefficient[v], *k = kernel + v * BATCH;
        for (int64_t r = 0; r < rows && x != 0; r++) to[r] += x * k[r];
    }
}

/* Decision values of up to BATCH rows, from their kernel values with the support vectors. */
static void add_kernel_values(
    const tutti_svm_model *m, const double kernel[], int64_t rows, double value[], int64_t stride)
{
    double *to = value;
    for (int64_t i = 0, p = 0, begin_i = 0; i < m->classes; begin_i += m->support[i++])
        for (int64_t j = i + 1, begin_j = begin_i + m->support[i]; j < m->classes;
             begin_j += m->support[j++], p++, to += stride) {
            for (int64_t r = 0; r < rows; r++) to[r] = -m->rho[p];
            add_class(m, j - 1, begin_i, begin_i + m->support[i], kernel, rows, to);
            add_class(m, i, begin_j, begin_j + m->support[j], kernel, rows, to);
        }
}

tutti_status tutti_svm_decide(
    tutti_svm_world *world, const tutti_svm_model *m, const tutti_rows *rows, double value[])
{
    tutti_svm_engine *engine = NULL;
    const tutti_svm_engine_options options = {.kernel = m->kernel,
        .columns = rows->columns > m->rows.columns ? rows->columns : m->rows.columns,
        .rows = rows->count};
    double *kernel = tutti_svm_new(m->rows.count * BATCH, sizeof *kernel);
    tutti_status status = kernel ? tutti_svm_engine_new(world, &options, &engine) : TUTTI_ERR_NOMEM;
    for (int64_t from = 0; from < rows->count && !status; from += BATCH) {
        tutti_rows some = *rows;
        some.first += from;
        some.square += from;
        some.count = rows->count - from < BATCH ? rows->count - from : BATCH;
        status = tutti_svm_engine_matrix(engine, &some, &m->rows, BATCH, kernel);
        if (!status) add_kernel_values(m, kernel, some.count, value + from, rows->count);
    }
    tutti_svm_engine_free(engine);
    free(kernel);
    return status;
}

int tutti_svm_elect(int classes, const uint16_t votes[])
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (votes[c] > votes[best]) best = c;
    return best;
}

int tutti_svm_vote(int classes, const double value[], int64_t stride)
{
    uint16_t votes[TUTTI_SVM_CLASSES] = {0};
    for (int i = 0, p = 0; i < classes; i++)
        for (int j = i + 1; j < classes; j++, p++) votes[value[p * stride] > 0 ? i : j]++;
    return tutti_svm_elect(classes, votes);
}

/* ---- probabilities ---- */

double tutti_svm_sigmoid(double value, double a, double b)
{
    const double x = value * a + b;
    return x >= 0 ? exp(-x) / (1 + exp(-x)) : 1 / (1 + exp(x));
}

/* p becomes the point where Q p is constant: a fixed point iteration that ends when no class is off by more
 * than 0.5 % of 1 / classes. */
static void couple(int k, const double *Q, double *Qp, double p[])
{
    const double enough = 0.005 / k;
    for (int c = 0; c < k; c++) p[c] = 1.0 / k;
    for (int round = 0; round < (k > 100 ? k : 100); round++) {
        double pQp = 0, error = 0;
        for (int t = 0; t < k; t++) {
            Qp[t] = 0;
            for (int j = 0; j < k; j++) Qp[t] += Q[t * k + j] * p[j];
            pQp += p[t] * Qp[t];
        }
        for (int t = 0; t < k; t++) error = fmax(error, fabs(Qp[t] - pQp));
        if (error < enough) return;
        for (int t = 0; t < k; t++) {
            const double more = (-Qp[t] + pQp) / Q[t * k + t];
            p[t] += more;
            pQp = (pQp + more * (more * Q[t * k + t] + 2 * Qp[t])) / (1 + more) / (1 + more);
            for (int j = 0; j < k; j++) {
                Qp[j] = (Qp[j] + more * Q[t * k + j]) / (1 + more);
                p[j] /= 1 + more;
            }
        }
    }
}

tutti_status tutti_svm_probabilities(
    const tutti_svm_model *m, const double value[], int64_t stride, double probability[])
{
    static const double least = 1e-7;
    const int k = m->classes;
    double *r = tutti_svm_new(2 * k * k + k, sizeof *r);
    if (!r) return TUTTI_ERR_NOMEM;
    double *Q = r + k * k, *Qp = Q + k * k;
    for (int i = 0, p = 0; i < k; i++)
        for (int j = i + 1; j < k; j++, p++) {
            const double x = tutti_svm_sigmoid(value[p * stride], m->a[p], m->b[p]);
            r[i * k + j] = fmin(fmax(x, least), 1 - least);
            r[j * k + i] = 1 - r[i * k + j];
        }
    if (k == 2) {
        probability[0] = r[1];
        probability[1] = r[2];
        free(r);
        return TUTTI_OK;
    }
    for (int t = 0; t < k; t++)
        for (int j = 0; j < k; j++) {
            if (j == t) continue;
            Q[t * k + t] += r[j * k + t] * r[j * k + t];
            Q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    couple(k, Q, Qp, probability);
    free(r);
    return TUTTI_OK;
}

/* -log likelihood of the targets. */
static double likelihood(int64_t n, const double value[], const double target[], double a, double b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = value[i] * a + b;
        sum += x >= 0 ? target[i] * x + log(1 + exp(-x)) : (target[i] - 1) * x + log(1 + exp(x));
    }
    return sum;
}

typedef struct newton {
    double h11, h22, h21, g1, g2;
} newton;

static newton differentiate(
    int64_t n, const double value[], const double target[], double a, double b)
{
    newton d = {.h11 = 1e-12, .h22 = 1e-12};
    for (int64_t i = 0; i < n; i++) {
        const double p = tutti_svm_sigmoid(value[i], a, b), q = 1 - p;
        const double d2 = p * q, d1 = target[i] - p;
        d.h11 += value[i] * value[i] * d2;
        d.h22 += d2;
        d.h21 += value[i] * d2;
        d.g1 += value[i] * d1;
        d.g2 += d1;
    }
    return d;
}

tutti_status tutti_svm_fit_sigmoid(
    int64_t n, const double value[], const double y[], double *a, double *b)
{
    double positive = 0, *target = tutti_svm_new(n, sizeof *target);
    if (!target) return TUTTI_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++) positive += y[i] > 0;
    const double negative = (double)n - positive;
    for (int64_t i = 0; i < n; i++)
        target[i] = y[i] > 0 ? (positive + 1) / (positive + 2) : 1 / (negative + 2);
    *a = 0;
    *b = log((negative + 1) / (positive + 1));
    double now = likelihood(n, value, target, *a, *b);
    for (int round = 0; round < 100; round++) {
        const newton d = differentiate(n, value, target, *a, *b);
        if (fabs(d.g1) < 1e-5 && fabs(d.g2) < 1e-5) break;
        const double det = d.h11 * d.h22 - d.h21 * d.h21;
        const double da = -(d.h22 * d.g1 - d.h21 * d.g2) / det,
                     db = -(-d.h21 * d.g1 + d.h11 * d.g2) / det;
        const double slope = d.g1 * da + d.g2 * db;
        double step = 1, next = 0;
        for (; step >= 1e-10; step /= 2) {
            next = likelihood(n, value, target, *a + step * da, *b + step * db);
            if (next < now + 1e-4 * step * slope) break;
        }
        if (step < 1e-10) break;
        *a += step * da;
        *b += step * db;
        now = next;
    }
    free(target);
    return TUTTI_OK;
}

/* ---- files ---- */

/* The class of one row, and what svm-predict writes of it. */
static tutti_status print_row(const tutti_svm_model *m, int probability, const double value[],
    int64_t stride, double p[], FILE *out, int64_t *label)
{
    int best = tutti_svm_vote(m->classes, value, stride);
    tutti_status status = probability ? tutti_svm_probabilities(m, value, stride, p) : TUTTI_OK;
    if (probability && !status) best = 0;
    for (int c = 1; c < m->classes && probability && !status; c++)
        if (p[c] > p[best]) best = c;
    *label = m->label[best];
    fprintf(out, "%" PRId64, *label);
    for (int c = 0; probability && c < m->classes; c++) fprintf(out, " %g", p[c]);
    fprintf(out, "\n");
    return status;
}

/* At most `count` rows, from `first` on. */
static tutti_rows rows_from(const tutti_rows *rows, int64_t first, int64_t count)
{
    tutti_rows some = *rows;
    some.first += first;
    some.square += first;
    some.label += first;
    some.count = rows->count - first < count ? rows->count - first : count;
    return some;
}

/* Decision values of rows as they are in the file: the model may scale them first. */
static tutti_status scale_and_decide(
    tutti_svm_world *world, const tutti_svm_model *m, const tutti_rows *rows, double value[])
{
    if (!tutti_svm_scaling_is_set(&m->scaling)) return tutti_svm_decide(world, m, rows, value);
    tutti_rows scaled = {0};
    tutti_status status = TUTTI_OK;
    for (int64_t r = 0; r < rows->count && !status; r++)
        status = tutti_svm_scaling_add(&m->scaling, rows, r, &scaled);
    if (!status) status = tutti_svm_decide(world, m, &scaled, value);
    tutti_rows_free(&scaled);
    return status;
}

/* How many rows are decided at a time. Many classes have many pairs, whose values take up to 64 MB. Scaled rows may
 * have many values: up to 24 MB, or a batch. */
static int64_t rows_at_once(const tutti_svm_model *m, const tutti_rows *all)
{
    enum { VALUES = 8 << 20, SCALED = 2 << 20 };
    const int64_t fit = VALUES / tutti_svm_pairs(m->classes) + 1;
    const int64_t each =
        m->scaling.filled + all->nonzeros / (all->count + 1) + 1; /* values of a scaled row */
    const int64_t few = SCALED / each, scaled = few > BATCH ? few : BATCH;
    const int64_t rows = fit < all->count ? fit : all->count;
    return tutti_svm_scaling_is_set(&m->scaling) && scaled < rows ? scaled : rows;
}

/* This rank's lines; rank 0 also has the first one of a file with probabilities. */
static tutti_status predict_all(tutti_svm_world *world, const tutti_svm_model *m, int probability,
    const tutti_rows *rows, FILE *out, int64_t *right)
{
    const int64_t pairs = tutti_svm_pairs(m->classes), most = rows_at_once(m, rows);
    double *p = tutti_svm_new(m->classes, sizeof *p),
           *value = tutti_svm_new(most * pairs, sizeof *value);
    tutti_status status = p && value ? TUTTI_OK : TUTTI_ERR_NOMEM;
    if (probability && !world->rank) {
        fprintf(out, "labels");
        for (int c = 0; c < m->classes; c++) fprintf(out, " %" PRId64, m->label[c]);
        fprintf(out, "\n");
    }
    *right = 0;
    for (int64_t first = 0; first < rows->count && !status; first += most) {
        const tutti_rows some = rows_from(rows, first, most);
        status = scale_and_decide(world, m, &some, value);
        for (int64_t r = 0; r < some.count && !status; r++) {
            int64_t label = 0;
            status = print_row(m, probability, value + r, some.count, p, out, &label);
            *right += (double)label == some.label[r];
        }
    }
    free(p);
    free(value);
    return status;
}

tutti_status tutti_svm_predict(
    tutti_svm_world *world, const tutti_svm_predict_options *o, int64_t *right, int64_t *count)
{
    tutti_svm_model m = {0};
    tutti_rows rows = {0};
    tutti_svm_output output;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tutti_status status = tutti_svm_output_try(world, "predictions", o->to);
    if (!status) status = out ? tutti_svm_model_read(o->model, &m) : tutti_svm_no_memory(1, 1);
    if (!status && o->probability && !m.a)
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "the model %s has no probabilities: train it with --probability", o->model);
    status = tutti_svm_agree(world, status);
    if (!status) status = tutti_svm_same_file(world, "the model", o->model);
    if (!status) status = tutti_svm_read(world, o->data, &rows);
    if (!status) status = predict_all(world, &m, o->probability, &rows, out, right);
    if (out && fclose(out) && !status) status = tutti_svm_no_memory(1, bytes);
    status = tutti_svm_agree(world, status);
    *count = rows.count;
    if (!status) status = tutti_svm_sum(world, right);
    if (!status) status = tutti_svm_sum(world, count);
    if (!status && o->to) {
        status = tutti_svm_output_begin(world, "predictions", o->to, &output);
        if (!status)
            status = tutti_svm_output_end(&output, tutti_svm_output_write(&output, text, bytes));
    }
    free(text);
    tutti_rows_free(&rows);
    tutti_svm_model_free(&m);
    return status;
}
