/* Readers of image data sets: one vtable, many formats.
 *
 * A reader delivers images as 8-bit pixels in H,W,C order and labels 0..classes-1. All images of a
 * data set have one shape. Formats are recognised by content (tutti_dataset_open with format NULL)
 * or named. open checks whatever needs no decoding (sizes, headers, every label of a binary
 * format); a corrupt JPEG is found when it is read. Errors name the file and the record. Threads:
 * open/close [M]; read [A]: many threads may read at once. Formats and folder layouts: doc/data.md.
 * A new format is a tutti_reader in a new file, and a row in dataset.c. */
#ifndef TUTTI_READER_H
#define TUTTI_READER_H

#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_split { TUTTI_TRAIN, TUTTI_TEST } tutti_split;

typedef struct tutti_dataset tutti_dataset;

typedef struct tutti_reader {
    /* "cifar10", "CIFAR-10 binary version (data_batch_1..5.bin, test_batch.bin)" */
    const char *name, *summary;
    /* How well `path` matches this format: 0 not at all, 1 by the names of its files, 2 also by
     * their contents. Logs nothing. */
    int (*recognise)(const char *path);
    /* Opens one split; fills everything in the data set except `reader`. IO, FORMAT (logged),
     * NOMEM. */
    tutti_status (*open)(const char *path, tutti_split split, tutti_dataset *dataset);
    /* Reads image `index` (0..count-1) into pixels (height*width*channels bytes) and its label. IO,
     * FORMAT (logged). */
    tutti_status (*read)(
        const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label);
    void (*close)(tutti_dataset *dataset);
} tutti_reader;

struct tutti_dataset {
    const tutti_reader *reader; /* NULL: not open */
    int64_t count;
    int height, width, channels, classes; /* channels: 1 or 3 */
    void *state;                          /* the reader's own */
};

/* NULL-terminated table of readers. */
extern const tutti_reader *const tutti_readers[];

/* Opens a split of the data set at `path` ("synthetic" and "synthetic:HxWxC:CLASSES" need no
 * folder). format: a reader's name, or NULL to recognise it. USAGE for an unknown format (the known
 * ones are listed) and for a folder that holds several; IO for a missing, empty or unreadable
 * folder or file; FORMAT otherwise. */
tutti_status tutti_dataset_open(
    const char *path, const char *format, tutti_split split, tutti_dataset *dataset);
/* Accepts a zeroed or closed data set. */
void tutti_dataset_close(tutti_dataset *dataset);
static inline tutti_status tutti_dataset_read(
    const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label)
{
    return dataset->reader->read(dataset, index, pixels, label);
}

/* Mean and deviation of each channel over (at most 10,000 evenly spaced images of) a data set, on a
 * scale of 0..1. mean, deviation [out]: (channels); a channel without variation gets deviation 1.
 * Sums are integers, so the result is the same on every rank and machine. Errors: the reader's.
 * [A] */
tutti_status tutti_dataset_moments(const tutti_dataset *dataset, float *mean, float *deviation);

#endif
