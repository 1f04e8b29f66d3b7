/* The parsers of tutti-svm on damaged text: data, models and ranges, mutated by seed.
 *
 * Usage: fuzz_text [ITERATIONS]. Every text is taken or refused with a sentence; what is taken keeps the
 * promises of rows.h. Of each kind some are taken and some are not. A crash, a hang (the guard's deadline) or, with
 * sanitizers, an invalid access fails. */
#include "apps/svm/model.h"
#include "apps/svm/read.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LEAST_TAKEN: at least one text of this many is taken. */
enum { ITERATIONS = 200000, MOST = 600, LEAST_TAKEN = 200 };

static const char *const seeds[] = {
    "+1 1:0.5 3:-2e-3 7:1\n-1 2:1\n3 5:1 2147483647:12.5\n\n",
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 "
    "-1\nnr_sv 1 1\nSV\n"
    "1 1:1 2:0.5 \n-1 2:-2 \nx\n-1 1\n1 0 1\n",
    "x\n-1 1\n1 0 1\n3 -2.5 4\n",
};
enum { SEEDS = sizeof seeds / sizeof *seeds };

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound ? bound : 1);
}

/* Some changes: bytes, pieces that are removed, repeated or come from elsewhere. */
static size_t mutate(dice *d, char *text, size_t n)
{
    static const char alphabet[] = "0123456789:.-+eE \n\t\rxnainf\\\x01\xff";
    for (size_t change = roll(d, 6) + 1; change > 0; change--) {
        const size_t at = roll(d, n + 1), some = roll(d, 20);
        switch (roll(d, 4)) {
        case 0:
            if (at < n) text[at] = alphabet[roll(d, sizeof alphabet - 1)];
            break;
        case 1:
            if (at + some <= n) {
                memmove(text + at, text + at + some, n - at - some);
                n -= some;
            }
            break;
        case 2:
            if (at + some <= n && n + some < MOST) {
                memmove(text + at + some, text + at, n - at);
                n += some;
            }
            break;
        default:
            n = at;
        }
    }
    return n;
}

static int check_rows(const tutti_rows *rows)
{
    for (int64_t r = 0; r < rows->count; r++) {
        if (!isfinite(rows->label[r]) || rows->first[r] > rows->first[r + 1]) return 0;
        for (int64_t k = rows->first[r]; k < rows->first[r + 1]; k++)
            if (!rows->index[k] || rows->index[k] > rows->columns ||
                !isfinite(tutti_rows_value(rows, k)) ||
                (k > rows->first[r] && rows->index[k] <= rows->index[k - 1]))
                return 0;
    }
    return 1;
}

/* Counts in *taken whether the text is. */
static int try_text(int kind, char *text, size_t n, long *taken)
{
    tutti_rows rows = {0};
    tutti_svm_text found;
    tutti_svm_model model;
    tutti_lines lines;
    tutti_svm_scaling scaling = {0};
    int good = 1;
    if (kind == 0) {
        const tutti_status status = tutti_svm_parse_text(text, n, &found, &rows);
        good = check_rows(&rows) && !status == (found.bad < 0) && (!status || found.reason[0]);
        *taken += !status;
    } else if (kind == 1) {
        if (!tutti_lines_of("fuzz", text, n, &lines) && !tutti_svm_model_parse(&lines, &model)) {
            good = check_rows(&model.rows) && model.classes >= 2;
            ++*taken;
            tutti_svm_model_free(&model);
        }
    } else if (!tutti_lines_of("fuzz", text, n, &lines) &&
               !tutti_svm_scaling_parse(&lines, &scaling)) {
        ++*taken;
        tutti_svm_scaling_free(&scaling);
    }
    tutti_rows_free(&rows);
    return good;
}

/* In memory of its own, so that sanitizers see what is read after it: data end with their last byte, and other texts
 * are followed by the one that tutti_lines_of may change. */
static char *copy_of(int kind, const char *draft, size_t n)
{
    const size_t bytes = kind ? n + 1 : n;
    char *text = malloc(bytes ? bytes : 1);
    if (!text) return NULL;
    memcpy(text, draft, n);
    if (kind) text[n] = '7';
    return text;
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? atol(argv[1]) : testing_fewer() ? 20000 : ITERATIONS;
    const uint64_t seed = testing_seed(11);
    long tried[SEEDS] = {0}, taken[SEEDS] = {0};
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (long i = 0; i < iterations; i++) {
        dice d = {.seed = seed, .iteration = (uint64_t)i};
        const int kind = (int)(i % SEEDS);
        char draft[MOST + 1];
        strcpy(draft, seeds[kind]);
        const size_t n = mutate(&d, draft, strlen(draft));
        char *text = copy_of(kind, draft, n);
        if (!text) return 1;
        const int good = try_text(kind, text, n, &taken[kind]);
        tried[kind]++;
        free(text);
        if (!good) {
            printf("iteration %ld breaks a promise\n", i);
            return 1;
        }
    }
    for (int kind = 0; kind < SEEDS; kind++)
        if (iterations >= 10000 &&
            (taken[kind] < tried[kind] / LEAST_TAKEN || taken[kind] == tried[kind])) {
            printf("of %ld texts like text %d, %ld are taken\n", tried[kind], kind, taken[kind]);
            return 1;
        }
    return 0;
}
