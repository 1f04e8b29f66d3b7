#include "tests/support/sched_print.h"

#include "collectives/sched/walk.h"
#include "dag/base/log.h"

#include <stdlib.h>

/* "s4": a letter names the space; OUT has none. */
static void print_spot(FILE *out, tutti_spot spot)
{
    static const char *const letters[TUTTI_SPACES] = {"i", "e", "", "s", "w"};
    fprintf(out, "%s%lld", letters[spot.space], (long long)spot.offset);
}

static void print_range(FILE *out, tutti_spot spot, int64_t count)
{
    print_spot(out, spot);
    fprintf(out, "+%lld", (long long)count);
}

static void print_step(FILE *out, const tutti_sched_step *step)
{
    switch (step->kind) {
    case TUTTI_STEP_SEND:
        fprintf(out, ">%d:", step->peer);
        print_range(out, step->src, step->count);
        break;
    case TUTTI_STEP_RECV:
        fprintf(out, "<%d:", step->peer);
        print_range(out, step->dst, step->count);
        break;
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY:
        print_range(out, step->dst, step->count);
        fputs(step->kind == TUTTI_STEP_REDUCE && !step->src_first ? "+=" : "=", out);
        print_spot(out, step->src);
        fputs(step->src_first ? "+" : "", out);
        break;
    }
}

/* What one rank does on one level, as text; NULL when memory runs out. */
static char *cell_text(const tutti_sched *s, const int *level, int wanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    int any = 0;
    for (int i = 0; i < s->n; i++) {
        if (level[i] != wanted) continue;
        if (any++) fputc(' ', out);
        print_step(out, &s->step[i]);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Columns have the same width, except for the last, which ends with its text. */
static void print_column(FILE *out, const char *text, int width, int last)
{
    if (!last)
        fprintf(out, " | %-*s", width, text);
    else
        fprintf(out, text[0] ? " | %s\n" : " |\n", text);
}

/* A table of text: a line of ranks, then one line per level. */
typedef struct table {
    int P, lines, width;
    char **cells; /* [lines * P] */
} table;

static int fill_table(table *t, const tutti_sched *const ranks[], int *const *level)
{
    for (int k = 0; k < t->lines; k++) {
        for (int r = 0; r < t->P; r++) {
            char *text = cell_text(ranks[r], level[r], k);
            if (!text) return 0;
            t->cells[k * t->P + r] = text;
            int width = 0;
            while (text[width]) width++;
            if (width > t->width) t->width = width;
        }
    }
    return 1;
}

static int is_empty(const table *t, int line)
{
    int empty = 1;
    for (int r = 0; r < t->P; r++) empty &= !t->cells[line * t->P + r][0];
    return empty;
}

static void print_table(FILE *out, const table *t)
{
    fprintf(out, "step");
    for (int r = 0; r < t->P; r++) {
        char title[32];
        snprintf(title, sizeof title, "rank %d", r);
        print_column(out, title, t->width, r == t->P - 1);
    }
    for (int k = 0; k < t->lines; k++) {
        if (is_empty(t, k)) continue;
        fprintf(out, "%4d", k);
        for (int r = 0; r < t->P; r++)
            print_column(out, t->cells[k * t->P + r], t->width, r == t->P - 1);
    }
}

static int lines_of(const tutti_sched *const ranks[], int P, int *const *level)
{
    int lines = 1;
    for (int r = 0; r < P; r++)
        for (int i = 0; i < ranks[r]->n; i++)
            if (level[r][i] >= lines) lines = level[r][i] + 1;
    return lines;
}

tutti_status tutti_sched_print(const tutti_sched *const ranks[], int P, FILE *out)
{
    int **level;
    if (P < 1) return tutti_fail(TUTTI_ERR_INVAL, "no ranks to print");
    tutti_status status = tutti_sched_levels(ranks, P, &level);
    if (status) return status;
    table t = {.P = P, .lines = lines_of(ranks, P, level), .width = 6};
    t.cells = calloc((size_t)t.lines * (size_t)P, sizeof *t.cells);
    if (t.cells && fill_table(&t, ranks, level))
        print_table(out, &t);
    else
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory to print the schedules of %d ranks", P);
    for (int i = 0; t.cells && i < t.lines * P; i++) free(t.cells[i]);
    free(t.cells);
    free(level);
    if (!status && ferror(out)) status = tutti_fail(TUTTI_ERR_IO, "printing a schedule failed");
    return status;
}
