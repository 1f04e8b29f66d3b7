/* Damaged rules: fuzz_rules [ITERATIONS]. Texts that are right are changed, joined and cut in random
 * places. Whatever comes, the reader reads it or names a line; what it reads, it prints so that it reads the same
 * again. */
#include "collectives/rules_text.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 20000, MOST = 4096 };

static const char *const lines[] = {"rules 1\n", "topology 00000000000000ff\n",
    "mpi Open MPI v4.1.4\n", "version 0.2.0\n", "each near 1 -> segment 512KiB\n",
    "allreduce P 8 element 4 wide 0 from 64KiB -> ring segment 60KiB chunk 4MiB\n",
    "reduce P 3- power-of-two -> k-nomial:8\n",
    "broadcast P 5-7 ordered 1 whole 0 from 4097B -> chain-chain:2\n", "reduce-scatter -> direct\n",
    "allreduce P 1024 -> chunk 1GiB\n", "# a comment\n"};
enum { LINES = sizeof lines / sizeof *lines };
static const char bytes[] = "->:#0123456789 \n\tKiBPaefgr";

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

/* Most lines, in their order; then a few bytes are others. */
static void draw_text(dice *d, char *text)
{
    size_t n = 0;
    for (int i = 0; i < LINES; i++) {
        if (i && !roll(d, 40)) continue;
        size_t which = roll(d, 60) ? (size_t)i : roll(d, LINES), length = strlen(lines[which]);
        memcpy(text + n, lines[which], length);
        n += length;
    }
    for (size_t k = roll(d, 4); k; k--) text[roll(d, n)] = bytes[roll(d, sizeof bytes - 1)];
    text[roll(d, 10) ? n : roll(d, n)] = '\0';
}

static char *print(const tutti_rules *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out || tutti_rules_print(t, out)) exit(1);
    fclose(out);
    return text;
}

/* Returns whether the text was right. */
static int fuzz_text(const char *text)
{
    tutti_rules *t, *again;
    tutti_status status = tutti_rules_read(text, "text", &t);
    if (status) return status == TUTTI_ERR_FORMAT ? 0 : -1;
    char *one = print(t), *other = NULL;
    int same = !tutti_rules_read(one, "printed", &again);
    if (same) {
        other = print(again);
        same = !strcmp(one, other);
        tutti_rules_free(again);
    }
    free(one);
    free(other);
    tutti_rules_free(t);
    return same ? 1 : -1;
}

int main(int argc, char **argv)
{
    static char text[MOST];
    int iterations = argc > 1          ? atoi(argv[1])
                     : testing_fewer() ? ITERATIONS / 10
                                       : ITERATIONS,
        right = 0;
    dice d = {.seed = testing_seed(46)};
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int i = 0; i < iterations; i++) {
        d.iteration = (uint64_t)i;
        d.next = 0;
        draw_text(&d, text);
        int result = fuzz_text(text);
        if (result < 0) {
            printf("iteration %d: %s\nthe text was\n%s", i, tutti_last_error(), text);
            return 1;
        }
        right += result;
    }
    /* Few that are right, or few that are wrong, would test little. */
    printf("%d of %d texts were right\n", right, iterations);
    return right < iterations / 20 || right > iterations / 2;
}
