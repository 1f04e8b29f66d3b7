#include "apps/svm/scale.h"

#include "apps/svm/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- features ---- */

/* The place of a feature, or of the first one behind it; it is not before `from`. */
static int64_t place_of(const tutti_svm_scaling *s, uint32_t index, int64_t from)
{
    int64_t low = from, high = s->count;
    for (; low < high && low < from + 2; low++) /* as in rows that have every feature */
        if (s->index[low] >= index) return low;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->index[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int has_feature(const tutti_svm_scaling *s, int64_t place, uint32_t index)
{
    return place < s->count && s->index[place] == index;
}

static int compare_indices(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds features that may be there already, or twice; sorts `more`. */
static tutti_status add_features(tutti_svm_scaling *s, uint32_t more[], int64_t n)
{
    uint32_t *all = tutti_svm_new(s->count + n, sizeof *all);
    int64_t count = 0;
    if (!all) return TUTTI_ERR_NOMEM;
    qsort(more, (size_t)n, sizeof *more, compare_indices);
    for (int64_t a = 0, b = 0; a < s->count || b < n;) {
        const int old = b == n || (a < s->count && s->index[a] <= more[b]);
        const uint32_t index = old ? s->index[a++] : more[b++];
        if (!count || all[count - 1] != index) all[count++] = index;
    }
    free(s->index);
    s->index = all;
    s->count = count;
    return TUTTI_OK;
}

/* The features of this rank's rows. New ones are gathered until there are many, and added together. */
static tutti_status list_features(const tutti_rows *rows, tutti_svm_scaling *s)
{
    const int64_t room = rows->nonzeros / 8 + 4096;
    uint32_t *more = tutti_svm_new(room, sizeof *more);
    int64_t n = 0;
    tutti_status status = more ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < rows->count && !status; r++)
        for (int64_t k = rows->first[r], at = 0; k < rows->first[r + 1] && !status; k++) {
            at = place_of(s, rows->index[k], at);
            if (has_feature(s, at, rows->index[k])) continue;
            more[n++] = rows->index[k];
            if (n < room) continue;
            status = add_features(s, more, n);
            n = at = 0;
        }
    if (!status) status = add_features(s, more, n);
    free(more);
    return status;
}

/* Adds those of the other ranks. */
static tutti_status share_features(tutti_svm_world *world, tutti_svm_scaling *s)
{
    int64_t bytes = s->count * (int64_t)sizeof *s->index, before, all;
    int64_t *counts = tutti_svm_new(world->size, sizeof *counts);
    uint32_t *index = NULL;
    tutti_status status =
        counts ? tutti_svm_place(world, s->count, &before, &all) : TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather(world, &bytes, sizeof bytes, counts);
    if (!status && !(index = tutti_svm_new(all, sizeof *index))) status = TUTTI_ERR_NOMEM;
    if (!status) status = tutti_svm_gather_counts(world, s->index, counts, index);
    if (!status) status = add_features(s, index, all);
    free(counts);
    free(index);
    return status;
}

/* ---- ranges ---- */

static tutti_status new_ranges(tutti_svm_scaling *s)
{
    s->min = tutti_svm_new(s->count, sizeof *s->min);
    s->max = tutti_svm_new(s->count, sizeof *s->max);
    if (!s->min || !s->max) return TUTTI_ERR_NOMEM;
    for (int64_t f = 0; f < s->count; f++) {
        s->min[f] = INFINITY;
        s->max[f] = -INFINITY;
    }
    return TUTTI_OK;
}

static void widen_range(tutti_svm_scaling *s, int64_t f, double x)
{
    s->min[f] = fmin(x, s->min[f]);
    s->max[f] = fmax(x, s->max[f]);
}

/* Those of this rank's rows. */
static tutti_status measure_rows(const tutti_rows *rows, tutti_svm_scaling *s)
{
    int64_t *seen = tutti_svm_new(s->count, sizeof *seen);
    tutti_status status = seen ? new_ranges(s) : TUTTI_ERR_NOMEM;
    for (int64_t r = 0; r < rows->count && !status; r++)
        for (int64_t k = rows->first[r], f = 0; k < rows->first[r + 1]; k++) {
            f = place_of(s, rows->index[k], f);
            widen_range(s, f, tutti_rows_value(rows, k));
            seen[f]++;
        }
    for (int64_t f = 0; f < s->count && !status; f++)
        if (seen[f] < rows->count) widen_range(s, f, 0);
    free(seen);
    return status;
}

/* Those of all ranks' rows. */
static tutti_status share_ranges(tutti_svm_world *world, tutti_svm_scaling *s)
{
    const int64_t n = s->count, most = ((int64_t)64 << 20) / world->size / 8 + 1;
    const int64_t block = n < most ? n : most; /* features at once */
    double *all = tutti_svm_new(block * world->size, sizeof *all);
    tutti_status status = all ? TUTTI_OK : TUTTI_ERR_NOMEM;
    for (int side = 0; side < 2 && !status; side++) /* the least of all ranks, then the largest */
        for (int64_t from = 0; from < n && !status; from += block) {
            const int64_t width = n - from < block ? n - from : block;
            double *mine = (side ? s->max : s->min) + from;
            status = tutti_svm_gather(world, mine, width * (int64_t)sizeof *mine, all);
            for (int64_t k = 0; k < width * world->size && !status; k++)
                mine[k % width] =
                    side ? fmax(mine[k % width], all[k]) : fmin(mine[k % width], all[k]);
        }
    free(all);
    return status;
}

static int is_scaled(const tutti_svm_scaling *s, int64_t f)
{
    return s->min[f] < s->max[f];
}

static double scale_value(const tutti_svm_scaling *s, int64_t f, double x)
{
    const double min = s->min[f], max = s->max[f];
    if (x == min) return s->lower;
    if (x == max) return s->upper;
    const double y = s->lower + (s->upper - s->lower) * (x - min) / (max - min);
    if (isfinite(y) && isfinite(max - min)) return y;
    const double share = (x / 4 - min / 4) / (max / 4 - min / 4); /* no difference overflows */
    if (!isfinite(share)) return y;
    return s->lower * (1 - share) + s->upper * share;
}

static tutti_status list_filled(tutti_svm_scaling *s)
{
    s->fill = tutti_svm_new(s->count, sizeof *s->fill);
    if (!s->fill) return TUTTI_ERR_NOMEM;
    for (int64_t f = 0; f < s->count; f++)
        if (is_scaled(s, f) && scale_value(s, f, 0) != 0) s->fill[s->filled++] = f;
    return TUTTI_OK;
}

tutti_status tutti_svm_scaling_measure(tutti_svm_world *world, const tutti_rows *rows, double lower,
    double upper, tutti_svm_scaling *s)
{
    *s = (tutti_svm_scaling){.lower = lower, .upper = upper, .columns = rows->columns};
    tutti_status status = tutti_svm_agree(world, list_features(rows, s));
    if (!status) status = share_features(world, s);
    if (!status) status = measure_rows(rows, s);
    status = tutti_svm_agree(world, status);
    if (!status) status = share_ranges(world, s);
    if (!status) status = list_filled(s);
    if (status) tutti_svm_scaling_free(s);
    return status;
}

/* ---- rows ---- */

tutti_status tutti_svm_scaling_add(
    const tutti_svm_scaling *s, const tutti_rows *rows, int64_t r, tutti_rows *to)
{
    tutti_status status = tutti_rows_add(to, rows->label[r]);
    int64_t k = rows->first[r], at = 0, next = 0;
    const int64_t end = rows->first[r + 1];
    while ((k < end || next < s->filled) && !status) {
        double x = 0;
        int64_t f = next < s->filled ? s->fill[next] : s->count;
        if (k < end && (f == s->count || rows->index[k] <= s->index[f])) {
            f = at = place_of(s, rows->index[k], at);
            x = tutti_rows_value(rows, k);
            if (!has_feature(s, f, rows->index[k++]) || !is_scaled(s, f)) continue;
        }
        if (next < s->filled && f == s->fill[next]) next++;
        x = scale_value(s, f, x);
        if (x != 0) status = tutti_rows_put(to, s->index[f], x);
    }
    return status;
}

tutti_status tutti_svm_scaling_apply(const tutti_svm_scaling *s, tutti_rows *rows)
{
    tutti_rows to = {.from = rows->from};
    tutti_status status = TUTTI_OK;
    for (int64_t r = 0; r < rows->count && !status; r++)
        status = tutti_svm_scaling_add(s, rows, r, &to);
    if (to.columns < rows->columns) to.columns = rows->columns;
    tutti_rows_free(status ? &to : rows);
    if (!status) *rows = to;
    return status;
}

/* The text of rows from *next on, until it has a piece's bytes; *next: the row behind them. */
static tutti_status print_piece(const tutti_svm_scaling *s, const tutti_rows *rows, int64_t piece,
    int64_t *next, char **text, size_t *bytes)
{
    tutti_rows row = {0};
    *text = NULL;
    *bytes = 0;
    FILE *out = open_memstream(text, bytes);
    tutti_status status = out ? TUTTI_OK : tutti_svm_no_memory(1, 1);
    while (*next < rows->count && !status && ftell(out) < piece) {
        tutti_rows_clear(&row);
        status = tutti_svm_scaling_add(s, rows, *next, &row);
        if (status) break;
        int lost = fprintf(out, "%.17g ", row.label[0]) < 0;
        for (int64_t k = 0; k < row.nonzeros; k++)
            lost |= fprintf(out, "%" PRIu32 ":%g ", row.index[k], tutti_rows_value(&row, k)) < 0;
        lost |= fprintf(out, "\n") < 0;
        if (lost) status = tutti_svm_no_memory(1, *bytes);
        ++*next;
    }
    tutti_rows_free(&row);
    if (out && fclose(out) && !status) status = tutti_svm_no_memory(1, *bytes);
    return status;
}

/* Ranks take turns, but all print their first piece at once. */
tutti_status tutti_svm_scaling_write_rows(
    const tutti_svm_scaling *s, const tutti_rows *rows, tutti_svm_output *output)
{
    tutti_svm_world *world = output->world;
    char *text;
    size_t bytes;
    int64_t next = 0;
    tutti_status status = print_piece(s, rows, output->piece, &next, &text, &bytes);
    status = tutti_svm_agree(world, status);
    for (int turn = 0; turn < world->size && !status;) {
        const int mine = turn == world->rank;
        int64_t left = mine && next < rows->count;
        status = tutti_svm_output_write(output, text, mine ? bytes : 0);
        if (!status) status = tutti_svm_sum(world, &left);
        if (!status && !left) turn++;
        if (status || !left) continue;
        if (mine) free(text);
        if (mine) status = print_piece(s, rows, output->piece, &next, &text, &bytes);
        status = tutti_svm_agree(world, status);
    }
    free(text);
    return status;
}

/* ---- svm-scale's file ---- */

void tutti_svm_scaling_print(const tutti_svm_scaling *s, FILE *out)
{
    fprintf(out, "x\n%.17g %.17g\n", s->lower, s->upper);
    for (int64_t f = 0; f < s->count; f++)
        if (is_scaled(s, f))
            fprintf(out, "%" PRIu32 " %.17g %.17g\n", s->index[f], s->min[f], s->max[f]);
}

/* A line INDEX MIN MAX. */
typedef struct range {
    uint32_t index;
    int64_t line;
    double min, max;
} range;

static int compare_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* The last line of a feature is the one that holds. */
static tutti_status take_ranges(tutti_svm_scaling *s, range all[], int64_t n)
{
    s->index = tutti_svm_new(n, sizeof *s->index);
    s->min = tutti_svm_new(n, sizeof *s->min);
    s->max = tutti_svm_new(n, sizeof *s->max);
    if (!s->index || !s->min || !s->max) return TUTTI_ERR_NOMEM;
    if (n) qsort(all, (size_t)n, sizeof *all, compare_ranges);
    for (int64_t i = 0; i < n; i++) {
        if (i + 1 < n && all[i + 1].index == all[i].index) continue;
        s->index[s->count] = all[i].index;
        s->min[s->count] = all[i].min;
        s->max[s->count++] = all[i].max;
    }
    s->columns = s->count ? s->index[s->count - 1] : 0;
    return list_filled(s);
}

tutti_status tutti_svm_scaling_parse(tutti_lines *lines, tutti_svm_scaling *s)
{
    char *line, rest;
    double low, high;
    int64_t index, n = 0, room = 0;
    range *all = NULL;
    *s = (tutti_svm_scaling){0};
    tutti_status status = tutti_lines_next(lines, &line);
    if (status || !line) return status;
    if (strcmp(line, "x") != 0) return tutti_lines_fail(lines, "ranges begin with a line x");
    status = tutti_lines_next(lines, &line);
    if (!status && (!line || sscanf(line, "%lf %lf %c", &s->lower, &s->upper, &rest) != 2 ||
                       !isfinite(s->lower) || !isfinite(s->upper) || !(s->lower < s->upper)))
        status = tutti_lines_fail(lines, "two ascending numbers should follow the line x");
    while (!status && !(status = tutti_lines_next(lines, &line)) && line) {
        if (sscanf(line, "%" SCNd64 " %lf %lf %c", &index, &low, &high, &rest) != 3 || index < 1 ||
            index > INT32_MAX || !isfinite(low) || !isfinite(high))
            status = tutti_lines_fail(lines, "it is not INDEX MIN MAX");
        if (!status && n == room) {
            room = room * 3 / 2 + 1024;
            status = tutti_svm_widen(&all, room, sizeof *all);
        }
        if (!status) all[n] = (range){(uint32_t)index, n, low, high};
        n++;
    }
    if (!status) status = take_ranges(s, all, n);
    free(all);
    if (status) tutti_svm_scaling_free(s);
    return status;
}

tutti_status tutti_svm_scaling_read(const char *path, tutti_svm_scaling *s)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status;
    status = tutti_svm_scaling_parse(&lines, s);
    if (!status && !tutti_svm_scaling_is_set(s))
        status = tutti_lines_fail(&lines, "it has no ranges");
    tutti_lines_close(&lines);
    return status;
}

void tutti_svm_scaling_free(tutti_svm_scaling *s)
{
    free(s->index);
    free(s->min);
    free(s->max);
    free(s->fill);
    *s = (tutti_svm_scaling){0};
}
