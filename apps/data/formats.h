/* The readers of the table in dataset.c, one per file, and what they share. */
#ifndef TUTTI_FORMATS_H
#define TUTTI_FORMATS_H

#include "apps/data/reader.h"

extern const tutti_reader tutti_reader_cifar10;
extern const tutti_reader tutti_reader_cifar100;
extern const tutti_reader tutti_reader_idx;
extern const tutti_reader tutti_reader_jpeg;
extern const tutti_reader tutti_reader_synthetic;

/* What a reader's recognise returns. */
enum {
    TUTTI_FORMAT_NO,     /* not this format */
    TUTTI_FORMAT_NAMES,  /* the names match, the contents do not: open reports why */
    TUTTI_FORMAT_CONTENT /* names and contents match */
};

/* The longest side of an image that any reader accepts; limits an image to about 50 MB whatever a
 * header claims. */
enum { TUTTI_IMAGE_SIDE_MAX = 4096 };

static inline const char *tutti_split_name(tutti_split split)
{
    return split == TUTTI_TRAIN ? "train" : "test";
}

#endif
