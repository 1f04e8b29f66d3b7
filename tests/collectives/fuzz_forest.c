/* Damaged forests: fuzz_forest [ITERATIONS]. Forests are drawn, printed and damaged in random places. Whatever comes,
 * the reader reads it or names a line; what it reads, it prints so that it reads the same again, and its trees are
 * right. */
#include "collectives/links/topology_text.h"
#include "collectives/trees/forest_text.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 20000, MOST_RANKS = 6, MOST = 4096 };

static const char bytes[] = "<<:-.0123456789 \n\tGBk/s#treforankspol";

typedef struct dice {
    uint64_t seed, iteration, next;
} dice;

static size_t roll(dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

/* Up to three trees of a star's ranks, now and then too heavy for it, or not trees at all. */
static void draw_text(dice *d, uint64_t hash, char *text, size_t size)
{
    int P = roll(d, 20) ? 4 : 1 + (int)roll(d, MOST_RANKS), n = 0;
    n += snprintf(text + n, size - (size_t)n, "forest 1\ntopology %016llx\nranks %d\n",
        (unsigned long long)(roll(d, 20) ? hash : hash + 1), P);
    for (size_t t = 1 + roll(d, 3); t; t--) {
        int root = (int)roll(d, (size_t)P);
        n += snprintf(text + n, size - (size_t)n, "tree %d %d.%dGB/s:", root, (int)roll(d, 2),
            (int)roll(d, 4));
        for (int i = 1; i < P; i++)
            n += snprintf(text + n, size - (size_t)n, " %d<%d", (root + i) % P,
                roll(d, 30) ? (root + (int)roll(d, (size_t)i)) % P : (int)roll(d, MOST_RANKS));
        n += snprintf(text + n, size - (size_t)n, "\n");
    }
    for (size_t k = roll(d, 3); k; k--) text[roll(d, (size_t)n)] = bytes[roll(d, sizeof bytes - 1)];
    if (!roll(d, 10)) text[roll(d, (size_t)n)] = '\0';
}

static char *print(const tutti_forest *f, uint64_t hash)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out || tutti_forest_print(f, hash, out)) exit(1);
    fclose(out);
    return text;
}

/* Returns whether the text was right. */
static int fuzz_text(const char *text, const tutti_topology *t)
{
    tutti_forest *f, *again;
    uint64_t hash, other_hash;
    tutti_status status = tutti_forest_read(text, "text", t, &f, &hash);
    if (status)
        return status == TUTTI_ERR_FORMAT && !strncmp(tutti_last_error(), "text:", 5) ? 0 : -1;
    char *one = print(f, hash), *other = NULL;
    int same = !tutti_forest_check(f) && !tutti_forest_read(one, "printed", t, &again, &other_hash);
    if (same) {
        other = print(again, other_hash);
        same = !strcmp(one, other) && tutti_forest_hash(f) == tutti_forest_hash(again);
        tutti_forest_free(again);
    }
    free(one);
    free(other);
    tutti_forest_free(f);
    return same ? 1 : -1;
}

int main(int argc, char **argv)
{
    static char text[MOST];
    int iterations = argc > 1          ? atoi(argv[1])
                     : testing_fewer() ? ITERATIONS / 10
                                       : ITERATIONS,
        right = 0;
    dice d = {.seed = testing_seed(45)};
    tutti_topology *star;
    uint64_t hash;
    if (tutti_topology_open("star:4,2GB/s", &star) || tutti_topology_hash(star, &hash)) return 1;
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int i = 0; i < iterations; i++) {
        d.iteration = (uint64_t)i;
        d.next = 0;
        draw_text(&d, hash, text, sizeof text);
        int result = fuzz_text(text, i % 2 ? star : NULL);
        if (result < 0) {
            printf("iteration %d: %s\nthe text was\n%s", i, tutti_last_error(), text);
            return 1;
        }
        right += result;
    }
    tutti_topology_free(star);
    /* Few that are right, or few that are wrong, would test little. */
    printf("%d of %d texts were right\n", right, iterations);
    return right < iterations / 20 || right > 2 * iterations / 3;
}
