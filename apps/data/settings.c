#include "apps/data/settings.h"

#include <string.h>

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

const char *tutti_bad_images_choice(int i)
{
    static const char *const words[] = {"stop", skip, NULL};
    return words[i];
}

int tutti_bad_images_skipped(const char *word)
{
    return word && strcmp(word, skip) == 0;
}
