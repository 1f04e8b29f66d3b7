#include "tests/models/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 6 };

static int read_line(FILE *file, golden_line *line)
{
    char text[4096], *at = text;
    do {
        if (!fgets(text, sizeof text, file)) return 0;
    } while (text[0] == '#');
    int used;
    ck_assert_int_eq(sscanf(text, "%31s %63s%n", line->kind, line->name, &used), 2);
    at += used;
    for (line->count = 0; line->count < GOLDEN_NUMBERS; line->count++) {
        char *end;
        line->number[line->count] = strtod(at, &end);
        if (end == at) break;
        at = end;
    }
    return 1;
}

static FILE *open_file(const golden *g)
{
    FILE *file = fopen(testing_source(g->file), "r");
    ck_assert_msg(file != NULL, "cannot open %s", g->file);
    return file;
}

golden_line golden_find(const golden *g, const char *kind, const char *name)
{
    FILE *file = open_file(g);
    golden_line line;
    int found = 0;
    while (!found && read_line(file, &line))
        found = !strcmp(line.kind, kind) && !strcmp(line.name, name);
    fclose(file);
    ck_assert_msg(found, "no line %s %s in %s", kind, name, g->file);
    return line;
}

static void check_number(
    const golden *g, const char *kind, const char *name, double got, double want, double size)
{
    double error = fabs(got - want) / size;
    ck_assert_msg(error < g->tolerance, "%s %s: %.9g, not %.9g: off by %.2g of %.3g", kind, name,
        got, want, error, size);
}

void golden_check_loss(const golden *g, const trial *t, const char *kind, const char *name)
{
    golden_line line = golden_find(g, kind, name);
    check_number(g, kind, name, trial_metric(t, 0) / (double)t->options.batch, line.number[0],
        line.number[0]);
}

void golden_check_logits(const golden *g, const trial *t, const char *tensor, const char *name)
{
    golden_line line = golden_find(g, "logits", name);
    int64_t count;
    const float *got = trial_tensor(t, tensor, &count);
    ck_assert_int_eq(count, line.count);
    double square = 0;
    for (int e = 0; e < line.count; e++) square += line.number[e] * line.number[e];
    for (int e = 0; e < line.count; e++)
        check_number(g, "logits", name, got[e], line.number[e], sqrt(square / line.count));
}

static void check_tensor(
    const golden *g, const trial *t, const golden_line *line, const char *prefix)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", prefix, line->name);
    int64_t count;
    const float *got = trial_tensor(t, name, &count);
    ck_assert_int_eq(line->count, 1 + SAMPLES);
    double square = 0, norm = line->number[0];
    for (int64_t e = 0; e < count; e++) square += (double)got[e] * got[e];
    check_number(g, line->kind, name, sqrt(square), norm, norm);
    for (int i = 0; i < SAMPLES; i++)
        check_number(g, line->kind, name, got[i * (count - 1) / (SAMPLES - 1)], line->number[1 + i],
            norm / sqrt((double)count));
}

void golden_check_tensors(
    const golden *g, const trial *t, const char *kind, const char *prefix, int expected)
{
    FILE *file = open_file(g);
    golden_line line;
    int seen = 0;
    while (read_line(file, &line)) {
        if (strcmp(line.kind, kind)) continue;
        check_tensor(g, t, &line, prefix);
        seen++;
    }
    fclose(file);
    ck_assert_int_eq(seen, expected);
}

int golden_check_zeros(const golden *g, const trial *t, const char *kind, const char *prefix)
{
    FILE *file = open_file(g);
    golden_line line;
    int seen = 0;
    while (read_line(file, &line)) {
        if (strcmp(line.kind, kind)) continue;
        char name[80];
        snprintf(name, sizeof name, "%s%s", prefix, line.name);
        int64_t count;
        const float *got = trial_tensor(t, name, &count);
        double square = 0;
        for (int64_t e = 0; e < count; e++) square += (double)got[e] * got[e];
        check_number(g, kind, name, sqrt(square), 0, line.number[0]);
        seen++;
    }
    fclose(file);
    return seen;
}
