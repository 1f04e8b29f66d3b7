/* The method `set`: a working set of the samples that violate most, half of it kept from round to round. Its
 * own problem is solved on all ranks with the same bits; then every rank brings its samples' f up to date.
 * Two collectives a round. Source: Wen, Shi, Li, He, Chen, "ThunderSVM: a fast SVM library on GPUs and CPUs",
 * JMLR 19, 2018. */
#include "apps/svm/solve_parts.h"
#include "dag/base/clock.h"

#include <math.h>
#include <string.h>

enum { UP, LOW };

/* A rank's part of a survey. Behind it: up to half a set of candidates for each side, the worst first, and f
 * of the members that are kept (of those that this rank has). */
typedef struct notice {
    double up, low;
    int64_t active;
    int32_t wish, count[2];
} notice;

typedef struct set {
    int64_t q;                 /* members at most */
    tutti_svm_samples members; /* those that are kept, then the new ones */
    int64_t kept;
    double *matrix, *weight; /* [q][q]: kernel values; [q] */
    double *before;          /* [q]: alpha before a round */
    char *mine, *all;        /* notices */
    int64_t notice_bytes;
    int64_t *at, *next; /* [q]: candidates; [2][ranks] */
    /* the new members, and the ranks that have them */
    tutti_svm_member *chosen; /* [q] */
    int *owner;
} set;

static int64_t half(const set *w)
{
    return w->q / 2;
}

static tutti_svm_member *candidates(const set *w, char *of_rank, int side)
{
    return (tutti_svm_member *)(of_rank + sizeof(notice)) + side * half(w);
}

static double *kept_of(const set *w, char *of_rank)
{
    return (double *)candidates(w, of_rank, 2);
}

static char *notice_of(const set *w, int rank)
{
    return w->all + (size_t)rank * (size_t)w->notice_bytes;
}

static void close_set(tutti_svm_solver *s)
{
    set *w = s->of_method;
    if (!w) return;
    tutti_svm_samples_free(&w->members);
    free(w->matrix);
    free(w->weight);
    free(w->before);
    free(w->mine);
    free(w->all);
    free(w->at);
    free(w->next);
    free(w->chosen);
    free(w->owner);
    free(w);
    s->of_method = NULL;
}

static tutti_status open_set(tutti_svm_solver *s)
{
    set *w = s->of_method = tutti_svm_new(1, sizeof *w);
    if (!w) return TUTTI_ERR_NOMEM;
    const int64_t q = w->q = s->problem.settings.working_set, ranks = s->problem.world->size;
    w->members.rows.floats = s->home.rows.floats;
    w->notice_bytes = (int64_t)(sizeof(notice) + (size_t)q * sizeof(tutti_svm_member) +
                                (size_t)q * sizeof(double));
    s->progress.survey_bytes = w->notice_bytes;
    w->matrix = tutti_svm_new(q * q, sizeof(double));
    w->weight = tutti_svm_new(q, sizeof(double));
    w->before = tutti_svm_new(q, sizeof(double));
    w->mine = tutti_svm_new(1, (size_t)w->notice_bytes);
    w->all = tutti_svm_new(ranks, (size_t)w->notice_bytes);
    w->at = tutti_svm_new(q, sizeof *w->at);
    w->next = tutti_svm_new(2 * ranks, sizeof *w->next);
    w->chosen = tutti_svm_new(q, sizeof *w->chosen);
    w->owner = tutti_svm_new(q, sizeof *w->owner);
    const int has = w->matrix && w->weight && w->before && w->mine && w->all && w->at && w->next;
    return has && w->chosen && w->owner ? TUTTI_OK : TUTTI_ERR_NOMEM;
}

/* ---- the survey ---- */

static int is_kept(const set *w, int64_t id)
{
    for (int64_t j = 0; j < w->kept; j++)
        if (w->members.id[j] == id) return 1;
    return 0;
}

/* The half set of samples of a side that come first: `sign` 1 by ascending f, -1 by descending f; equal ones
 * by id, which is the order of positions. */
static int32_t find_candidates(
    const tutti_svm_solver *s, const set *w, const tutti_svm_samples *a, int side, double *first)
{
    const double sign = side == UP ? 1 : -1, C[2] = {tutti_svm_C(s, -1), tutti_svm_C(s, 1)};
    int64_t *at = w->at, count = 0;
    for (int64_t i = 0; i < a->rows.count; i++) {
        const double f = sign * a->f[i], y = a->rows.label[i], alpha = a->alpha[i];
        if (!(side == UP ? tutti_svm_is_up : tutti_svm_is_low)(y, alpha, C[y > 0])) continue;
        if (f < sign * *first) *first = a->f[i];
        if (count == half(w) && !(f < sign * a->f[at[count - 1]])) continue;
        if (is_kept(w, a->id[i])) continue;
        int64_t k = count < half(w) ? count++ : count - 1;
        for (; k > 0 && f < sign * a->f[at[k - 1]]; k--) at[k] = at[k - 1];
        at[k] = i;
    }
    for (int64_t k = 0; k < count; k++)
        candidates(w, w->mine, side)[k] = tutti_svm_samples_member(a, at[k]);
    return (int32_t)count;
}

static void fill_notice(tutti_svm_solver *s, set *w)
{
    const tutti_svm_samples *a = tutti_svm_working(s);
    notice *n = (notice *)w->mine;
    *n = (notice){.up = INFINITY,
        .low = -INFINITY,
        .active = a->rows.count,
        .wish = (int32_t)tutti_svm_own_wish(s)};
    n->count[UP] = find_candidates(s, w, a, UP, &n->up);
    n->count[LOW] = find_candidates(s, w, a, LOW, &n->low);
    for (int64_t j = 0; j < w->kept; j++) {
        const int64_t i = tutti_svm_samples_find(a, w->members.id[j]);
        kept_of(w, w->mine)[j] = i < 0 ? NAN : a->f[i];
    }
}

static tutti_status survey(tutti_svm_solver *s)
{
    set *w = s->of_method;
    tutti_svm_world *world = s->problem.world;
    fill_notice(s, w);
    tutti_status status = tutti_svm_gather(world, w->mine, w->notice_bytes, w->all);
    if (status) return status;
    int64_t active = 0, most = 0;
    s->up = INFINITY;
    s->low = -INFINITY;
    s->wish = TUTTI_SVM_GO_ON;
    for (int r = 0; r < world->size; r++) {
        const notice *n = (const notice *)notice_of(w, r);
        s->up = fmin(s->up, n->up);
        s->low = fmax(s->low, n->low);
        active += n->active;
        if (n->active > most) most = n->active;
        if (n->wish > (int32_t)s->wish) s->wish = (tutti_svm_wish)n->wish;
        const double *f = kept_of(w, notice_of(w, r));
        for (int64_t j = 0; j < w->kept; j++)
            if (!isnan(f[j])) w->members.f[j] = f[j];
    }
    s->progress.active = active;
    s->progress.busiest = tutti_svm_busiest(most, active, world->size);
    return TUTTI_OK;
}

/* ---- the new members ---- */

static int is_first(const tutti_svm_member *a, const tutti_svm_member *b, double sign)
{
    return sign * a->f < sign * b->f || (a->f == b->f && a->id < b->id);
}

static int is_chosen(const set *w, int64_t count, int64_t id)
{
    for (int64_t k = 0; k < count; k++)
        if (w->chosen[k].id == id) return 1;
    return 0;
}

/* Merges the ranks' sorted candidates of a side, until there are `most` members. */
static int64_t choose_from(set *w, int ranks, int side, int64_t count, int64_t most)
{
    int64_t *next = w->next + side * ranks;
    while (count < most) {
        const tutti_svm_member *first = NULL;
        int from = 0;
        for (int r = 0; r < ranks; r++) {
            const tutti_svm_member *m = candidates(w, notice_of(w, r), side) + next[r];
            if (next[r] == ((const notice *)notice_of(w, r))->count[side]) continue;
            if (first && !is_first(m, first, side == UP ? 1 : -1)) continue;
            first = m;
            from = r;
        }
        if (!first) break;
        next[from]++;
        if (is_chosen(w, count, first->id)) continue;
        w->owner[count] = from;
        w->chosen[count++] = *first;
    }
    return count;
}

/* The rows of the chosen, from the ranks that have them; all become members. */
static tutti_status fetch_rows(tutti_svm_solver *s, set *w, int64_t count)
{
    tutti_svm_world *world = s->problem.world;
    const tutti_svm_samples *a = tutti_svm_working(s);
    int64_t *bytes = tutti_svm_new(world->size, sizeof *bytes), all = 0;
    const char **from = tutti_svm_new(world->size, sizeof *from);
    char *send = NULL, *receive = NULL;
    tutti_status status = bytes && from ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int64_t k = 0; k < count && !status; k++)
        bytes[w->owner[k]] += (int64_t)tutti_rows_bytes(&a->rows, w->chosen[k].nonzeros);
    for (int r = 0; r < world->size && !status; r++) all += bytes[r];
    s->progress.row_bytes += all;
    if (!status) {
        send = tutti_svm_new(bytes[world->rank], 1);
        receive = tutti_svm_new(all, 1);
        if (!send || !receive) status = TUTTI_ERR_NOMEM;
    }
    char *at = send;
    for (int64_t k = 0; k < count && !status; k++)
        if (w->owner[k] == world->rank)
            at = tutti_rows_write(&a->rows, tutti_svm_samples_find(a, w->chosen[k].id), at);
    if (!status) status = tutti_svm_gather_counts(world, send, bytes, receive);
    const char *begin = receive; /* rows lie by rank, and of a rank in the order of members */
    for (int r = 0; r < world->size && !status; begin += bytes[r++]) from[r] = begin;
    for (int64_t k = 0; k < count && !status; k++) {
        const char **next = &from[w->owner[k]];
        *next = tutti_svm_samples_append(&w->members, &w->chosen[k], *next);
        if (!*next) status = TUTTI_ERR_NOMEM;
    }
    if (status != TUTTI_ERR_TIMEOUT) { /* else messages may still use them */
        free(send);
        free(receive);
    }
    free(bytes);
    free(from);
    return status;
}

/* Kernel values of the members from `from` on with all members. */
static tutti_status fill_matrix(tutti_svm_solver *s, set *w, int64_t from)
{
    const tutti_rows *all = &w->members.rows;
    tutti_rows fresh = *all;
    fresh.first += from;
    fresh.square += from;
    fresh.count -= from;
    tutti_status status =
        tutti_svm_engine_matrix(s->engine, all, &fresh, w->q, w->matrix + from * w->q);
    for (int64_t j = from; j < all->count && !status; j++)
        for (int64_t i = 0; i < from; i++) w->matrix[i * w->q + j] = w->matrix[j * w->q + i];
    return status;
}

static tutti_status choose_members(tutti_svm_solver *s, set *w)
{
    const int ranks = s->problem.world->size;
    const int64_t room = w->kept ? half(w) : w->q;
    double began_s = tutti_clock_s();
    memset(w->next, 0, 2 * (size_t)ranks * sizeof *w->next);
    int64_t count = choose_from(w, ranks, UP, 0, room / 2);
    count = choose_from(w, ranks, LOW, count, room);
    count = choose_from(w, ranks, UP, count, room);
    s->progress.common_s += tutti_clock_s() - began_s;
    tutti_status status = fetch_rows(s, w, count);
    if (status) return status;
    began_s = tutti_clock_s();
    status = fill_matrix(s, w, w->kept);
    s->progress.common_s += tutti_clock_s() - began_s;
    return status;
}

/* ---- the problem of the working set ---- */

typedef struct choice {
    int64_t up, low;
    double up_f, low_f;
} choice;

/* The up member of least f, and the low member with which a step gains most (second order). Source: Fan,
 * Chen, Lin, "Working set selection using second order information", JMLR 6, 2005. */
static choice choose_two(const tutti_svm_solver *s, const set *w)
{
    const tutti_svm_samples *m = &w->members;
    const double *y = m->rows.label;
    choice c = {.up = -1, .low = -1, .up_f = INFINITY, .low_f = -INFINITY};
    double most = 0;
    for (int64_t k = 0; k < m->rows.count; k++)
        if (m->f[k] < c.up_f && tutti_svm_is_up(y[k], m->alpha[k], tutti_svm_C(s, y[k]))) {
            c.up = k;
            c.up_f = m->f[k];
        }
    if (c.up < 0) return c;
    const double *row = w->matrix + c.up * w->q, own = row[c.up];
    for (int64_t k = 0; k < m->rows.count; k++) {
        if (!tutti_svm_is_low(y[k], m->alpha[k], tutti_svm_C(s, y[k]))) continue;
        if (m->f[k] > c.low_f) c.low_f = m->f[k];
        const double b = m->f[k] - c.up_f;
        if (b <= 0) continue;
        const double a = tutti_svm_curvature(own, w->matrix[k * w->q + k], row[k]);
        if (b * b > most * a) {
            most = b * b / a;
            c.low = k;
        }
    }
    return c;
}

/* Until the members' own gap is a tenth of the gap of all, or eps. */
static void solve_set(tutti_svm_solver *s, set *w)
{
    tutti_svm_samples *m = &w->members;
    const double enough = fmax(s->progress.gap / 10, s->problem.settings.eps / 2);
    const double began_s = tutti_clock_s();
    for (int64_t step = 0; step < 100 * w->q; step++) {
        const choice c = choose_two(s, w);
        if (c.low < 0 || c.low_f - c.up_f <= enough) break;
        const double *up = w->matrix + c.up * w->q, *low = w->matrix + c.low * w->q;
        const double t = tutti_svm_step(s, m->rows.label[c.up], &m->alpha[c.up],
            m->rows.label[c.low], &m->alpha[c.low], m->f[c.low] - m->f[c.up],
            tutti_svm_curvature(up[c.up], low[c.low], up[c.low]));
        for (int64_t k = 0; k < m->rows.count; k++) m->f[k] += t * (up[k] - low[k]);
        s->progress.steps++;
    }
    s->progress.common_s += tutti_clock_s() - began_s;
}

static tutti_status advance(tutti_svm_solver *s)
{
    set *w = s->of_method;
    tutti_svm_samples *m = &w->members, *a = tutti_svm_working(s);
    tutti_status status = choose_members(s, w);
    if (status) return status;
    memcpy(w->before, m->alpha, (size_t)m->rows.count * sizeof *w->before);
    solve_set(s, w);
    for (int64_t j = 0; j < m->rows.count; j++) {
        w->weight[j] = m->rows.label[j] * (m->alpha[j] - w->before[j]);
        const int64_t i = tutti_svm_samples_find(a, m->id[j]);
        if (i >= 0) a->alpha[i] = m->alpha[j];
    }
    status = tutti_svm_engine_add(s->engine, &a->rows, &m->rows, m->id, w->weight, NULL, a->f);
    if (status) return status;
    int64_t *which = w->at, kept = 0; /* the newest half stays */
    for (int64_t j = w->kept; j < m->rows.count && kept < half(w); j++) which[kept++] = j;
    for (int64_t i = 0; i < kept; i++)
        for (int64_t j = 0; j < kept; j++)
            w->matrix[i * w->q + j] = w->matrix[which[i] * w->q + which[j]];
    tutti_svm_samples_keep(m, kept, which);
    w->kept = kept;
    return TUTTI_OK;
}

/* ---- the rest ---- */

static int needs(const tutti_svm_solver *s, int64_t id)
{
    return is_kept(s->of_method, id);
}

static int64_t save(const tutti_svm_solver *s, int64_t word[])
{
    const set *w = s->of_method;
    for (int64_t j = 0; j < w->kept; j++) word[j] = w->members.id[j];
    return w->kept;
}

/* Members are fetched as when they were chosen. */
static tutti_status load(tutti_svm_solver *s, const int64_t word[], int64_t words)
{
    set *w = s->of_method;
    const tutti_svm_samples *a = tutti_svm_working(s);
    const int ranks = s->problem.world->size;
    if (words < 0 || words > half(w))
        return tutti_fail(TUTTI_ERR_FORMAT, "the checkpoint's working set is too large");
    tutti_svm_member *all = tutti_svm_new(words * ranks, sizeof *all);
    if (!all) return TUTTI_ERR_NOMEM;
    for (int64_t k = 0; k < words; k++) {
        const int64_t i = tutti_svm_samples_find(a, word[k]);
        w->chosen[k] = i < 0 ? (tutti_svm_member){.id = -1} : tutti_svm_samples_member(a, i);
    }
    tutti_status status =
        tutti_svm_gather(s->problem.world, w->chosen, words * (int64_t)sizeof *all, all);
    for (int64_t k = 0; k < words * ranks && !status; k++)
        if (all[k].id >= 0) {
            w->chosen[k % words] = all[k];
            w->owner[k % words] = (int)(k / words);
        }
    free(all);
    if (!status && words) status = fetch_rows(s, w, words);
    if (!status && words) status = fill_matrix(s, w, 0);
    w->kept = words;
    return status;
}

const tutti_svm_method_ops tutti_svm_method_set = {.open = open_set,
    .close = close_set,
    .survey = survey,
    .advance = advance,
    .needs = needs,
    .save = save,
    .load = load};
