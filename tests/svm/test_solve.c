/* Training: against a dense solver in double precision, on any number of ranks, with every elimination, and
 * from a state that was saved. */
#include "apps/svm/solve_parts.h"
#include "apps/svm/tile.h"
#include "tests/support/testing.h"
#include "tests/svm/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, RANKS = 8 };

static const tutti_svm_kernel kernels[] = {
    {.kind = TUTTI_SVM_LINEAR},
    {.kind = TUTTI_SVM_POLYNOMIAL, .degree = 3, .gamma = 0.2, .coef0 = 1},
    {.kind = TUTTI_SVM_RBF, .gamma = 0.3},
    {.kind = TUTTI_SVM_SIGMOID, .gamma = 0.02, .coef0 = -0.1},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static tutti_rows rows;
static double alpha[ROWS], other[ROWS];

/* Where threads take turns on few processors, a round of many ranks is long. */
static int ranks_from(int P, int method)
{
    return method == TUTTI_SVM_PAIR ? P + 3 : P < 4 ? P + 1 : P + 2;
}

static void draw_rows(void)
{
    fixture_draw(7, ROWS, 24, 0.4, &rows);
}

static void free_rows(void)
{
    tutti_rows_free(&rows);
}

static fixture_training training_of(tutti_svm_kernel kernel, tutti_svm_method method)
{
    fixture_training t = {
        .rows = &rows, .settings = fixture_settings(kernel), .C = {1, 2}, .alpha = alpha};
    t.settings.method = method;
    return t;
}

/* Equal within the error that the stop at eps allows, and never better than the optimum. */
static void check_optimum(const fixture_training *t, double best)
{
    const double error = t->result.objective - best;
    ck_assert_msg(error < 2e-4 * fabs(best) && error > -1e-5 * fabs(best),
        "objective %.9g, best %.9g", t->result.objective, best);
    ck_assert_msg(fixture_gap(t) <= 2 * t->settings.eps, "a gap of %g", fixture_gap(t));
}

START_TEST(every_kernel_reaches_the_optimum)
{
    fixture_training t = training_of(kernels[_i], TUTTI_SVM_SET);
    const double best = fixture_objective(&t);
    for (int doubles = 0; doubles < 2; doubles++) {
        t.doubles = doubles;
        t.settings.method = TUTTI_SVM_SET;
        ck_assert_ok(fixture_train(&t, 1));
        check_optimum(&t, best);
        t.settings.method = TUTTI_SVM_PAIR;
        ck_assert_ok(fixture_train(&t, 2));
        check_optimum(&t, best);
    }
    t.settings.eps = 1e-6;
    ck_assert_ok(fixture_train(&t, 1));
    ck_assert_double_eq_tol(t.result.objective, best, 1e-6 * fabs(best));
}
END_TEST

static const struct {
    double steps, share;
} eliminations[] = {{0, 0}, {2, 0}, {50, 0}, {0, 0.05}, {0, 0.5}};

START_TEST(any_number_of_ranks_gives_the_same_bits)
{
    const int method = _i % 2, multi = _i / 2 % 2, e = _i / 4;
    fixture_training t = training_of(kernels[TUTTI_SVM_RBF], (tutti_svm_method)method);
    t.settings.eliminate = (tutti_svm_elimination){
        eliminations[e].steps, eliminations[e].share, (tutti_svm_reconstruction)multi};
    t.settings.cache_bytes = _i % 3 ? 2e5 : 0;
    ck_assert_ok(fixture_train(&t, 1));
    check_optimum(&t, fixture_objective(&t));
    const tutti_svm_result alone = t.result;
    if (e == 1) ck_assert_int_gt(alone.progress.eliminations, 0);
    for (int P = 2; P <= RANKS; P = ranks_from(P, method)) {
        t.alpha = other;
        ck_assert_ok(fixture_train(&t, P));
        t.alpha = alpha;
        ck_assert_msg(!memcmp(alpha, other, sizeof alpha), "%d ranks have other multipliers", P);
        ck_assert(t.result.rho == alone.rho && t.result.objective == alone.objective);
        ck_assert_int_eq(t.result.progress.steps, alone.progress.steps);
    }
}
END_TEST

START_TEST(a_saved_state_goes_on_with_the_same_bits)
{
    fixture_training t = training_of(kernels[TUTTI_SVM_RBF], (tutti_svm_method)(_i % 2));
    t.settings.eliminate = (tutti_svm_elimination){.steps = 2, .reconstruction = TUTTI_SVM_MULTI};
    ck_assert_ok(fixture_train(&t, 1));
    const double rho = t.result.rho;
    for (int after = 1; after < 12; after += 3) {
        t.stop_after = after;
        t.alpha = other;
        ck_assert_ok(fixture_train(&t, 1 + after % 4));
        t.alpha = alpha;
        ck_assert(!memcmp(alpha, other, sizeof alpha) && t.result.rho == rho);
    }
}
END_TEST

/* What the survey before an elimination has shown. */
typedef struct survey {
    int64_t eliminations, samples, id[ROWS];
    double f[ROWS], alpha[ROWS], up, low;
    int y[ROWS], checked, wrong;
} survey;

static tutti_svm_wish ask_always(void *ctx)
{
    (void)ctx;
    return TUTTI_SVM_SAVE;
}

/* Every sample that was eliminated since the last survey was on one side alone, beyond the threshold of the
 * other one. */
static tutti_status look_at_survey(void *ctx, tutti_svm_wish asked, tutti_svm_solver *solver)
{
    survey *v = ctx;
    (void)asked;
    const tutti_svm_samples *a = tutti_svm_working(solver);
    for (int64_t i = 0; i < v->samples && solver->progress.eliminations > v->eliminations; i++) {
        if (tutti_svm_samples_find(a, v->id[i]) >= 0) continue;
        const double C = tutti_svm_C(solver, v->y[i]);
        const int up = tutti_svm_is_up(v->y[i], v->alpha[i], C);
        const int low = tutti_svm_is_low(v->y[i], v->alpha[i], C);
        v->wrong += (up && low) || (up && !(v->f[i] > v->low)) || (low && !(v->f[i] < v->up));
        v->checked++;
    }
    v->eliminations = solver->progress.eliminations;
    v->samples = a->rows.count;
    v->up = solver->up;
    v->low = solver->low;
    for (int64_t i = 0; i < a->rows.count; i++) {
        v->id[i] = a->id[i];
        v->f[i] = a->f[i];
        v->alpha[i] = a->alpha[i];
        v->y[i] = (int)a->rows.label[i];
    }
    return TUTTI_OK;
}

START_TEST(eliminated_samples_are_settled)
{
    static survey v;
    const tutti_svm_watcher watcher = {.ctx = &v, .wish = ask_always, .on_wish = look_at_survey};
    fixture_training t = training_of(kernels[TUTTI_SVM_RBF], (tutti_svm_method)_i);
    memset(&v, 0, sizeof v);
    t.settings.eliminate = (tutti_svm_elimination){.steps = 2, .reconstruction = TUTTI_SVM_MULTI};
    t.watcher = &watcher;
    ck_assert_ok(fixture_train(&t, 1));
    ck_assert_int_gt(v.checked, 0);
    ck_assert_int_eq(v.wrong, 0);
}
END_TEST

START_TEST(active_samples_move_between_ranks)
{
    fixture_training t = training_of(kernels[TUTTI_SVM_RBF], TUTTI_SVM_SET);
    t.settings.eliminate = (tutti_svm_elimination){.steps = 2, .reconstruction = TUTTI_SVM_MULTI};
    t.settings.balance = 1.01;
    t.settings.working_set = 8;
    ck_assert_ok(fixture_train(&t, 1));
    t.alpha = other;
    ck_assert_ok(fixture_train(&t, 4));
    t.alpha = alpha;
    ck_assert_int_gt(t.result.progress.moves, 0);
    ck_assert(!memcmp(alpha, other, sizeof alpha));
}
END_TEST

/* Reductions that combine a record in two pieces: the same samples and limit end elsewhere, and only then. */
START_TEST(a_record_that_is_cut_ends_elsewhere)
{
    fixture_training t = training_of(kernels[TUTTI_SVM_RBF], TUTTI_SVM_PAIR);
    ck_assert_ok(fixture_train(&t, 1));
    t.settings.most_steps = 2 * t.result.progress.steps;
    t.alpha = other;
    for (t.cuts = 0; t.cuts < 2; t.cuts++) {
        const tutti_status status = fixture_train(&t, 3);
        ck_assert_int_eq(status || memcmp(alpha, other, sizeof alpha), t.cuts);
    }
}
END_TEST

/* Loops against the oracle, for each set of instructions that this machine has: the same bits. */
START_TEST(loops_compute_kernel_values)
{
    const int doubles = _i / KERNELS;
    const tutti_svm_kernel kernel = kernels[_i % KERNELS];
    tutti_rows packed = {.floats = !doubles};
    for (int64_t r = 0; r < rows.count; r++) ck_assert_ok(tutti_rows_copy(&packed, &rows, r));
    double *value = malloc(ROWS * ROWS * sizeof *value);
    tutti_svm_world world = {.size = 1, .workers = 1};
    tutti_svm_engine *engine;
    const tutti_svm_engine_options of = {
        .kernel = kernel, .floats = !doubles, .columns = rows.columns, .rows = ROWS};
    ck_assert_ok(tutti_svm_engine_new(&world, &of, &engine));
    ck_assert_ok(tutti_svm_engine_matrix(engine, &packed, &packed, ROWS, value));
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double exact = fixture_kernel(&kernel, &rows, i, j);
            ck_assert(value[i * ROWS + j] == value[j * ROWS + i]);
            ck_assert_double_eq_tol(
                value[i * ROWS + j], exact, (doubles ? 1e-13 : 2e-6) * (1 + fabs(exact)));
        }
    tutti_svm_engine_free(engine);
    tutti_rows_free(&packed);
    free(value);
}
END_TEST

/* Members of a set, as an oracle chooses two of them: equal f occur, and so do members that are neither up nor
 * low. */
enum { MOST_MEMBERS = 33, SEARCHES = 40 };

static int64_t find_up(const tutti_svm_search *s)
{
    int64_t up = -1;
    for (int64_t k = 0; k < s->count; k++)
        if (!isinf(s->up[k]) && (up < 0 || s->f[k] < s->f[up])) up = k;
    return up;
}

static int64_t find_low(const tutti_svm_search *s, const double row[], int64_t up, double *low_f)
{
    int64_t low = -1;
    double most = 0;
    *low_f = -INFINITY;
    for (int64_t k = 0; k < s->count; k++) {
        const double b = s->f[k] - s->f[up];
        if (isinf(s->low[k])) continue;
        *low_f = fmax(*low_f, s->f[k]);
        const double gain = b * b / tutti_svm_curvature(row[up], s->own[k], row[k]);
        if (b <= 0 || gain <= most) continue;
        most = gain;
        low = k;
    }
    return low;
}

START_TEST(two_members_are_found)
{
    const tutti_svm_loops *loops = tutti_svm_loops_of(_i % 2);
    enum { ROOM = MOST_MEMBERS + TUTTI_SVM_SEARCH_SPARE };
    double f[ROOM] = {0}, up[ROOM], low[ROOM], own[ROOM] = {0}, row[ROOM] = {0}, exact[ROOM];
    tutti_svm_search s = {.count = _i % MOST_MEMBERS + 1, .f = f, .up = up, .low = low, .own = own};
    srand((unsigned)_i + 1);
    for (int k = 0; k < ROOM; k++) {
        const int kind = k < s.count ? rand() % 4 : 0;
        up[k] = kind % 2 ? 0 : INFINITY;
        low[k] = kind / 2 ? 0 : -INFINITY;
        f[k] = rand() % (2 + _i % 7) - 1; /* also in the spare places, which must not count */
        own[k] = 1 + rand() % (1 + _i % 3);
        row[k] = rand() % (1 + _i % 5) * 0.5; /* curvatures below 0 occur */
    }
    s.step = 0.25;
    s.move_up = row;
    s.move_low = own;
    for (int k = 0; k < s.count; k++) exact[k] = f[k] + 0.25 * (row[k] - own[k]);
    const int64_t found = loops->move(&s);
    ck_assert(!memcmp(f, exact, (size_t)s.count * sizeof *f));
    ck_assert_int_eq(found, find_up(&s));
    if (found < 0) return;
    double largest, expected;
    const int64_t partner = find_low(&s, row, found, &expected);
    ck_assert_int_eq(loops->pair(&s, row, found, &largest), partner);
    ck_assert(largest == expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("svm_solve");
    TCase *tcase = testing_case(suite, "solve");
    tcase_add_checked_fixture(tcase, draw_rows, free_rows);
    tcase_add_loop_test(tcase, loops_compute_kernel_values, 0, 2 * KERNELS);
    tcase_add_loop_test(tcase, two_members_are_found, 0, 2 * SEARCHES);
    tcase_add_loop_test(tcase, every_kernel_reaches_the_optimum, 0, KERNELS);
    tcase_add_loop_test(tcase, any_number_of_ranks_gives_the_same_bits, 0,
        4 * (int)(sizeof eliminations / sizeof *eliminations));
    tcase_add_loop_test(tcase, a_saved_state_goes_on_with_the_same_bits, 0, 2);
    tcase_add_loop_test(tcase, eliminated_samples_are_settled, 0, 2);
    tcase_add_test(tcase, active_samples_move_between_ranks);
    tcase_add_test(tcase, a_record_that_is_cut_ends_elsewhere);
    return testing_run(suite);
}
