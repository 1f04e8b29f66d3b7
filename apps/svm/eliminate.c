/* Samples at a bound that would have to cross the other side's threshold to be changed again are left out of
 * surveys and updates. Source: Vishnu, Narasimhan, Holder, Kerbyson, Hoisie, "Fast and accurate support vector
 * machines on large scale systems", arXiv:1406.5161, section 4. */
#include "apps/svm/solve_parts.h"

/* Only up with f above the low side's largest, or only low with f below the up side's least. */
static int is_settled(const tutti_svm_solver *s, const tutti_svm_samples *a, int64_t i)
{
    const double y = a->rows.label[i], C = tutti_svm_C(s, y);
    const int up = tutti_svm_is_up(y, a->alpha[i], C), low = tutti_svm_is_low(y, a->alpha[i], C);
    if (up && low) return 0;
    return up ? a->f[i] > s->low : a->f[i] < s->up;
}

static tutti_status keep_active(tutti_svm_solver *s, int64_t kept, const int64_t which[])
{
    tutti_status status = TUTTI_OK;
    tutti_svm_engine_keep(s->engine, kept, which);
    if (s->eliminated) tutti_svm_samples_keep(&s->active, kept, which);
    for (int64_t i = 0; i < kept && !s->eliminated && !status; i++)
        status = tutti_svm_samples_copy(&s->active, &s->home, which[i]);
    s->eliminated = 1;
    return status;
}

tutti_status tutti_svm_eliminate(tutti_svm_solver *s, int *any)
{
    const tutti_svm_samples *a = tutti_svm_working(s);
    const tutti_svm_method_ops *m = s->method;
    int64_t *which = tutti_svm_new(a->rows.count, sizeof *which), kept = 0;
    for (int64_t i = 0; i < a->rows.count && which; i++)
        if (!is_settled(s, a, i) || (m->needs && m->needs(s, a->id[i]))) which[kept++] = i;
    int64_t active = kept;
    tutti_status status = which ? tutti_svm_sum(s->problem.world, &active) : TUTTI_ERR_NOMEM;
    *any = !status && active < s->progress.active;
    if (*any && s->eliminated) status = tutti_svm_bring_home(s); /* alpha of those that go */
    if (*any && !status) status = keep_active(s, kept, which);
    if (*any) s->progress.active = active;
    free(which);
    return status;
}
