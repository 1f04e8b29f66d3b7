/* The readers behind the table in dataset.c, one a file, and what they share. */
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
    TUTTI_FORMAT_NO,     /* nothing of it here */
    TUTTI_FORMAT_NAMES,  /* the names are here, the contents are not: open says what is wrong with
                            them */
    TUTTI_FORMAT_CONTENT /* names and contents fit */
};

/* The longest side of an image that any reader accepts; keeps an image under 50 MB whatever a
 * header claims. */
enum { TUTTI_IMAGE_SIDE_MAX = 4096 };

static inline const char *tutti_split_name(tutti_split split)
{
    return split == TUTTI_TRAIN ? "train" : "test";
}

#endif
