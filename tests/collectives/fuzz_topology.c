/* Damaged topologies: fuzz_topology [ITERATIONS]. Texts that are right are changed, joined and cut in random
 * places. Whatever comes, the reader reads it or names a line; what it reads, it prints so that it reads the same
 * again. */
#include "collectives/links/topology_text.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 20000, MOST = 4096 };

static const char *const lines[] = {"topology 1\n", "kind node cores 16 memory 80GB/s send 3us\n",
    "kind gpu reduce 200GB/s eager 64KiB\n", "host h[0-3] kind node\n", "host a\n",
    "device h[0-3].g[0-1] kind gpu socket 1\n", "switch s0 rate 40GB/s\n", "switch h0.s\n",
    "link h[0-3] s0 rate 25Gbit/s latency 1.5us\n", "link h[0-3].g0 .g1 rate 25GB/s count 2\n",
    "link a s0 rate 1e3MB/s\n", "bus h[0-3].pcie rate 12GB/s latency 1us : h[0-3] .g[0-1]\n",
    "bus b rate 1GB/s : a h0 h1\n", "ranks h[0-3]\n", "ranks h[0-3].g[0-1] a\n",
    "ranks 2 per host\n", "# a comment\n"};
enum { LINES = sizeof lines / sizeof *lines };
static const char bytes[] = "[]-.:#0123456789 \n\tkmGabhgs/";

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
    for (size_t k = roll(d, 3); k; k--) text[roll(d, n)] = bytes[roll(d, sizeof bytes - 1)];
    text[roll(d, 10) ? n : roll(d, n)] = '\0';
}

static char *print(const tutti_topology *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out || tutti_topology_print(t, out)) exit(1);
    fclose(out);
    return text;
}

/* Returns whether the text was right. */
static int fuzz_text(const char *text)
{
    tutti_topology *t, *again;
    tutti_status status = tutti_topology_read(text, "text", &t);
    if (status) return status == TUTTI_ERR_FORMAT ? 0 : -1;
    char *one = print(t), *other = NULL;
    int same = !tutti_topology_read(one, "printed", &again);
    if (same) {
        other = print(again);
        same = !strcmp(one, other);
        tutti_topology_free(again);
    }
    free(one);
    free(other);
    tutti_topology_free(t);
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
