#include "apps/svm/train.h"

#include "apps/svm/memory.h"
#include "apps/svm/predict.h"
#include "apps/svm/solve.h"
#include "apps/svm/solve_parts.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A problem of two classes on part of the rows: +1, -1, or 0 for rows that take no part. */
typedef struct sides {
    signed char *train, *test; /* [rows]; test NULL: none */
    double C[2];
} sides;

static tutti_status new_sides(int64_t rows, sides *s)
{
    s->train = tutti_svm_new(rows, 1);
    s->test = tutti_svm_new(rows, 1);
    return s->train && s->test ? TUTTI_OK : TUTTI_ERR_NOMEM;
}

static void free_sides(sides *s)
{
    free(s->train);
    free(s->test);
}

/* ---- one pair ---- */

/* The most that a kernel value can be, and whether values need double precision. FORMAT (logged), on all ranks: not
 * even that holds them, with their squares and sums. */
static tutti_status bound_kernel(
    const tutti_svm_training *t, const tutti_rows *rows, int *doubles, double *largest)
{
    static const double most_float = 1e30, most_double = 1e150;
    const tutti_svm_kernel *k = &t->settings.kernel;
    double most = 0;
    for (int64_t r = 0; r < rows->count; r++) most = fmax(most, rows->square[r]);
    tutti_status status = tutti_svm_largest(t->world, &most);
    *doubles = tutti_svm_needs_doubles(k, most);
    *largest = k->kind == TUTTI_SVM_LINEAR ? most
               : k->kind == TUTTI_SVM_POLYNOMIAL
                   ? pow(fabs(k->gamma) * most + fabs(k->coef0), k->degree)
                   : 1;
    if (*largest > most_float || most > most_float) *doubles = 1;
    if (!status && most >= most_double)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "a row's product with itself is as large as %g: scale the data (--scale)", most);
    if (status || *largest < most_double) return status;
    return tutti_fail(TUTTI_ERR_FORMAT,
        "kernel values may be as large as %g: scale the data (--scale), or choose a smaller "
        "--gamma or --degree",
        *largest);
}

/* This rank's samples of the pair, numbered over all ranks. */
static tutti_status make_samples(tutti_svm_world *world, const tutti_rows *rows,
    const signed char side[], tutti_svm_samples *samples)
{
    int64_t mine = 0, id, all;
    for (int64_t r = 0; r < rows->count; r++) mine += side[r] != 0;
    tutti_status status = tutti_svm_place(world, mine, &id, &all);
    for (int64_t r = 0; r < rows->count && !status; r++)
        if (side[r]) status = tutti_svm_samples_add(samples, id++, side[r], rows, r);
    return status;
}

/* Decision values of the rows of side->test, in value[rows]. */
static tutti_status decide(const tutti_svm_training *t, const tutti_rows *rows, const sides *side,
    const tutti_svm_samples *samples, const tutti_svm_result *result, double largest,
    double value[])
{
    const tutti_svm_engine_options options = {.kernel = t->settings.kernel,
        .floats = samples->rows.floats,
        .columns = rows->columns,
        .rows = rows->count};
    tutti_rows test = {.floats = samples->rows.floats};
    tutti_svm_engine *engine = NULL;
    double *sum = tutti_svm_new(rows->count, sizeof *sum);
    tutti_status status = sum ? tutti_svm_engine_new(t->world, &options, &engine) : TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < rows->count && !status; r++)
        if (side->test[r]) status = tutti_rows_copy(&test, rows, r);
    const double bound = fmax(side->C[0], side->C[1]) * largest * (double)result->progress.total;
    if (!status) status = tutti_svm_ring(t->world, engine, samples, &test, bound, sum);
    for (int64_t r = 0, k = 0; r < rows->count && !status; r++)
        if (side->test[r]) value[r] = sum[k++] - result->rho;
    free(sum);
    tutti_svm_engine_free(engine);
    tutti_rows_free(&test);
    return status;
}

/* Trains; and the decision values of side->test, unless that is NULL. */
static tutti_status train_pair(const tutti_svm_training *t, const tutti_rows *rows,
    const sides *side, tutti_svm_samples *samples, tutti_svm_result *result, double value[])
{
    tutti_svm_problem problem = {.world = t->world,
        .settings = t->settings,
        .C = {side->C[0], side->C[1]},
        .columns = rows->columns,
        .watcher = t->watcher};
    tutti_svm_solver *solver = NULL;
    int doubles;
    tutti_status status = bound_kernel(t, rows, &doubles, &problem.largest);
    *samples = (tutti_svm_samples){.rows.floats = !doubles};
    if (!status) status = make_samples(t->world, rows, side->train, samples);
    if (!status) status = tutti_svm_solver_new(&problem, samples, &solver);
    if (!status) status = tutti_svm_solver_run(solver, result);
    tutti_svm_solver_free(solver, samples);
    if (status || !side->test) return status;
    return decide(t, rows, side, samples, result, problem.largest, value);
}

/* ---- folds ---- */

/* The fold of each row: rows of a class are assigned in blocks of `folds`, each block in an order of its
 * own. The same for any number of ranks. */
static tutti_status draw_folds(const tutti_svm_training *t, const tutti_rows *rows,
    const int class_of[], int classes, int folds, int fold[])
{
    int64_t *next = tutti_svm_new(classes, sizeof *next), all;
    tutti_status status = next ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < rows->count && !status; r++)
        if (class_of[r] >= 0) next[class_of[r]]++;
    for (int c = 0; c < classes && !status; c++)
        status = tutti_svm_place(t->world, next[c], &next[c], &all);
    for (int64_t r = 0; r < rows->count && !status; r++) {
        const int c = class_of[r];
        if (c < 0) continue;
        const int64_t block = next[c] / folds;
        int order[1024], at = (int)(next[c]++ % folds);
        for (int f = 0; f < folds; f++) order[f] = f;
        for (int f = folds - 1; f > 0; f--) {
            const uint64_t index = (uint64_t)block * 1024 + (uint64_t)f;
            const uint64_t other =
                tutti_rng_below(t->seed, (uint64_t)c + 1, index, (uint64_t)f + 1);
            const int swap = order[f];
            order[f] = order[other];
            order[other] = swap;
        }
        fold[r] = order[at];
    }
    free(next);
    return status;
}

/* Where a fold leaves a class without samples, the other one is always right. */
static tutti_status train_or_guess(
    const tutti_svm_training *t, const tutti_rows *rows, const sides *s, double value[])
{
    int64_t positive = 0, negative = 0;
    tutti_svm_samples samples = {0};
    tutti_svm_result result;
    for (int64_t r = 0; r < rows->count; r++) {
        positive += s->train[r] > 0;
        negative += s->train[r] < 0;
    }
    tutti_status status = tutti_svm_sum(t->world, &positive);
    if (!status) status = tutti_svm_sum(t->world, &negative);
    if (!status && positive && negative)
        status = train_pair(t, rows, s, &samples, &result, value);
    else
        for (int64_t r = 0; r < rows->count && !status; r++)
            if (s->test[r]) value[r] = positive ? 1 : negative ? -1 : 0;
    tutti_svm_samples_free(&samples);
    return status;
}

/* ---- probabilities ---- */

enum { PROBABILITY_FOLDS = 5 };

/* Decision values of all ranks' rows in `side`, then their sides, in the order of rows: all[2][n]. */
static tutti_status gather_decisions(tutti_svm_world *world, int64_t rows, const signed char side[],
    const double value[], double **all, int64_t *n)
{
    int64_t mine = 0, before, *bytes = tutti_svm_new(world->size, sizeof *bytes);
    double *own = tutti_svm_new(2 * rows, sizeof *own);
    tutti_status status = bytes && own ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < rows && !status; r++)
        if (side[r]) {
            own[mine] = value[r];
            own[rows + mine++] = side[r];
        }
    const int64_t own_bytes = mine * (int64_t)sizeof *own;
    if (!status) status = tutti_svm_place(world, mine, &before, n);
    if (!status) status = tutti_svm_gather(world, &own_bytes, sizeof own_bytes, bytes);
    if (!status && !(*all = tutti_svm_new(2 * *n, sizeof **all))) status = TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather_counts(world, own, bytes, *all);
    if (!status) status = tutti_svm_gather_counts(world, own + rows, bytes, *all + *n);
    free(bytes);
    free(own);
    return status;
}

/* As svm-train -b 1: decision values from five trainings on parts of the pair's rows. */
static tutti_status fit_probability(
    const tutti_svm_training *t, const tutti_rows *rows, const sides *pair, double *a, double *b)
{
    const int64_t n = rows->count;
    sides s = {.C = {pair->C[0], pair->C[1]}};
    double *value = tutti_svm_new(n, sizeof *value), *all = NULL;
    int *fold = tutti_svm_new(n, sizeof *fold), *class_of = tutti_svm_new(n, sizeof *class_of);
    int64_t count = 0;
    tutti_status status = new_sides(n, &s);
    if (!value || !fold || !class_of) status = TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < n && !status; r++)
        class_of[r] = pair->train[r] ? pair->train[r] > 0 : -1;
    if (!status) status = draw_folds(t, rows, class_of, 2, PROBABILITY_FOLDS, fold);
    for (int f = 0; f < PROBABILITY_FOLDS && !status; f++) {
        for (int64_t r = 0; r < n; r++) {
            s.train[r] = fold[r] == f ? 0 : pair->train[r];
            s.test[r] = fold[r] == f ? pair->train[r] : 0;
        }
        status = train_or_guess(t, rows, &s, value);
    }
    if (!status) status = gather_decisions(t->world, n, pair->train, value, &all, &count);
    if (!status) status = tutti_svm_fit_sigmoid(count, all, all + count, a, b);
    free_sides(&s);
    free(value);
    free(fold);
    free(class_of);
    free(all);
    return status;
}

/* ---- all pairs ---- */

static double weight_of(const tutti_svm_training *t, int64_t label)
{
    for (int w = 0; w < t->weights; w++)
        if (t->weight_label[w] == label) return t->weight[w];
    return 1;
}

static void set_sides(
    const tutti_svm_training *t, const tutti_svm_classes *k, int64_t rows, int i, int j, sides *s)
{
    for (int64_t r = 0; r < rows; r++) s->train[r] = k->of[r] == i ? 1 : k->of[r] == j ? -1 : 0;
    s->C[1] = t->C * weight_of(t, k->label[i]);
    s->C[0] = t->C * weight_of(t, k->label[j]);
}

tutti_status tutti_svm_machine_new(
    const tutti_svm_classes *classes, int64_t rows, int probability, tutti_svm_machine *m)
{
    const int64_t pairs = tutti_svm_pairs(classes->count);
    *m = (tutti_svm_machine){.classes = classes->count,
        .rows = rows,
        .coefficient = tutti_svm_new((classes->count - 1) * rows, sizeof(double)),
        .rho = tutti_svm_new(pairs, sizeof(double)),
        .a = probability ? tutti_svm_new(pairs, sizeof(double)) : NULL,
        .b = probability ? tutti_svm_new(pairs, sizeof(double)) : NULL,
        .result = tutti_svm_new(pairs, sizeof(tutti_svm_result))};
    if (m->coefficient && m->rho && m->result && (!probability || (m->a && m->b))) return TUTTI_OK;
    tutti_svm_machine_free(m);
    return TUTTI_ERR_NOMEM;
}

void tutti_svm_machine_free(tutti_svm_machine *m)
{
    free(m->coefficient);
    free(m->rho);
    free(m->a);
    free(m->b);
    free(m->result);
    *m = (tutti_svm_machine){0};
}

tutti_status tutti_svm_train(const tutti_svm_training *t, const tutti_rows *rows,
    const tutti_svm_classes *classes, tutti_svm_machine *m)
{
    sides s = {.train = tutti_svm_new(rows->count, 1)};
    tutti_status status = s.train ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int i = 0, p = 0; i < classes->count && !status; i++)
        for (int j = i + 1; j < classes->count && !status; j++, p++) {
            tutti_svm_samples samples = {0};
            if (p < m->pairs) continue;
            set_sides(t, classes, rows->count, i, j, &s);
            status = train_pair(t, rows, &s, &samples, &m->result[p], NULL);
            for (int64_t r = 0, k = 0; r < rows->count && !status; r++) {
                if (!s.train[r]) continue;
                double *to = m->coefficient + (s.train[r] > 0 ? j - 1 : i) * rows->count;
                to[r] = s.train[r] * samples.alpha[k++];
            }
            tutti_svm_samples_free(&samples);
            m->rho[p] = m->result[p].rho;
            if (!status && m->a) status = fit_probability(t, rows, &s, &m->a[p], &m->b[p]);
            m->pairs = p + 1;
        }
    free(s.train);
    return status;
}

/* ---- the file ---- */

static int is_support(const tutti_svm_machine *m, int64_t r)
{
    for (int c = 0; c + 1 < m->classes; c++)
        if (m->coefficient[c * m->rows + r] != 0) return 1;
    return 0;
}

/* Part -1 is the head, parts 0 to classes - 1 have the support vectors of a class, the last one the ranges. */
static tutti_status write_part(tutti_svm_output *output, const tutti_svm_model *head,
    const tutti_rows *rows, const tutti_svm_classes *k, const tutti_svm_machine *m, int part)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return tutti_svm_no_memory(1, 1);
    const int first = !output->world->rank;
    if (part < 0 && first) tutti_svm_model_print_head(head, out);
    if (part == k->count && first && tutti_svm_scaling_is_set(&head->scaling))
        tutti_svm_scaling_print(&head->scaling, out);
    for (int64_t r = 0; r < rows->count; r++)
        if (k->of[r] == part && is_support(m, r))
            tutti_svm_model_print_vector(rows, r, k->count, m->coefficient + r, m->rows, out);
    tutti_status status = fclose(out) ? tutti_svm_no_memory(1, bytes) : TUTTI_OK;
    if (!status) status = tutti_svm_output_write(output, text, bytes);
    free(text);
    return status;
}

tutti_status tutti_svm_machine_write(const tutti_svm_training *t, const tutti_rows *rows,
    const tutti_svm_classes *k, const tutti_svm_machine *m, const tutti_svm_scaling *scaling,
    const char *path, int64_t *support)
{
    tutti_svm_output output;
    const tutti_svm_model head = {.kernel = t->settings.kernel,
        .classes = k->count,
        .label = k->label,
        .support = tutti_svm_new(k->count, sizeof(int64_t)),
        .rho = m->rho,
        .a = m->a,
        .b = m->b,
        .scaling = *scaling};
    tutti_status status = head.support ? TUTTI_OK : TUTTI_ERR_NOMEM;
    *support = 0;
    for (int64_t r = 0; r < rows->count && !status; r++) head.support[k->of[r]] += is_support(m, r);
    for (int c = 0; c < k->count && !status; c++) {
        status = tutti_svm_sum(t->world, &head.support[c]);
        *support += head.support[c];
    }
    if (!status) status = tutti_svm_output_begin(t->world, "model", path, &output);
    if (!status) {
        for (int part = -1; part <= k->count && !status; part++)
            status = write_part(&output, &head, rows, k, m, part);
        status = tutti_svm_output_end(&output, status);
    }
    free(head.support);
    return status;
}

/* ---- cross-validation ---- */

/* Every row of a fold, s->test, is asked by every pair, and its votes are counted at once. *right grows by the rows
 * that are predicted right. value[rows]: scratch. */
static tutti_status predict_fold(const tutti_svm_training *t, const tutti_rows *rows,
    const tutti_svm_classes *k, sides *s, double value[], int64_t *right)
{
    const int64_t n = rows->count;
    int64_t asked = 0;
    for (int64_t r = 0; r < n; r++) asked += s->test[r];
    uint16_t *votes = tutti_svm_new(asked * k->count, sizeof *votes); /* [asked][classes] */
    tutti_status status = votes ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int i = 0; i < k->count && !status; i++)
        for (int j = i + 1; j < k->count && !status; j++) {
            set_sides(t, k, n, i, j, s);
            for (int64_t r = 0; r < n; r++)
                if (s->test[r]) s->train[r] = 0;
            status = train_or_guess(t, rows, s, value);
            uint16_t *of = votes;
            for (int64_t r = 0; r < n && !status; r++) {
                if (!s->test[r]) continue;
                of[value[r] > 0 ? i : j]++;
                of += k->count;
            }
        }
    const uint16_t *of = votes;
    for (int64_t r = 0; r < n && !status; r++) {
        if (!s->test[r]) continue;
        *right += tutti_svm_elect(k->count, of) == k->of[r];
        of += k->count;
    }
    free(votes);
    return status;
}

tutti_status tutti_svm_cross_validate(const tutti_svm_training *t, const tutti_rows *rows,
    const tutti_svm_classes *k, int folds, int64_t *right)
{
    const int64_t n = rows->count;
    sides s = {0};
    int *fold = tutti_svm_new(n, sizeof *fold);
    double *value = tutti_svm_new(n, sizeof *value);
    tutti_status status = new_sides(n, &s);
    if (!fold || !value) status = TUTTI_ERR_NOMEM;
    if (!status) status = draw_folds(t, rows, k->of, k->count, folds, fold);
    *right = 0;
    for (int f = 0; f < folds && !status; f++) {
        for (int64_t r = 0; r < n; r++) s.test[r] = fold[r] == f;
        status = predict_fold(t, rows, k, &s, value, right);
    }
    if (!status) status = tutti_svm_sum(t->world, right);
    free_sides(&s);
    free(fold);
    free(value);
    return status;
}
