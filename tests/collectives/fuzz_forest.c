/* Damaged forests: fuzz_forest [ITERATIONS]. Those that are read have trees that are right. */
#include "collectives/links/topology_text.h"
#include "collectives/trees/forest_text.h"
#include "tests/collectives/fuzz_text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 6 };

static const char bytes[] = "<<:-.0123456789 \n\tGBk/s#treforankspol";

static tutti_topology *star;
static uint64_t hash; /* the star's */

/* Up to three trees of a star's ranks, now and then too heavy for it, or not trees at all. */
static void draw(fuzz_dice *d, char text[FUZZ_TEXT])
{
    const size_t size = FUZZ_TEXT;
    int P = fuzz_roll(d, 20) ? 4 : 1 + (int)fuzz_roll(d, MOST_RANKS), n = 0;
    n += snprintf(text + n, size - (size_t)n, "forest 1\ntopology %016llx\nranks %d\n",
        (unsigned long long)(fuzz_roll(d, 20) ? hash : hash + 1), P);
    for (size_t t = 1 + fuzz_roll(d, 3); t; t--) {
        int root = (int)fuzz_roll(d, (size_t)P);
        n += snprintf(text + n, size - (size_t)n, "tree %d %d.%dGB/s:", root, (int)fuzz_roll(d, 2),
            (int)fuzz_roll(d, 4));
        for (int i = 1; i < P; i++)
            n += snprintf(text + n, size - (size_t)n, " %d<%d", (root + i) % P,
                fuzz_roll(d, 30) ? (root + (int)fuzz_roll(d, (size_t)i)) % P
                                 : (int)fuzz_roll(d, MOST_RANKS));
        n += snprintf(text + n, size - (size_t)n, "\n");
    }
    for (size_t k = fuzz_roll(d, 3); k; k--)
        text[fuzz_roll(d, (size_t)n)] = bytes[fuzz_roll(d, sizeof bytes - 1)];
    if (!fuzz_roll(d, 10)) text[fuzz_roll(d, (size_t)n)] = '\0';
}

typedef struct read_forest {
    tutti_forest *forest;
    uint64_t hash;
} read_forest;

/* Every second one for the star. */
static tutti_status read_text(const char *text, const char *name, uint64_t iteration, void **value)
{
    read_forest *f = calloc(1, sizeof *f);
    if (!f) return TUTTI_ERR_NOMEM;
    tutti_status status =
        tutti_forest_read(text, name, iteration % 2 ? star : NULL, &f->forest, &f->hash);
    if (!status) status = tutti_forest_check(f->forest);
    if (status == TUTTI_ERR_FORMAT && strncmp(tutti_last_error(), name, strlen(name)) != 0)
        status = TUTTI_ERR_INTERNAL; /* the text is not named */
    if (status)
        free(f);
    else
        *value = f;
    return status;
}

static tutti_status print(const void *value, FILE *out)
{
    const read_forest *f = value;
    return tutti_forest_print(f->forest, f->hash, out);
}

static void release(void *value)
{
    read_forest *f = value;
    tutti_forest_free(f->forest);
    free(f);
}

int main(int argc, char **argv)
{
    static const fuzz_format format = {45, 0.67, draw, read_text, print, release};
    if (tutti_topology_open("star:4,2GB/s", &star) || tutti_topology_hash(star, &hash)) return 1;
    int result = fuzz_text_main(argc, argv, &format);
    tutti_topology_free(star);
    return result;
}
