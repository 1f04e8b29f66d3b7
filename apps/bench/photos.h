/* Photographs in memory, as files, for whatever is to decode the same bytes without waiting for a
 * disk. Threads: [M] */
#ifndef TUTTI_BENCH_PHOTOS_H
#define TUTTI_BENCH_PHOTOS_H

#include "apps/data/source.h"

typedef struct tutti_photos {
    int64_t count;
    tutti_sample *sample;
    /* A data set of them, whose views have the size of those of the data set they come from.
     * tutti_dataset_fetch: [A] */
    tutti_dataset dataset;
} tutti_photos;

/* Takes up to `most` training images, evenly spaced, from a data set of image files. USAGE (logged)
 * if it holds pixels instead of files; otherwise the errors of tutti_dataset_open_as and fetch. */
tutti_status tutti_photos_load(
    const tutti_dataset_options *options, int64_t most, tutti_photos *photos);
/* Pixels and bytes of one, on average. FORMAT (logged) for a damaged one. */
tutti_status tutti_photos_describe(const tutti_photos *photos, double *pixels, double *bytes);
/* Writes them into a new file for another program: of each the number of bytes, 8 bytes little
 * endian, and the bytes. path [in, out]: for mkstemp. IO (logged). */
tutti_status tutti_photos_write(const tutti_photos *photos, char *path);
/* Accepts zeroed ones. */
void tutti_photos_free(tutti_photos *photos);

#endif
