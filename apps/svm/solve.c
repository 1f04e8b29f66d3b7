#include "apps/svm/solve.h"

#include "apps/svm/solve_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void report_event(tutti_svm_solver *s, tutti_svm_event event)
{
    const tutti_svm_watcher *w = s->problem.watcher;
    s->progress.seconds = tutti_clock_s() - s->begun_s;
    s->progress.evaluations = tutti_svm_engine_evaluations(s->engine);
    if (w && w->on_event) w->on_event(w->ctx, event, &s->progress);
}

enum { WAIT = 20 }; /* steps between two eliminations: a share of the active samples */

static double first_elimination(const tutti_svm_solver *s)
{
    const tutti_svm_elimination *e = &s->problem.settings.eliminate;
    return ceil(e->steps > 0 ? e->steps : e->share * (double)s->progress.total);
}

static tutti_status count_samples(tutti_svm_solver *s)
{
    tutti_svm_world *world = s->problem.world;
    const int64_t count = s->home.rows.count;
    s->begin = tutti_svm_new(world->size, sizeof *s->begin);
    s->out = tutti_svm_new(count, 1);
    s->word = tutti_svm_new(TUTTI_SVM_WORDS + s->problem.settings.working_set, sizeof *s->word);
    if (!s->begin || !s->out || !s->word) return TUTTI_ERR_NOMEM;
    tutti_status status = tutti_svm_gather(world, &count, sizeof count, s->begin + 1);
    for (int r = 0; r < world->size; r++) s->begin[r + 1] += s->begin[r];
    s->progress.total = s->progress.active = s->begin[world->size];
    return status;
}

tutti_status tutti_svm_solver_new(
    const tutti_svm_problem *problem, tutti_svm_samples *samples, tutti_svm_solver **solver)
{
    tutti_svm_solver *s = tutti_svm_new(1, sizeof *s);
    if (!s) return TUTTI_ERR_NOMEM;
    s->problem = *problem;
    s->home = *samples;
    s->active.rows.floats = samples->rows.floats;
    *samples = (tutti_svm_samples){.rows.floats = samples->rows.floats};
    s->method =
        problem->settings.method == TUTTI_SVM_PAIR ? &tutti_svm_method_pair : &tutti_svm_method_set;
    s->begun_s = tutti_clock_s();
    tutti_status status = count_samples(s);
    s->next_elimination = first_elimination(s);
    s->may_eliminate = s->next_elimination > 0;
    const tutti_svm_engine_options options = {.kernel = problem->settings.kernel,
        .floats = s->home.rows.floats,
        .columns = problem->columns,
        .rows = s->home.rows.count,
        .cache_bytes = problem->settings.cache_bytes};
    if (!status) status = tutti_svm_engine_new(problem->world, &options, &s->engine);
    if (!status) status = s->method->open(s);
    if (status) {
        tutti_svm_solver_free(s, samples);
        return status;
    }
    *solver = s;
    return TUTTI_OK;
}

void tutti_svm_solver_free(tutti_svm_solver *s, tutti_svm_samples *samples)
{
    if (!s) return;
    s->method->close(s);
    tutti_svm_samples_free(&s->active);
    tutti_svm_engine_free(s->engine);
    *samples = s->home;
    free(s->word);
    free(s->out);
    free(s->begin);
    free(s);
}

/* ---- the loop ---- */

static tutti_status answer_wish(tutti_svm_solver *s)
{
    const tutti_svm_watcher *w = s->problem.watcher;
    if (s->wish == TUTTI_SVM_GO_ON || !w || !w->on_wish) return TUTTI_OK;
    return w->on_wish(w->ctx, s->wish, s);
}

/* The gap at which eliminated samples come back. */
static double rebuild_gap(const tutti_svm_solver *s)
{
    const tutti_svm_settings *set = &s->problem.settings;
    return set->eliminate.reconstruction == TUTTI_SVM_SINGLE ? 20 * set->eps : set->eps;
}

static tutti_status bring_back(tutti_svm_solver *s)
{
    tutti_status status = tutti_svm_rebuild(s);
    if (status) return status;
    s->progress.active = s->progress.total;
    s->progress.rebuilds++;
    if (s->problem.settings.eliminate.reconstruction == TUTTI_SVM_SINGLE) s->may_eliminate = 0;
    report_event(s, TUTTI_SVM_REBUILT);
    return TUTTI_OK;
}

/* The wait until the next elimination shrinks with the active samples of all ranks. */
static tutti_status try_elimination(tutti_svm_solver *s, int *any)
{
    *any = 0;
    if (!s->may_eliminate || (double)s->progress.steps < s->next_elimination) return TUTTI_OK;
    tutti_status status = tutti_svm_eliminate(s, any);
    s->next_elimination = (double)s->progress.steps + 1 + (double)(s->progress.active / WAIT);
    if (status || !*any) return status;
    s->progress.eliminations++;
    report_event(s, TUTTI_SVM_ELIMINATED);
    return TUTTI_OK;
}

/* Whatever changes the active samples; *changed: a new survey is needed. */
static tutti_status change_active(tutti_svm_solver *s, int *changed)
{
    *changed = 0;
    if (s->eliminated && s->progress.gap <= rebuild_gap(s)) {
        *changed = 1;
        return bring_back(s);
    }
    tutti_status status = try_elimination(s, changed);
    if (status || *changed || !s->eliminated) return status;
    if (s->progress.busiest <= s->problem.settings.balance) return TUTTI_OK;
    *changed = 1;
    status = tutti_svm_balance(s);
    s->progress.moves++;
    if (!status) report_event(s, TUTTI_SVM_MOVED);
    return status;
}

static tutti_status finish(tutti_svm_solver *s, tutti_svm_result *result);

tutti_status tutti_svm_solver_run(tutti_svm_solver *s, tutti_svm_result *result)
{
    const tutti_svm_settings *set = &s->problem.settings;
    const tutti_svm_watcher *w = s->problem.watcher;
    tutti_status status = w && w->on_start ? w->on_start(w->ctx, s) : TUTTI_OK;
    while (!status) {
        int changed;
        status = s->method->survey(s);
        if (status) return status;
        s->progress.gap = s->low - s->up;
        status = answer_wish(s);
        if (status) return status;
        const int late = s->progress.steps >= set->most_steps;
        if (!s->eliminated && (!(s->progress.gap > set->eps) || late)) break;
        status = late ? bring_back(s) : change_active(s, &changed);
        if (status) return status;
        if (late || changed) continue;
        status = s->method->advance(s);
        if (status) return status;
        s->progress.rounds++;
        report_event(s, TUTTI_SVM_ADVANCED);
    }
    if (status) return status;
    if (s->progress.gap > set->eps)
        tutti_log(TUTTI_LOG_WARN, "stopped after %lld steps (--max-steps) at a gap of %g",
            (long long)s->progress.steps, s->progress.gap);
    status = finish(s, result);
    report_event(s, TUTTI_SVM_ENDED);
    result->progress = s->progress;
    return status;
}

/* ---- the result ---- */

typedef struct sums {
    double objective, rest_objective, free_f, rest_free_f;
    int64_t free, support, bounded;
} sums;

static void add_exactly(double x, const double quantum[2], double *sum, double *rest)
{
    const double high = (x + quantum[0]) - quantum[0], low = x - high;
    *sum += high;
    *rest += (low + quantum[1]) - quantum[1];
}

static sums add_samples(const tutti_svm_solver *s, const double quantum[2])
{
    const tutti_svm_samples *h = &s->home;
    sums mine = {0};
    for (int64_t i = 0; i < h->rows.count; i++) {
        const double alpha = h->alpha[i], y = h->rows.label[i], bound = tutti_svm_C(s, y);
        if (alpha <= 0) continue;
        mine.support++;
        mine.bounded += alpha >= bound;
        add_exactly(alpha * (y * h->f[i] - 1) / 2, quantum, &mine.objective, &mine.rest_objective);
        if (alpha >= bound) continue;
        mine.free++;
        add_exactly(h->f[i], quantum, &mine.free_f, &mine.rest_free_f);
    }
    return mine;
}

/* As LIBSVM: the mean of the free samples' f, or without any the middle of the bounds. */
static tutti_status finish(tutti_svm_solver *s, tutti_svm_result *result)
{
    tutti_svm_world *world = s->problem.world;
    double largest = 0, quantum[2];
    for (int64_t i = 0; i < s->home.rows.count; i++) largest = fmax(largest, fabs(s->home.f[i]));
    tutti_status status = tutti_svm_largest(world, &largest);
    const double C = fmax(s->problem.C[0], s->problem.C[1]);
    tutti_svm_quanta(fmax(C, 1) * (largest + 1) * (double)s->progress.total, quantum);
    const sums mine = add_samples(s, quantum);
    sums sum = {0}, *all = tutti_svm_new(world->size, sizeof *all);
    if (!all) status = TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather(world, &mine, sizeof mine, all);
    for (int r = 0; r < world->size && !status; r++) {
        sum.objective += all[r].objective;
        sum.rest_objective += all[r].rest_objective;
        sum.free_f += all[r].free_f;
        sum.rest_free_f += all[r].rest_free_f;
        sum.free += all[r].free;
        sum.support += all[r].support;
        sum.bounded += all[r].bounded;
    }
    free(all);
    if (status) return status;
    *result = (tutti_svm_result){.objective = sum.objective + sum.rest_objective,
        .rho = sum.free ? (sum.free_f + sum.rest_free_f) / (double)sum.free : (s->up + s->low) / 2,
        .support = sum.support,
        .bounded = sum.bounded};
    return TUTTI_OK;
}

/* ---- saving ---- */

tutti_svm_state tutti_svm_solver_state(tutti_svm_solver *s)
{
    return (tutti_svm_state){.alpha = s->home.alpha,
        .f = s->home.f,
        .eliminated = s->out,
        .word = s->word,
        .samples = s->home.rows.count,
        .words = TUTTI_SVM_WORDS + s->problem.settings.working_set};
}

tutti_status tutti_svm_solver_save(tutti_svm_solver *s, tutti_svm_state *state)
{
    const tutti_svm_progress *p = &s->progress;
    const int64_t of_method = s->method->save ? s->method->save(s, s->word + TUTTI_SVM_WORDS) : 0;
    const int64_t words[TUTTI_SVM_WORDS] = {p->steps, p->rounds, p->eliminations, p->rebuilds,
        p->moves, s->may_eliminate, (int64_t)s->next_elimination, s->eliminated, of_method};
    memcpy(s->word, words, sizeof words);
    *state = tutti_svm_solver_state(s);
    return s->eliminated ? tutti_svm_bring_home(s) : TUTTI_OK;
}

tutti_status tutti_svm_solver_load(tutti_svm_solver *s)
{
    const int64_t *w = s->word;
    tutti_svm_progress *p = &s->progress;
    tutti_status status = TUTTI_OK;
    p->steps = w[0], p->rounds = w[1], p->eliminations = w[2], p->rebuilds = w[3], p->moves = w[4];
    s->may_eliminate = w[5] != 0;
    s->next_elimination = (double)w[6];
    s->eliminated = w[7] != 0;
    for (int64_t i = 0; i < s->home.rows.count && s->eliminated && !status; i++)
        if (!s->out[i]) status = tutti_svm_samples_copy(&s->active, &s->home, i);
    if (s->eliminated) tutti_svm_engine_renew(s->engine, s->active.rows.count);
    if (status || !s->method->load) return status;
    return s->method->load(s, w + TUTTI_SVM_WORDS, w[8]);
}
