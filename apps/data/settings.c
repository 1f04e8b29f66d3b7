#include "apps/data/settings.h"

#include "dag/base/cpus.h"
#include "dag/base/number.h"
#include "dag/base/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const augments[] = {
    [TUTTI_AUGMENT_NONE] = "none",
    [TUTTI_AUGMENT_CROP] = "crop",
    [TUTTI_AUGMENT_STANDARD] = "standard",
    NULL,
};

static const char skip[] = "skip";

const char *tutti_augment_choice(int i)
{
    return augments[i];
}

tutti_augment tutti_augment_find(const char *word)
{
    int i = 0;
    while (augments[i] && word && strcmp(augments[i], word) != 0) i++;
    return word && augments[i] ? (tutti_augment)i : TUTTI_AUGMENT_NONE;
}

/* One of the numbers, which ends at `end`. */
static int read_part(const char *text, const char *end, int *most)
{
    enum { LONGEST = 31 };
    char part[LONGEST + 1];
    double number = 0;
    if (end - text > LONGEST) return 0;
    snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
    if (!tutti_number_real(part, &number) || !(number >= 0 && number <= 1)) return 0;
    *most = (int)lround(number * TUTTI_JITTER_ONE);
    return 1;
}

int tutti_jitter_read(const char *text, tutti_jitter_range *range)
{
    tutti_jitter_range read = {{0}};
    if (!text) return 0;
    for (int i = 0; i < TUTTI_JITTER_OPERATIONS && strcmp(text, "none") != 0; i++) {
        const char *end = text + strcspn(text, ",");
        int last = i == TUTTI_JITTER_OPERATIONS - 1;
        if (!read_part(text, end, &read.most[i]) || last != !*end) return 0;
        text = end + !last;
    }
    *range = read;
    return 1;
}

int tutti_rand_augment_read(const char *text, tutti_rand_range *range)
{
    char first[8];
    int64_t operations = 0, magnitude = 0;
    if (!text) return 0;
    if (strcmp(text, "none") != 0) {
        const size_t length = strcspn(text, ",");
        if (length >= sizeof first || !text[length]) return 0;
        snprintf(first, sizeof first, "%.*s", (int)length, text);
        if (!tutti_number_int(first, &operations) || operations < 1 || operations > TUTTI_RAND_MOST)
            return 0;
        if (!tutti_number_int(text + length + 1, &magnitude) || magnitude < 0 ||
            magnitude > TUTTI_RAND_MAGNITUDE)
            return 0;
    }
    *range = (tutti_rand_range){(int)operations, (int)magnitude};
    return 1;
}

int tutti_shuffle_read(const char *text, int64_t *window)
{
    static const char windowed[] = "window:";
    enum { LEAST = 2, MOST = 1000000000 };
    int64_t images = 0;
    if (!text) return 0;
    if (strcmp(text, "full") != 0) {
        if (strncmp(text, windowed, strlen(windowed)) != 0) return 0;
        if (!tutti_number_int(text + strlen(windowed), &images)) return 0;
        if (images < LEAST || images > MOST) return 0;
    }
    *window = images;
    return 1;
}

int tutti_held_out_read(const char *text, double *share, uint64_t *seed)
{
    char number[32];
    int64_t read = 0;
    if (!text) return 0;
    const size_t length = strcspn(text, ",");
    if (length >= sizeof number || (text[length] && !tutti_number_int(text + length + 1, &read)) ||
        read < 0)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    *seed = (uint64_t)read;
    return tutti_number_within(number, 0.001, 0.9, 0, share);
}

static const char local[] = "local";

int tutti_shards_local(const char *word)
{
    return word && strcmp(word, local) == 0;
}

int tutti_bad_images_skipped(const char *word)
{
    return word && strcmp(word, skip) == 0;
}

int tutti_data_threads(tutti_conf_int threads, int workers)
{
    enum { MOST = 16 };
    const tutti_cpus allowed = tutti_cpus_allowed();
    int mine = tutti_cpus_count(&allowed), bound = mine < (int)sysconf(_SC_NPROCESSORS_ONLN);
    int spare = mine / (bound ? 1 : tutti_rank_count_here()) - workers;
    int automatic = spare < 1 ? 1 : spare > MOST ? MOST : spare;
    return (int)tutti_conf_int_or(threads, automatic);
}

int64_t tutti_data_memory(const tutti_data_settings *settings)
{
    int64_t bytes = tutti_conf_bytes(settings->memory_mb);
    return bytes < 0 ? 0 : bytes;
}
