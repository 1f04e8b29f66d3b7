#include "apps/svm/engine.h"

#include "apps/svm/cache.h"
#include "apps/svm/memory.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 256,   /* rows */
    GROUP = 256,  /* members whose panels are in memory together */
    PLAIN = 4096, /* up to this many features, a panel has a line for each */
    PANEL_MB = 64,
};

struct tutti_svm_engine {
    tutti_svm_world *world;
    tutti_svm_engine_options options;
    const tutti_svm_loops *loops;
    tutti_svm_cache *cache;
    /* [columns + 1]: line 0 is that of features that no member has; NULL: no map */
    uint32_t *place, *placed; /* placed: features that have a line */
    int64_t lines, line_room;
    char *panel, *square; /* of the group's panels */
    size_t panel_bytes;
    char *scratch; /* [workers][GROUP][TILE] */
    int64_t evaluations;
};

int tutti_svm_needs_doubles(const tutti_svm_kernel *kernel, double largest)
{
    static const double most = 32;
    const int bends = kernel->kind == TUTTI_SVM_RBF || kernel->kind == TUTTI_SVM_SIGMOID;
    return bends && fabs(kernel->gamma) * largest > most;
}

void tutti_svm_quanta(double bound, double quantum[2])
{
    int exponent;
    frexp(bound > 0 ? bound : 1, &exponent);
    quantum[0] = ldexp(1.5, exponent + 1);
    quantum[1] = ldexp(1.5, exponent - 19);
}

tutti_status tutti_svm_engine_new(
    tutti_svm_world *world, const tutti_svm_engine_options *options, tutti_svm_engine **engine)
{
    tutti_svm_engine *e = tutti_svm_new(1, sizeof *e);
    if (!e) return TUTTI_ERR_NOMEM;
    e->world = world;
    e->options = *options;
    e->loops = tutti_svm_loops_of(!options->floats);
    const size_t element = e->loops->element, width = (size_t)e->loops->width;
    tutti_status status =
        tutti_svm_cache_new((size_t)options->cache_bytes, element, options->rows, &e->cache);
    if (options->columns > PLAIN) e->place = tutti_svm_new(options->columns, sizeof *e->place);
    e->square = tutti_mem_aligned((GROUP + width) * element);
    e->scratch = tutti_mem_aligned((size_t)world->workers * GROUP * TILE * element);
    if (!status && (!e->square || !e->scratch || (options->columns > PLAIN && !e->place)))
        status = tutti_svm_no_memory(GROUP, TILE * element);
    if (status)
        tutti_svm_engine_free(e);
    else
        *engine = e;
    return status;
}

void tutti_svm_engine_free(tutti_svm_engine *e)
{
    if (!e) return;
    free(e->scratch);
    free(e->square);
    free(e->panel);
    free(e->place);
    free(e->placed);
    tutti_svm_cache_free(e->cache);
    free(e);
}

const tutti_svm_loops *tutti_svm_engine_loops(const tutti_svm_engine *e)
{
    return e->loops;
}

int64_t tutti_svm_engine_evaluations(const tutti_svm_engine *e)
{
    return e->evaluations;
}

void tutti_svm_engine_keep(tutti_svm_engine *e, int64_t rows, const int64_t which[])
{
    tutti_svm_cache_keep(e->cache, rows, which);
}

void tutti_svm_engine_renew(tutti_svm_engine *e, int64_t rows)
{
    tutti_svm_cache_clear(e->cache, rows);
}

/* ---- panels ---- */

/* Gives each feature of these members a line in the panel; *lines: how many there are. */
static tutti_status place_features(
    tutti_svm_engine *e, const tutti_rows *members, int n, const int64_t which[], int64_t *lines)
{
    *lines = e->options.columns + 1;
    if (!e->place) return TUTTI_OK;
    for (int64_t k = 0; k < e->lines; k++) e->place[e->placed[k]] = 0;
    e->lines = 0;
    for (int j = 0; j < n; j++)
        for (int64_t k = members->first[which[j]]; k < members->first[which[j] + 1]; k++) {
            uint32_t *place = &e->place[members->index[k]];
            if (*place) continue;
            if (e->lines == e->line_room) {
                const int64_t room = e->line_room * 2 + 1024;
                tutti_status status = tutti_svm_widen(&e->placed, room, sizeof *e->placed);
                if (status) return status;
                e->line_room = room;
            }
            e->placed[e->lines++] = members->index[k];
            *place = (uint32_t)e->lines;
        }
    *lines = e->lines + 1;
    return TUTTI_OK;
}

static void put_real(const tutti_svm_engine *e, char *to, size_t at, double x)
{
    if (e->options.floats)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

/* Fills panels with these members. *lines: of each. */
static tutti_status fill_panels(
    tutti_svm_engine *e, const tutti_rows *members, int n, const int64_t which[], int64_t *lines)
{
    const size_t width = (size_t)e->loops->width, bytes = e->loops->element;
    const size_t panels = ((size_t)n + width - 1) / width;
    tutti_status status = place_features(e, members, n, which, lines);
    if (status) return status;
    const size_t panel = (size_t)*lines * width, all = panels * panel * bytes;
    if (all > e->panel_bytes) {
        free(e->panel);
        e->panel = tutti_mem_aligned(all);
        e->panel_bytes = e->panel ? all : 0;
        if (!e->panel) return tutti_svm_no_memory(1, all);
    } else {
        memset(e->panel, 0, all);
    }
    memset(e->square, 0, panels * width * bytes);
    for (int j = 0; j < n; j++) {
        const int64_t r = which[j];
        const size_t at = (size_t)j / width * panel + (size_t)j % width;
        put_real(e, e->square, (size_t)j, members->square[r]);
        for (int64_t k = members->first[r]; k < members->first[r + 1]; k++) {
            const uint32_t index = members->index[k];
            const size_t line = e->place ? e->place[index] : index;
            put_real(e, e->panel, at + line * width, tutti_rows_value(members, k));
        }
    }
    return TUTTI_OK;
}

/* ---- a pass over all rows ---- */

/* Members of a pass that are worked on together: `missing` of them are in the panels, and their values go to
 * the cache, or to scratch where that has no room. */
typedef struct pass {
    tutti_svm_engine *engine;
    const tutti_rows *rows;
    int members, missing;
    int64_t member[GROUP]; /* its row among the members */
    double weight[GROUP];
    char *cached[GROUP];   /* NULL: scratch */
    int from_panel[GROUP]; /* [missing]: which of the group they are */
    int64_t lines;
    const tutti_svm_exact *exact;
    double quantum[2];
    double *sum;
    int64_t stride; /* of `sum` as a matrix; 0: sums */
} pass;

static void fill_tile(const pass *p, int64_t from, int64_t to, char *const at[])
{
    const tutti_svm_engine *e = p->engine;
    const int width = e->loops->width;
    const size_t bytes = e->loops->element;
    for (int first = 0; first < p->missing; first += width) {
        void *to_member[TUTTI_SVM_PANEL_BYTES / sizeof(float)];
        const int n = p->missing - first < width ? p->missing - first : width;
        for (int j = 0; j < n; j++) to_member[j] = at[p->from_panel[first + j]];
        const tutti_svm_tile tile = {.kernel = e->options.kernel,
            .from = from,
            .to = to,
            .first = p->rows->first,
            .index = p->rows->index,
            .place = e->place,
            .value = p->rows->value,
            .square = p->rows->square,
            .panel = e->panel + (size_t)first * (size_t)p->lines * bytes,
            .panel_square = e->square + (size_t)first * bytes,
            .members = n,
            .to_member = to_member};
        e->loops->values(&tile);
    }
}

static void store_matrix(const pass *p, int64_t from, int64_t to, char *const at[])
{
    for (int j = 0; j < p->members; j++) {
        double *row = p->sum + p->member[j] * p->stride;
        for (int64_t i = from; i < to; i++)
            row[i] = p->rows->floats ? (double)((const float *)at[j])[i - from]
                                     : ((const double *)at[j])[i - from];
    }
}

static void work_on_tile(const pass *p, int64_t from, int64_t to, char *scratch)
{
    const size_t bytes = p->engine->loops->element;
    char *at[GROUP];
    for (int j = 0; j < p->members; j++)
        at[j] =
            p->cached[j] ? p->cached[j] + (size_t)from * bytes : scratch + (size_t)j * TILE * bytes;
    fill_tile(p, from, to, at);
    if (p->stride) {
        store_matrix(p, from, to, at);
        return;
    }
    const tutti_svm_combination c = {.rows = to - from,
        .members = p->members,
        .value = (const void *const *)at,
        .weight = p->weight,
        .sum = p->sum + from,
        .rest = p->exact ? p->exact->rest + from : NULL,
        .quantum = {p->quantum[0], p->quantum[1]}};
    (p->exact ? p->engine->loops->combine_exactly : p->engine->loops->combine)(&c);
}

static void work_on_part(void *ctx, int part)
{
    const pass *p = ctx;
    const tutti_svm_engine *e = p->engine;
    char *scratch = e->scratch + (size_t)part * GROUP * TILE * e->loops->element;
    const int64_t count = p->rows->count, stride = (int64_t)e->world->workers * TILE;
    for (int64_t from = (int64_t)part * TILE; from < count; from += stride)
        work_on_tile(p, from, from + TILE < count ? from + TILE : count, scratch);
}

static tutti_status run_pass(pass *p, const tutti_rows *members)
{
    tutti_svm_engine *e = p->engine;
    int64_t which[GROUP];
    for (int j = 0; j < p->missing; j++) which[j] = p->member[p->from_panel[j]];
    tutti_status status =
        p->missing ? fill_panels(e, members, p->missing, which, &p->lines) : TUTTI_OK;
    if (status || !p->members) return status;
    e->evaluations += (int64_t)p->missing * p->rows->count;
    return tutti_svm_run(e->world, e->world->workers, work_on_part, p);
}

/* Features with a line of their own may be as many as the values of a group: few members then. */
static int group_size(const tutti_svm_engine *e, const tutti_rows *members)
{
    if (!e->place || !members->count) return GROUP;
    const double mean = (double)members->nonzeros / (double)members->count + 1;
    const double line = TUTTI_SVM_PANEL_BYTES, width = e->loops->width;
    int n = GROUP; /* n members: n / width panels of n * mean lines */
    while (n > (int)width && n * mean * line * (n / width) > PANEL_MB * 1e6) n -= (int)width;
    return n;
}

/* All members but those of weight 0, in groups; `like` has what the passes share. */
static tutti_status run_passes(
    const pass *like, const tutti_rows *members, const int64_t id[], const double weight[])
{
    tutti_svm_engine *e = like->engine;
    const int most = group_size(e, members);
    tutti_status status = TUTTI_OK;
    for (int64_t next = 0; next < members->count && !status;) {
        pass p = *like;
        tutti_svm_cache_begin(e->cache);
        for (; next < members->count && p.members < most; next++) {
            int known = 0;
            if (weight && weight[next] == 0) continue;
            p.member[p.members] = next;
            p.weight[p.members] = weight ? weight[next] : 0;
            p.cached[p.members] = id ? tutti_svm_cache_take(e->cache, id[next], &known) : NULL;
            if (!known) p.from_panel[p.missing++] = p.members;
            p.members++;
        }
        status = run_pass(&p, members);
    }
    return status;
}

tutti_status tutti_svm_engine_add(tutti_svm_engine *e, const tutti_rows *rows,
    const tutti_rows *members, const int64_t id[], const double weight[],
    const tutti_svm_exact *exact, double sum[])
{
    pass p = {.engine = e, .rows = rows, .exact = exact, .sum = sum};
    if (exact) tutti_svm_quanta(exact->bound, p.quantum);
    return run_passes(&p, members, id, weight);
}

tutti_status tutti_svm_engine_matrix(tutti_svm_engine *e, const tutti_rows *rows,
    const tutti_rows *members, int64_t stride, double value[])
{
    const pass p = {.engine = e, .rows = rows, .sum = value, .stride = stride};
    return run_passes(&p, members, NULL, NULL);
}
