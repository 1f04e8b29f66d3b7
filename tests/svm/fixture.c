#include "tests/svm/fixture.h"

#include "apps/svm/solve.h"
#include "apps/svm/solve_parts.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void fixture_draw(uint64_t seed, int64_t rows, int features, double share, tutti_rows *to)
{
    *to = (tutti_rows){0};
    for (int64_t r = 0; r < rows; r++) {
        double side = 0.3 * tutti_rng_normal(seed, 3, (uint64_t)r);
        if (tutti_rows_add(to, 0)) abort();
        for (int k = 1; k <= features; k++) {
            const uint64_t index = (uint64_t)r * 4096 + (uint64_t)k;
            if (tutti_rng_uniform(seed, 1, index) >= share) continue;
            const double x = tutti_rng_uniform(seed, 2, index) * 2 - 0.5;
            side += x * (k % 3 - 1);
            if (tutti_rows_put(to, (uint32_t)k, x)) abort();
        }
        to->label[r] = side > 0 ? 1 : -1;
    }
    to->columns = features;
}

void fixture_part(const tutti_rows *all, int rank, int size, tutti_rows *to)
{
    const int64_t from = all->count * rank / size, until = all->count * (rank + 1) / size;
    *to = (tutti_rows){.from = from};
    for (int64_t r = from; r < until; r++)
        if (tutti_rows_copy(to, all, r)) abort();
    to->columns = all->columns;
}

tutti_svm_settings fixture_settings(tutti_svm_kernel kernel)
{
    return (tutti_svm_settings){.kernel = kernel,
        .eps = 1e-3,
        .cache_bytes = 1e5,
        .working_set = 32,
        .most_steps = 10000000,
        .balance = 1.2};
}

/* ---- training ---- */

typedef struct watched {
    int rounds, stop_after, resumes, eliminated, wrong;
    double gap;
    tutti_svm_state state; /* a copy of a solver's */
} watched;

static tutti_svm_wish wish(void *ctx)
{
    const watched *w = ctx;
    return w->stop_after && w->rounds >= w->stop_after ? TUTTI_SVM_STOP : TUTTI_SVM_GO_ON;
}

/* No sample that decides about the gap is eliminated. */
static void count_round(void *ctx, tutti_svm_event event, const tutti_svm_progress *progress)
{
    watched *w = ctx;
    w->wrong |= w->eliminated && progress->gap != w->gap;
    w->eliminated = event == TUTTI_SVM_ELIMINATED;
    w->gap = progress->gap;
    w->rounds += event == TUTTI_SVM_ADVANCED;
}

static void *copy(const void *from, int64_t count, size_t bytes)
{
    void *to = malloc((size_t)count * bytes + 1);
    if (!to) abort();
    return memcpy(to, from, (size_t)count * bytes);
}

static tutti_status save(void *ctx, tutti_svm_wish asked, tutti_svm_solver *solver)
{
    tutti_svm_state *to = &((watched *)ctx)->state;
    (void)asked;
    tutti_status status = tutti_svm_solver_save(solver, to);
    to->alpha = copy(to->alpha, to->samples, sizeof *to->alpha);
    to->f = copy(to->f, to->samples, sizeof *to->f);
    to->eliminated = copy(to->eliminated, to->samples, 1);
    to->word = copy(to->word, to->words, sizeof *to->word);
    return status ? status : TUTTI_ERR_INTERRUPTED;
}

static tutti_status resume(void *ctx, tutti_svm_solver *solver)
{
    const watched *w = ctx;
    if (!w->resumes) return TUTTI_OK;
    const tutti_svm_state to = tutti_svm_solver_state(solver);
    memcpy(to.alpha, w->state.alpha, (size_t)to.samples * sizeof *to.alpha);
    memcpy(to.f, w->state.f, (size_t)to.samples * sizeof *to.f);
    memcpy(to.eliminated, w->state.eliminated, (size_t)to.samples);
    memcpy(to.word, w->state.word, (size_t)to.words * sizeof *to.word);
    return tutti_svm_solver_load(solver);
}

static tutti_status train_once(tutti_svm_world *world, fixture_training *t, watched *w,
    tutti_svm_samples *samples, tutti_svm_result *result)
{
    const tutti_svm_watcher watcher = {w, wish, count_round, resume, save};
    tutti_rows rows;
    fixture_part(t->rows, world->rank, world->size, &rows);
    *samples = (tutti_svm_samples){.rows.floats = !t->doubles};
    for (int64_t r = 0; r < rows.count; r++)
        if (tutti_svm_samples_add(samples, rows.from + r, (int)rows.label[r], &rows, r)) abort();
    tutti_rows_free(&rows);
    tutti_svm_solver *solver;
    const tutti_svm_problem problem = {.world = world,
        .settings = t->settings,
        .C = {t->C[0], t->C[1]},
        .columns = t->rows->columns,
        .largest = 1e4,
        .watcher = t->watcher ? t->watcher : &watcher};
    tutti_status status = tutti_svm_solver_new(&problem, samples, &solver);
    if (!status) status = tutti_svm_solver_run(solver, result);
    tutti_svm_solver_free(solver, samples);
    return status;
}

static tutti_status run_rank(tutti_svm_world *world, void *ctx)
{
    fixture_training *t = ctx;
    watched w = {.stop_after = t->stop_after};
    tutti_svm_samples samples;
    tutti_svm_result result = {0};
    tutti_status status = train_once(world, t, &w, &samples, &result);
    if (status == TUTTI_ERR_INTERRUPTED) {
        tutti_svm_samples_free(&samples);
        w.stop_after = 0;
        w.resumes = 1;
        status = train_once(world, t, &w, &samples, &result);
    }
    for (int64_t i = 0; i < samples.rows.count && !status; i++)
        t->alpha[samples.id[i]] = samples.alpha[i];
    if (!status && w.wrong)
        status = tutti_fail(TUTTI_ERR_INTERNAL, "an elimination has changed the gap");
    if (!world->rank) t->result = result;
    tutti_svm_samples_free(&samples);
    free(w.state.alpha);
    free(w.state.f);
    free(w.state.eliminated);
    free(w.state.word);
    return status;
}

static void combine_pieces(const void *left, const void *right, void *result, size_t bytes)
{
    const size_t half = bytes / 16 * 8;
    tutti_svm_record_combine(left, right, result, half);
    tutti_svm_record_combine(
        (const char *)left + half, (const char *)right + half, (char *)result + half, bytes - half);
}

tutti_status fixture_train(fixture_training *t, int ranks)
{
    const tutti_svm_world_options options = {
        .timeout_s = 60, .combine = t->cuts ? combine_pieces : tutti_svm_record_combine};
    return tutti_svm_world_local(&options, ranks, run_rank, t);
}

/* ---- the oracle ---- */

double fixture_kernel(const tutti_svm_kernel *k, const tutti_rows *rows, int64_t i, int64_t j)
{
    double product = 0, distance = 0;
    int64_t a = rows->first[i], b = rows->first[j];
    while (a < rows->first[i + 1] || b < rows->first[j + 1]) {
        const uint32_t x = a < rows->first[i + 1] ? rows->index[a] : UINT32_MAX;
        const uint32_t y = b < rows->first[j + 1] ? rows->index[b] : UINT32_MAX;
        const double u = x <= y ? tutti_rows_value(rows, a) : 0;
        const double v = y <= x ? tutti_rows_value(rows, b) : 0;
        product += u * v;
        distance += (u - v) * (u - v);
        a += x <= y;
        b += y <= x;
    }
    switch (k->kind) {
    case TUTTI_SVM_RBF:
        return exp(-k->gamma * distance);
    case TUTTI_SVM_POLYNOMIAL:
        return pow(k->gamma * product + k->coef0, k->degree);
    case TUTTI_SVM_SIGMOID:
        return tanh(k->gamma * product + k->coef0);
    default:
        return product;
    }
}

double fixture_gap(const fixture_training *t)
{
    const tutti_rows *rows = t->rows;
    double up = INFINITY, low = -INFINITY;
    for (int64_t i = 0; i < rows->count; i++) {
        const int y = (int)rows->label[i];
        double f = -y;
        for (int64_t j = 0; j < rows->count; j++)
            if (t->alpha[j] > 0)
                f += t->alpha[j] * rows->label[j] * fixture_kernel(&t->settings.kernel, rows, i, j);
        if (t->f) t->f[i] = f;
        if (tutti_svm_is_up(y, t->alpha[i], t->C[y > 0])) up = fmin(up, f);
        if (tutti_svm_is_low(y, t->alpha[i], t->C[y > 0])) low = fmax(low, f);
    }
    return low - up;
}

double fixture_objective(const fixture_training *t)
{
    const tutti_rows *rows = t->rows;
    const size_t n = (size_t)rows->count;
    double *K = malloc(n * n * sizeof *K), *f = malloc(n * sizeof *f), *a = calloc(n, sizeof *a);
    double objective = 0;
    if (!K || !f || !a) abort();
    for (size_t i = 0; i < n; i++) {
        f[i] = -rows->label[i];
        for (size_t j = 0; j < n; j++)
            K[i * n + j] = fixture_kernel(&t->settings.kernel, rows, (int64_t)i, (int64_t)j);
    }
    for (;;) {
        size_t u = n, l = n;
        for (size_t i = 0; i < n; i++) {
            const int y = (int)rows->label[i];
            if (tutti_svm_is_up(y, a[i], t->C[y > 0]) && (u == n || f[i] < f[u])) u = i;
            if (tutti_svm_is_low(y, a[i], t->C[y > 0]) && (l == n || f[i] > f[l])) l = i;
        }
        if (u == n || l == n || f[l] - f[u] < 1e-6) break;
        const double yu = rows->label[u], yl = rows->label[l];
        double step = (f[l] - f[u]) / fmax(K[u * n + u] + K[l * n + l] - 2 * K[u * n + l], 1e-12);
        step = fmin(step, yu > 0 ? t->C[1] - a[u] : a[u]);
        step = fmin(step, yl > 0 ? a[l] : t->C[0] - a[l]);
        a[u] += yu * step;
        a[l] -= yl * step;
        if (a[u] > t->C[yu > 0] * (1 - 1e-14)) a[u] = t->C[yu > 0];
        if (a[l] > t->C[yl > 0] * (1 - 1e-14)) a[l] = t->C[yl > 0];
        if (a[u] < 1e-14) a[u] = 0;
        if (a[l] < 1e-14) a[l] = 0;
        for (size_t i = 0; i < n; i++) f[i] += step * (K[u * n + i] - K[l * n + i]);
    }
    for (size_t i = 0; i < n; i++) objective += a[i] * (rows->label[i] * f[i] - 1) / 2;
    free(K);
    free(f);
    free(a);
    return objective;
}
