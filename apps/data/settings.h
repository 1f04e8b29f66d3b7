/* What programs let users say about views of images, their order and damaged ones: rows for their tables,
 * in the form of designs/exchange/settings.h. Threads: [P]. */
#ifndef TUTTI_DATA_SETTINGS_H
#define TUTTI_DATA_SETTINGS_H

#include "apps/data/view.h"
#include "dag/base/conf.h"

#include <stddef.h>

typedef struct tutti_data_settings {
    tutti_conf_int size, eval_size, resize; /* or auto */
    const char *augment;                    /* for tutti_augment_find */
    const char *rand_augment;               /* for tutti_rand_augment_read */
    const char *jitter;                     /* for tutti_jitter_read */
    tutti_conf_real erase;                  /* or none */
    const char *shuffle;                    /* for tutti_shuffle_read */
    const char *shards;                     /* for tutti_shards_local */
    const char *split;                      /* for tutti_held_out_read; NULL: not given */
    const char *bad_images;                 /* for tutti_bad_images_skipped */
    int64_t bad_limit;
    tutti_conf_int threads;    /* for tutti_data_threads */
    tutti_conf_real memory_mb; /* or any */
} tutti_data_settings;

/* clang-format off */

/* The rows of a program whose values are a `type` with a tutti_data_settings `member`. */
#define TUTTI_SETTINGS_DATA(type, member)                                                          \
    {TUTTI_CONF_INT_OR, "size", "N", .fallback = "auto", .low = 8, .high = 1024,                   \
        .words = {"auto"}, .offset = offsetof(type, member.size),                                  \
        .help = "photographs: the network sees squares of N pixels a side; auto: the model's "     \
                "size, or that of the first image of a folder with train/ and test/"},             \
    {TUTTI_CONF_INT_OR, "eval-size", "N", .fallback = "auto", .low = 8, .high = 1024,              \
        .words = {"auto"}, .offset = offsetof(type, member.eval_size),                             \
        .help = "photographs: an evaluation sees squares of N pixels a side, which needs a model " \
                "that takes the mean over all pixels in the end; auto: of --size"},                \
    {TUTTI_CONF_INT_OR, "eval-resize", "N", .fallback = "auto", .low = 8, .high = 2048,            \
        .words = {"auto"}, .offset = offsetof(type, member.resize),                                \
        .help = "photographs: an evaluation resizes the shorter side to N pixels, then cuts out "  \
                "the centre; auto: 8/7 of that square, 256 for 224"},                                   \
    {TUTTI_CONF_CHOICE, "augment", "HOW", .fallback = "none", .choice = tutti_augment_choice,      \
        .offset = offsetof(type, member.augment),                                                  \
        .help = "how training images vary; crop: pad by 4 (mirrored), crop at random, flip each "  \
                "one every other epoch; of photographs, a random square of what an evaluation "    \
                "resizes; standard: the same, but of photographs a random rectangle, resized"},    \
    {TUTTI_CONF_TEXT, "rand-augment", "N,M", .fallback = "none",                                   \
        .offset = offsetof(type, member.rand_augment),                                             \
        .help = "training images: N random ones (1 to 8) of 14 operations, with magnitude M (0 "   \
                "to 30), as torchvision's RandAugment; usual: 2,9"},                               \
    {TUTTI_CONF_TEXT, "jitter", "B,C,S", .fallback = "none",                                       \
        .offset = offsetof(type, member.jitter),                                                   \
        .help = "training images: multiply brightness, contrast and saturation with random "       \
                "factors from 1-B to 1+B (C, S), in random order, as torchvision's ColorJitter; "  \
                "each from 0 to 1"},                                                               \
    {TUTTI_CONF_REAL_OR, "erase", "P", .fallback = "none", .low = 0.001, .high = 1,                \
        .words = {"none"}, .offset = offsetof(type, member.erase),                                 \
        .help = "training images: fill a random rectangle of 2 to 33 % of the area with random "   \
                "bytes, in this share of them (random erasing)"},                                  \
    {TUTTI_CONF_TEXT, "shuffle", "HOW", .fallback = "full",                                        \
        .offset = offsetof(type, member.shuffle),                                                  \
        .help = "order of training images in an epoch; full: any; window:G: runs of G images of "  \
                "the data set, in any order, and the images of each run in any order, so that "    \
                "reads are nearly sequential"},                                                    \
    {TUTTI_CONF_TEXT, "split", "X[,SEED]",                                                         \
        .offset = offsetof(type, member.split),                                                    \
        .help = "a folder of photographs for each class, without train/ and val/: which part of "  \
                "each class is held out for evaluation; with another seed these are others; if "   \
                "omitted, 0.2"},                                                                   \
    {TUTTI_CONF_CHOICE, "shards", "WHERE", .fallback = "shared",                                   \
        .words = {"shared", "local"}, .offset = offsetof(type, member.shards),                     \
        .help = "webdataset: shared: every rank reads images of all shards; local: each rank "     \
                "reads those of shards on its own disk, which no other rank reads"},               \
    {TUTTI_CONF_CHOICE, "bad-images", "WHAT", .fallback = "stop",                                  \
        .words = {"stop", "skip"}, .offset = offsetof(type, member.bad_images),                    \
        .help = "a damaged image ends the run (stop), or is named and left out (skip)"},           \
    {TUTTI_CONF_INT, "bad-limit", "N", .fallback = "100", .low = 0, .high = 1e9,                   \
        .offset = offsetof(type, member.bad_limit),                                                \
        .help = "with --bad-images skip: how many images of a set each rank may leave out"},       \
    {TUTTI_CONF_INT_OR, "threads", "N", .fallback = "auto", .low = 1, .high = 64,                  \
        .words = {"auto"}, .offset = offsetof(type, member.threads),                               \
        .help = "threads per rank that decode images ahead of the step; auto: one per processor "  \
                "that this rank may use and its workers do not, up to 16"},                        \
    {TUTTI_CONF_REAL_OR, "data-memory", "MB", .fallback = "any", .low = 0.001, .high = 1e9,        \
        .words = {"any"}, .offset = offsetof(type, member.memory_mb),                              \
        .help = "memory per rank for images that are read ahead: --depth becomes smaller if need " \
                "be, at least 3"}

/* clang-format on */

const char *tutti_augment_choice(int i);
tutti_augment tutti_augment_find(const char *word);
/* Whether the text is "none" (all 0) or three numbers from 0 to 1: "0.4,0.4,0.4". */
int tutti_jitter_read(const char *text, tutti_jitter_range *range);
/* Whether the text is "none" (no operations), or how many and their magnitude: "2,9". */
int tutti_rand_augment_read(const char *text, tutti_rand_range *range);
/* Whether the text is "full" (*window: 0) or "window:G" with G from 2 to 1e9 (*window: G). */
int tutti_shuffle_read(const char *text, int64_t *window);
/* Whether the text is a share from 0.001 to 0.9, alone or with a whole number as seed: "0.2,7". */
int tutti_held_out_read(const char *text, double *share, uint64_t *seed);
int tutti_shards_local(const char *word);
int tutti_bad_images_skipped(const char *word);
/* The number of threads that read, beside `workers` that compute. auto shares the processors that
 * this rank may use among the ranks of this host, whose number the launcher's variables tell,
 * unless the launcher has bound each rank to its own. [A] */
int tutti_data_threads(tutti_conf_int threads, int workers);
/* For tutti_prefetch_options.memory_bytes. */
int64_t tutti_data_memory(const tutti_data_settings *settings);

#endif
