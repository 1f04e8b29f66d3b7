#include "tests/collectives/fuzz_text.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

size_t fuzz_roll(fuzz_dice *d, size_t bound)
{
    return (size_t)tutti_rng_below(d->seed, d->iteration, d->next++, bound);
}

void fuzz_draw_lines(
    fuzz_dice *d, const char *const lines[], size_t count, const char *bytes, char text[FUZZ_TEXT])
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && !fuzz_roll(d, 40)) continue;
        const char *line = lines[fuzz_roll(d, 60) ? i : fuzz_roll(d, count)];
        memcpy(text + n, line, strlen(line));
        n += strlen(line);
    }
    for (size_t k = fuzz_roll(d, 4); k; k--)
        text[fuzz_roll(d, n)] = bytes[fuzz_roll(d, strlen(bytes))];
    text[fuzz_roll(d, 10) ? n : fuzz_roll(d, n)] = '\0';
}

static char *print(const fuzz_format *f, const void *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out || f->print(value, out)) exit(1);
    fclose(out);
    return text;
}

/* Returns whether the text was right; -1: a mistake. */
static int judge(const fuzz_format *f, const char *text, uint64_t iteration)
{
    void *value, *again;
    tutti_status status = f->read(text, "text", iteration, &value);
    if (status) return status == TUTTI_ERR_FORMAT ? 0 : -1;
    char *one = print(f, value), *other = NULL;
    int same = !f->read(one, "printed", iteration, &again);
    if (same) {
        other = print(f, again);
        same = !strcmp(one, other);
        f->release(again);
    }
    free(one);
    free(other);
    f->release(value);
    return same ? 1 : -1;
}

int fuzz_text_main(int argc, char **argv, const fuzz_format *format)
{
    enum { ITERATIONS = 20000 };
    static char text[FUZZ_TEXT];
    const int all = testing_fewer() ? ITERATIONS / 10 : ITERATIONS;
    const int iterations = argc > 1 ? atoi(argv[1]) : all;
    fuzz_dice d = {.seed = testing_seed(format->seed)};
    int right = 0;
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (; d.iteration < (uint64_t)iterations; d.iteration++) {
        d.next = 0;
        format->draw(&d, text);
        const int result = judge(format, text, d.iteration);
        if (result < 0) {
            printf("iteration %llu: %s\nthe text was\n%s", (unsigned long long)d.iteration,
                tutti_last_error(), text);
            return 1;
        }
        right += result;
    }
    printf("%d of %d texts were right\n", right, iterations);
    return right < iterations / 20 || right > format->most_right * iterations;
}
