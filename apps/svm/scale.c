#include "apps/svm/scale.h"

#include "apps/svm/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Makes room for features up to `columns`; new ones have no range. */
static tutti_status widen_ranges(int64_t columns, tutti_svm_scaling *s)
{
    const int64_t before = s->min ? s->columns + 1 : 0;
    tutti_status status = tutti_svm_widen(&s->min, columns + 1, sizeof *s->min);
    if (!status) status = tutti_svm_widen(&s->max, columns + 1, sizeof *s->max);
    for (int64_t k = before; k <= columns && !status; k++) {
        s->min[k] = INFINITY;
        s->max[k] = -INFINITY;
    }
    s->columns = columns;
    return status;
}

static void widen_range(tutti_svm_scaling *s, int64_t index, double low, double high)
{
    s->min[index] = fmin(low, s->min[index]);
    s->max[index] = fmax(high, s->max[index]);
}

tutti_status tutti_svm_scaling_measure(tutti_svm_world *world, const tutti_rows *rows, double lower,
    double upper, tutti_svm_scaling *s)
{
    const int64_t n = rows->columns + 1, most = ((int64_t)64 << 20) / world->size / 8 + 1;
    const int64_t block = n < most ? n : most; /* columns at once */
    *s = (tutti_svm_scaling){.lower = lower, .upper = upper};
    tutti_status status = widen_ranges(rows->columns, s);
    double *all = tutti_svm_new(block * world->size, sizeof *all);
    int64_t *seen = tutti_svm_new(n, sizeof *seen);
    if (!all || !seen) status = TUTTI_ERR_NOMEM;
    for (int64_t k = 0; k < rows->nonzeros && !status; k++) {
        const double x = tutti_rows_value(rows, k);
        widen_range(s, rows->index[k], x, x);
        seen[rows->index[k]]++;
    }
    for (int64_t k = 1; k < n && !status; k++)
        if (seen[k] < rows->count) widen_range(s, k, 0, 0);
    for (int side = 0; side < 2 && !status; side++) { /* the least of all ranks, then the largest */
        for (int64_t from = 0; from < n && !status; from += block) {
            const int64_t width = n - from < block ? n - from : block;
            double *mine = (side ? s->max : s->min) + from;
            status = tutti_svm_gather(world, mine, width * (int64_t)sizeof *mine, all);
            for (int64_t k = 0; k < width * world->size && !status; k++)
                mine[k % width] =
                    side ? fmax(mine[k % width], all[k]) : fmin(mine[k % width], all[k]);
        }
    }
    free(all);
    free(seen);
    if (status) tutti_svm_scaling_free(s);
    return status;
}

static double scale_value(const tutti_svm_scaling *s, int64_t k, double x)
{
    if (x == s->min[k]) return s->lower;
    if (x == s->max[k]) return s->upper;
    return s->lower + (s->upper - s->lower) * (x - s->min[k]) / (s->max[k] - s->min[k]);
}

tutti_status tutti_svm_scaling_apply(const tutti_svm_scaling *s, tutti_rows *rows)
{
    tutti_rows to = {.from = rows->from};
    tutti_status status = TUTTI_OK;
    for (int64_t r = 0; r < rows->count && !status; r++) {
        status = tutti_rows_add(&to, rows->label[r]);
        int64_t next = rows->first[r];
        for (int64_t k = 1; k <= s->columns && !status; k++) {
            double x = 0;
            while (next < rows->first[r + 1] && rows->index[next] < k) next++;
            if (next < rows->first[r + 1] && rows->index[next] == k)
                x = tutti_rows_value(rows, next);
            if (!(s->min[k] < s->max[k])) continue;
            x = scale_value(s, k, x);
            if (x != 0) status = tutti_rows_put(&to, (uint32_t)k, x);
        }
    }
    if (to.columns < rows->columns) to.columns = rows->columns;
    tutti_rows_free(status ? &to : rows);
    if (!status) *rows = to;
    return status;
}

void tutti_svm_scaling_print(const tutti_svm_scaling *s, FILE *out)
{
    fprintf(out, "x\n%.17g %.17g\n", s->lower, s->upper);
    for (int64_t k = 1; k <= s->columns; k++)
        if (s->min[k] != s->max[k] && s->min[k] <= s->max[k])
            fprintf(out, "%" PRId64 " %.17g %.17g\n", k, s->min[k], s->max[k]);
}

tutti_status tutti_svm_scaling_parse(tutti_lines *lines, tutti_svm_scaling *s)
{
    char *line, rest;
    double low, high;
    int64_t index;
    *s = (tutti_svm_scaling){0};
    tutti_status status = tutti_lines_next(lines, &line);
    if (status || !line) return status;
    if (strcmp(line, "x") != 0) return tutti_lines_fail(lines, "ranges begin with a line x");
    status = tutti_lines_next(lines, &line);
    if (!status && (!line || sscanf(line, "%lf %lf %c", &s->lower, &s->upper, &rest) != 2 ||
                       !(s->lower < s->upper)))
        status = tutti_lines_fail(lines, "two ascending numbers should follow the line x");
    while (!status && !(status = tutti_lines_next(lines, &line)) && line) {
        if (sscanf(line, "%" SCNd64 " %lf %lf %c", &index, &low, &high, &rest) != 3 || index < 1 ||
            index > INT32_MAX || !isfinite(low) || !isfinite(high))
            status = tutti_lines_fail(lines, "it is not INDEX MIN MAX");
        if (!status && index > s->columns) status = widen_ranges(index, s);
        if (status) break;
        s->min[index] = low;
        s->max[index] = high;
    }
    if (status) tutti_svm_scaling_free(s);
    return status;
}

tutti_status tutti_svm_scaling_read(const char *path, tutti_svm_scaling *s)
{
    tutti_lines lines;
    tutti_status status = tutti_lines_open(path, &lines);
    if (status) return status;
    status = tutti_svm_scaling_parse(&lines, s);
    if (!status && !s->columns) status = tutti_lines_fail(&lines, "it has no ranges");
    tutti_lines_close(&lines);
    return status;
}

void tutti_svm_scaling_free(tutti_svm_scaling *s)
{
    free(s->min);
    free(s->max);
    *s = (tutti_svm_scaling){0};
}
