/* Records of a file of MXNet's RecordIO, for training and for checks alike.
 *
 * A record is   0xced7230a, part << 29 | length, `length` bytes, zeros up to a multiple of 4
 * and holds     flag, label (float), id, id2 (64 bits each), `flag` more labels (floats), an image
 * with numbers least significant byte first. Where its contents have the first number itself, at a
 * multiple of 4, the record is cut there into parts (1 first, 2 middle, 3 last), and the number is
 * left out. With several labels, the first one counts. A record may have labels alone, as where
 * InsightFace keeps counts: the first record, and others with several labels.
 *
 * Errors: FORMAT (logged, with the file, the offset and what is wrong), IO, NOMEM. Threads: [A].
 * Source: dmlc-core, include/dmlc/recordio.h; MXNet, src/io/image_recordio.h. */
#ifndef TUTTI_RECORDIO_READ_H
#define TUTTI_RECORDIO_READ_H

#include "apps/data/file.h"
#include "apps/data/source.h"

enum {
    TUTTI_RECORDIO_WORD = 4,
    TUTTI_RECORDIO_HEAD = 8,   /* bytes before the contents of a part */
    TUTTI_RECORDIO_ABOUT = 24, /* bytes of flag, label and both ids */
    TUTTI_RECORDIO_PART_BITS = 29
};
enum { TUTTI_RECORDIO_WHOLE, TUTTI_RECORDIO_FIRST, TUTTI_RECORDIO_MIDDLE, TUTTI_RECORDIO_LAST };
#define TUTTI_RECORDIO_MAGIC 0xced7230au

typedef struct tutti_recordio_record {
    int64_t at, next; /* where it begins, and the one after it */
    int64_t first;    /* bytes of the contents of its first part */
    int64_t bytes;    /* of all its contents: of its parts, and the numbers between them */
} tutti_recordio_record;

/* Whether the first bytes of a file are those of a record. [P] */
int tutti_recordio_recognise(const uint8_t head[4]);

/* The record at `at`, whose contents are not looked at. */
tutti_status tutti_recordio_find(
    const tutti_data_file *file, int64_t at, tutti_recordio_record *record);
/* Its label, which is not set if it has no image (*is_image 0). */
tutti_status tutti_recordio_label(const tutti_data_file *file, const tutti_recordio_record *record,
    int32_t *label, int *is_image);
/* The bytes of its image. */
tutti_status tutti_recordio_load(
    const tutti_data_file *file, const tutti_recordio_record *record, tutti_sample *sample);

#endif
