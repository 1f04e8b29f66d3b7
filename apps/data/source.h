/* Sources of images: one vtable, many formats.
 *
 *   source: bytes, label, kind  ->  view: which part, at what size  ->  decoder: pixels
 *           (this file)                 (view.h, a pure value)            (decode.h)
 *
 * A source delivers the bytes of an image as they are stored, and its label, 0..classes-1. The
 * bytes are pixels (H,W,C), or a file that decode.h recognises by its first bytes. Formats are
 * recognised by content (tutti_dataset_open with format NULL) or named. open checks whatever needs
 * no decoding (sizes, headers, every label of a binary format); a corrupt JPEG is found when it is
 * decoded. Errors name the file and the record. Threads: open/close [M]; fetch [A]: many threads
 * may fetch at once, each into its own sample. Formats and folder layouts: doc/data.md. A new format
 * is a tutti_image_source in a new file, and a row in dataset.c. */
#ifndef TUTTI_SOURCE_H
#define TUTTI_SOURCE_H

#include "apps/data/bytes.h"
#include "apps/data/folder.h"
#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum tutti_split { TUTTI_TRAIN, TUTTI_TEST } tutti_split;

typedef enum tutti_sample_kind {
    TUTTI_SAMPLE_PIXELS, /* height*width*channels bytes */
    TUTTI_SAMPLE_FILE,   /* an image file of a kind that its first bytes tell */
} tutti_sample_kind;

enum { TUTTI_SAMPLE_NAME = 1024 };

/* An image as it is stored. Zeroed before its first use; the memory grows and is used again. */
typedef struct tutti_sample {
    tutti_sample_kind kind;
    int32_t label;
    int height, width, channels;  /* of PIXELS */
    char name[TUTTI_SAMPLE_NAME]; /* of a FILE: what messages call it, cut to fit */
    uint8_t *bytes;               /* `count` of them */
    size_t count, room;
} tutti_sample;

/* Makes room for `count` bytes, which are not initialised. NOMEM (logged). [A] */
tutti_status tutti_sample_reserve(tutti_sample *sample, size_t count);
/* Reads an image file. IO, FORMAT (too large), NOMEM (logged). [A] */
tutti_status tutti_sample_load(const char *path, tutti_sample *sample);
void tutti_sample_free(tutti_sample *sample);

typedef struct tutti_dataset tutti_dataset;

typedef struct tutti_image_source {
    /* "cifar10", "CIFAR-10 binary version (data_batch_1..5.bin, test_batch.bin)" */
    const char *name, *summary;
    int photographs; /* images have any size, so that one has to be given for the views */
    int by_class;    /* images are in the order of their classes */
    int splits;      /* test images are a part of the training images (held_out below) */
    int sharded;     /* images are in files that ranks may divide (tutti_dataset_assign) */
    /* How well `path` matches this format: 0 not at all, 1 by the names of its files, 2 also by
     * their contents. Logs nothing. */
    int (*recognise)(const char *path);
    /* What open would have to list folders for, appended to `list`: one rank does it for all. It
     * finds in the data set what was asked for, as open does. NULL: open lists nothing. IO, FORMAT
     * (logged), NOMEM. */
    tutti_status (*list)(
        const char *path, tutti_split split, const tutti_dataset *asked, tutti_bytes *list);
    /* Opens one split; fills everything in the data set except `source`. With `list`, its bytes are
     * in dataset->listed meanwhile. IO, FORMAT (logged), NOMEM. */
    tutti_status (*open)(const char *path, tutti_split split, tutti_dataset *dataset);
    /* Fetches image `index` (0..count-1). IO, FORMAT (logged), NOMEM. */
    tutti_status (*fetch)(const tutti_dataset *dataset, int64_t index, tutti_sample *sample);
    void (*close)(tutti_dataset *dataset);
} tutti_image_source;

/* How several ranks divide the files of a split. */
typedef struct tutti_dataset_assign {
    /* Each open calls it once, on every rank, whatever has failed there. mine: this rank's status so
     * far. Leaves the names of those files in the folder that this rank is to read, at least one.
     * NULL: it reads all. */
    tutti_status (*assign)(void *ctx, tutti_status mine, const char *folder, tutti_names *names);
    void *ctx;
} tutti_dataset_assign;

struct tutti_dataset {
    const tutti_image_source *source; /* NULL: not open */
    int64_t count;
    int height, width, channels, classes; /* as the network sees images; channels: 1 or 3 */
    /* Photographs of any size: the length of the shorter side before an evaluation cuts out the
     * centre, at least height and width; 0: all images have the same size. A source's open finds
     * here what was asked for, and in height and width, which are otherwise 0. */
    int resize;
    /* Where a source splits: which part of each class is held out for evaluation, 0: 0.2; another seed: others */
    double held_out;
    uint64_t held_out_seed;
    const tutti_bytes *listed; /* while it is opened: what the source's list has found; or NULL */
    /* While it is opened: what ranks divide; or NULL. `classes` is then as this rank's files of this
     * split have them. */
    const tutti_dataset_assign *assign;
    int tells;   /* while it is opened: whether this rank warns of what all of them see */
    void *state; /* the source's own */
};

/* NULL-terminated table of sources. */
extern const tutti_image_source *const tutti_image_sources[];

/* How several ranks open a data set together: rank 0 finds out which format it is and lists its
 * folders, and sends it to the others. */
typedef struct tutti_dataset_share {
    int rank;
    /* Each open calls it once, on every rank, whatever has failed there. mine: this rank's status so
     * far. Returns the same on all ranks, a failure if one has failed; with OK the other ranks have
     * rank 0's bytes. NULL: this process is alone. */
    tutti_status (*share)(void *ctx, tutti_status mine, tutti_bytes *bytes);
    void *ctx;
} tutti_dataset_share;

/* What to open, and how to look at it. */
typedef struct tutti_dataset_options {
    const char *path, *format; /* as in tutti_dataset_open */
    /* Photographs: views are squares of this side; 0: the format's own size, or that of the first
     * training image, which all must have */
    int size;
    int usual;  /* what it is for photographs whose format has no size, if size is 0; 0: 224 */
    int resize; /* the shorter side in an evaluation, at least `size`; 0: 8/7 of it, 256 for 224 */
    double
        held_out; /* as in tutti_dataset; USAGE, unless it is 0, if a format has test images of its own */
    uint64_t held_out_seed;
    tutti_dataset_share share;   /* zeroed: this process is alone */
    tutti_dataset_assign assign; /* zeroed: this process reads all files */
} tutti_dataset_options;

/* Opens a split of the data set at `path` ("synthetic" and "synthetic:HxWxC:CLASSES" need no
 * folder). format: a source's name, or NULL to recognise it. USAGE for an unknown format (the known
 * ones are listed) and for a folder that holds several; IO for a missing, empty or unreadable
 * folder or file; FORMAT otherwise. */
tutti_status tutti_dataset_open(
    const char *path, const char *format, tutti_split split, tutti_dataset *dataset);
/* The same, with all options. USAGE, too, for a size of images that are stored as pixels, and
 * with `assign` for a format whose images are in no files that ranks may divide. With
 * `share` all ranks call it; a failure after sharing may be one rank's alone. */
tutti_status tutti_dataset_open_as(
    const tutti_dataset_options *options, tutti_split split, tutti_dataset *dataset);
/* Accepts a zeroed or closed data set. */
void tutti_dataset_close(tutti_dataset *dataset);
static inline tutti_status tutti_dataset_fetch(
    const tutti_dataset *dataset, int64_t index, tutti_sample *sample)
{
    return dataset->source->fetch(dataset, index, sample);
}

/* One image as an evaluation sees it, and its label. For a caller that wants many, a decoder
 * (decode.h) is faster. Errors, all logged: those of fetch; FORMAT for a damaged image. [A] */
tutti_status tutti_dataset_read(
    const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label);

/* Mean and deviation of each channel over (at most 10,000 evenly spaced images of) a data set, on a
 * scale of 0..1; of photographs those of ImageNet, which the field uses for all. mean, deviation
 * [out]: (channels); a channel without variation gets deviation 1. Sums are integers, so the result
 * is the same on every rank and machine. skips: damaged images do not count; otherwise, and if all
 * are damaged, one is an error. Errors: those of tutti_dataset_read. [A] */
tutti_status tutti_dataset_moments(
    const tutti_dataset *dataset, int skips, float *mean, float *deviation);

#endif
