/* The method `set`: a working set of the samples that violate most, half of it kept from round to round. Its
 * own problem is solved on all ranks with the same bits; then every rank brings its samples' f up to date.
 * Two collectives a round. Source: Wen, Shi, Li, He, Chen, "ThunderSVM: a fast SVM library on GPUs and CPUs",
 * JMLR 19, 2018. */
#include "apps/svm/solve_parts.h"
#include "dag/base/clock.h"

#include <math.h>
#include <string.h>

enum { UP, LOW };
enum { BLOCK = 16 }; /* numbers of two cache lines */

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
    tutti_svm_search search; /* of two members to move */
    char *mine, *all;        /* notices */
    int64_t notice_bytes;
    int64_t *at, *next; /* [q]: candidates; [2][ranks] */
    int64_t *
        kept_at; /* [q]: positions of the members that are kept, ascending: those that this rank has */
    int64_t kept_here;
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
    free(w->kept_at);
    free(w->search.f);
    free(w->search.up);
    free(w->search.low);
    free(w->search.own);
    free(w->chosen);
    free(w->owner);
    free(w);
    s->of_method = NULL;
}

static int open_search(set *w)
{
    double **of[] = {&w->search.f, &w->search.up, &w->search.low, &w->search.own};
    int has = 1;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        *of[i] = tutti_svm_new(w->q + TUTTI_SVM_SEARCH_SPARE, sizeof **of[i]);
        has = has && *of[i];
    }
    return has;
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
    w->matrix = tutti_svm_new(q * q + TUTTI_SVM_SEARCH_SPARE, sizeof(double));
    w->weight = tutti_svm_new(q, sizeof(double));
    w->before = tutti_svm_new(q, sizeof(double));
    w->mine = tutti_svm_new(1, (size_t)w->notice_bytes);
    w->all = tutti_svm_new(ranks, (size_t)w->notice_bytes);
    w->at = tutti_svm_new(q, sizeof *w->at);
    w->next = tutti_svm_new(2 * ranks, sizeof *w->next);
    w->chosen = tutti_svm_new(q, sizeof *w->chosen);
    w->owner = tutti_svm_new(q, sizeof *w->owner);
    w->kept_at = tutti_svm_new(q, sizeof *w->kept_at);
    const int has = w->matrix && w->weight && w->before && w->mine && w->all && w->at && w->next;
    return has && w->chosen && w->owner && w->kept_at && open_search(w) ? TUTTI_OK
                                                                        : TUTTI_ERR_NOMEM;
}

/* ---- the survey ---- */

static int is_kept(const set *w, int64_t id)
{
    for (int64_t j = 0; j < w->kept; j++)
        if (w->members.id[j] == id) return 1;
    return 0;
}

/* Whether position `a` comes behind `b` on a side: `sign` 1 by ascending f, -1 by descending f; equal ones by
 * position, which is the order of ids. */
static int is_behind(const double f[], double sign, int64_t a, int64_t b)
{
    return sign * f[a] > sign * f[b] || (f[a] == f[b] && a > b);
}

/* Puts `position` at the root of a heap that has the last one on top, and lets it sink. */
static void sink(const double f[], double sign, int64_t heap[], int64_t count, int64_t position)
{
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < count; k = child) {
        if (child + 1 < count && is_behind(f, sign, heap[child + 1], heap[child])) child++;
        if (!is_behind(f, sign, heap[child], position)) break;
        heap[k] = heap[child];
    }
    heap[k] = position;
}

static void rise(const double f[], double sign, int64_t heap[], int64_t k)
{
    const int64_t position = heap[k];
    for (; k && is_behind(f, sign, position, heap[(k - 1) / 2]); k = (k - 1) / 2)
        heap[k] = heap[(k - 1) / 2];
    heap[k] = position;
}

/* The half set of samples of a side that come first, without those that are kept; *first: the first f of all
 * of them. */
static int32_t find_candidates(
    const tutti_svm_solver *s, const set *w, const tutti_svm_samples *a, int side, double *first)
{
    const double sign = side == UP ? 1 : -1, C[2] = {tutti_svm_C(s, -1), tutti_svm_C(s, 1)};
    const double *of = a->f;
    int64_t *heap = w->at, count = 0, next = 0;
    double last = INFINITY; /* what does not come before it is no candidate, nor the first */
    for (int64_t i = 0; i < a->rows.count; i++) {
        const double f = sign * of[i], y = a->rows.label[i], alpha = a->alpha[i];
        if (!(f < last)) continue;
        if (!(side == UP ? tutti_svm_is_up : tutti_svm_is_low)(y, alpha, C[y > 0])) continue;
        if (f < sign * *first) *first = of[i];
        while (next < w->kept_here && w->kept_at[next] < i) next++;
        if (next < w->kept_here && w->kept_at[next] == i) continue;
        if (count < half(w)) {
            heap[count] = i;
            rise(of, sign, heap, count++);
        } else {
            sink(of, sign, heap, count, i);
        }
        if (count == half(w)) last = sign * of[heap[0]];
    }
    for (int64_t k = count; k-- > 0;) { /* the last one first */
        candidates(w, w->mine, side)[k] = tutti_svm_samples_member(a, heap[0]);
        sink(of, sign, heap, k, heap[k]);
    }
    return (int32_t)count;
}

static int compare_positions(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void fill_notice(tutti_svm_solver *s, set *w)
{
    const tutti_svm_samples *a = tutti_svm_working(s);
    notice *n = (notice *)w->mine;
    *n = (notice){.up = INFINITY,
        .low = -INFINITY,
        .active = a->rows.count,
        .wish = (int32_t)tutti_svm_own_wish(s)};
    w->kept_here = 0;
    for (int64_t j = 0; j < w->kept; j++) {
        const int64_t i = tutti_svm_samples_find(a, w->members.id[j]);
        kept_of(w, w->mine)[j] = i < 0 ? NAN : a->f[i];
        if (i >= 0) w->kept_at[w->kept_here++] = i;
    }
    qsort(w->kept_at, (size_t)w->kept_here, sizeof *w->kept_at, compare_positions);
    n->count[UP] = find_candidates(s, w, a, UP, &n->up);
    n->count[LOW] = find_candidates(s, w, a, LOW, &n->low);
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
    free(send);
    free(receive);
    free(bytes);
    free(from);
    return status;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A block of rows is copied to columns: of a whole row at once, each value would lie in another page. */
static void mirror_block(set *w, int64_t row, int64_t rows_end, int64_t column, int64_t columns_end)
{
    for (int64_t i = column; i < columns_end; i++)
        for (int64_t j = row; j < rows_end; j++) w->matrix[i * w->q + j] = w->matrix[j * w->q + i];
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
    for (int64_t j = from; j < all->count && !status; j += BLOCK)
        for (int64_t i = 0; i < from; i += BLOCK)
            mirror_block(w, j, least(j + BLOCK, all->count), i, least(i + BLOCK, from));
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

/* Which bounds member k may move away from, as what is added to its f. */
static void mark_sides(const tutti_svm_solver *s, set *w, int64_t k)
{
    const tutti_svm_samples *m = &w->members;
    const double y = m->rows.label[k], C = tutti_svm_C(s, y);
    w->search.up[k] = tutti_svm_is_up(y, m->alpha[k], C) ? 0 : INFINITY;
    w->search.low[k] = tutti_svm_is_low(y, m->alpha[k], C) ? 0 : -INFINITY;
}

/* Until the members' own gap is a tenth of the gap of all, or eps. */
static void solve_set(tutti_svm_solver *s, set *w)
{
    tutti_svm_samples *m = &w->members;
    tutti_svm_search *search = &w->search;
    const tutti_svm_loops *loops = tutti_svm_engine_loops(s->engine);
    const double enough = fmax(s->progress.gap / 10, s->problem.settings.eps / 2);
    const double began_s = tutti_clock_s();
    search->count = m->rows.count;
    for (int64_t k = 0; k < w->q + TUTTI_SVM_SEARCH_SPARE; k++) {
        search->up[k] = INFINITY;
        search->low[k] = -INFINITY;
    }
    for (int64_t k = 0; k < m->rows.count; k++) {
        search->f[k] = m->f[k];
        search->own[k] = w->matrix[k * w->q + k];
        mark_sides(s, w, k);
    }
    search->step = 0;
    search->move_up = search->move_low = w->matrix;
    for (int64_t step = 0; step < 100 * w->q; step++) {
        const int64_t up = loops->move(search);
        if (up < 0) break;
        const double *row = w->matrix + up * w->q;
        double low_f;
        const int64_t low = loops->pair(search, row, up, &low_f);
        if (low < 0 || low_f - search->f[up] <= enough) break;
        search->move_up = row;
        search->move_low = w->matrix + low * w->q;
        search->step = tutti_svm_step(s, m->rows.label[up], &m->alpha[up], m->rows.label[low],
            &m->alpha[low], search->f[low] - search->f[up],
            tutti_svm_curvature(row[up], search->move_low[low], row[low]));
        mark_sides(s, w, up);
        mark_sides(s, w, low);
        s->progress.steps++;
    }
    memcpy(m->f, search->f, (size_t)m->rows.count * sizeof *m->f);
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
