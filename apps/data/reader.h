/* Readers of image data sets: one vtable, many formats.
 *
 * A reader gives images as 8-bit pixels in H,W,C order and labels 0..classes-1. All images of a data set have one shape.
 * Formats are recognised by content (tutti_dataset_open with format NULL) or named.
 * Errors name the file and the record. Threads: open/close [M]; read [A]: many threads may read at once. */
#ifndef TUTTI_READER_H
#define TUTTI_READER_H

#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_split { TUTTI_TRAIN, TUTTI_TEST } tutti_split;

typedef struct tutti_dataset tutti_dataset;

typedef struct tutti_reader {
    const char *name, *summary; /* "cifar10", "CIFAR-10 binary version (data_batch_*.bin)" */
    /* Whether `path` holds this format: 1 or 0; looks at names and contents, logs nothing. */
    int (*recognise)(const char *path);
    /* Opens one split; fills count, height, width, channels, classes. IO, FORMAT (logged), NOMEM. */
    tutti_status (*open)(const char *path, tutti_split split, tutti_dataset *dataset);
    /* Reads image `index` (0..count-1) into pixels (height*width*channels bytes) and its label. */
    tutti_status (*read)(const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label);
    void (*close)(tutti_dataset *dataset);
} tutti_reader;

struct tutti_dataset {
    const tutti_reader *reader;
    int64_t count;
    int height, width, channels, classes;
    void *state; /* the reader's own */
};

/* NULL-terminated table of readers. */
extern const tutti_reader *const tutti_readers[];

/* Opens a split of the data set at `path` ("synthetic" needs no folder). format: a reader's name, or NULL to recognise.
 * USAGE for an unknown format (the known ones are listed); IO for a missing or empty folder; FORMAT otherwise. */
tutti_status tutti_dataset_open(
    const char *path, const char *format, tutti_split split, tutti_dataset *dataset);
void tutti_dataset_close(tutti_dataset *dataset);
static inline tutti_status tutti_dataset_read(
    const tutti_dataset *dataset, int64_t index, uint8_t *pixels, int32_t *label)
{
    return dataset->reader->read(dataset, index, pixels, label);
}

#endif
