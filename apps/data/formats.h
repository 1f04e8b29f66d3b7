/* The sources of the table in dataset.c, one per file, and what they share. */
#ifndef TUTTI_FORMATS_H
#define TUTTI_FORMATS_H

#include "apps/data/source.h"

extern const tutti_image_source tutti_image_source_cifar10;
extern const tutti_image_source tutti_image_source_cifar100;
extern const tutti_image_source tutti_image_source_folders;
extern const tutti_image_source tutti_image_source_idx;
extern const tutti_image_source tutti_image_source_imagenet;
extern const tutti_image_source tutti_image_source_jpeg;
extern const tutti_image_source tutti_image_source_recordio;
extern const tutti_image_source tutti_image_source_synthetic;
extern const tutti_image_source tutti_image_source_webdataset;

/* What a source's recognise returns. */
enum {
    TUTTI_FORMAT_NO,     /* not this format */
    TUTTI_FORMAT_NAMES,  /* the names match, the contents do not: open reports why */
    TUTTI_FORMAT_CONTENT /* names and contents match */
};

/* The longest side of an image that is stored as pixels, whatever a header claims. */
enum { TUTTI_IMAGE_SIDE_MAX = 4096 };
/* The most classes that a data set can claim to have. */
enum { TUTTI_CLASSES_MAX = 100000 };
/* The most pixels of an image file, which may be small and claim any size. */
enum { TUTTI_IMAGE_PIXELS_MAX = 64000000 };
/* The most bytes of an image file: that many pixels of 64 bits, stored as they are. A larger file is something else. */
#define TUTTI_IMAGE_BYTES_MAX ((int64_t)512 << 20)

/* The shorter side before the centre is cut out: 256 for 224, and in proportion. */
static inline int tutti_resize_for(int size)
{
    return (size * 8 + 3) / 7;
}

/* What remains of a sample whose bytes are the pixels of an image of this data set. */
static inline void tutti_sample_pixels(
    const tutti_dataset *dataset, int32_t label, tutti_sample *sample)
{
    sample->kind = TUTTI_SAMPLE_PIXELS;
    sample->label = label;
    sample->height = dataset->height;
    sample->width = dataset->width;
    sample->channels = dataset->channels;
}

static inline const char *tutti_split_name(tutti_split split)
{
    return split == TUTTI_TRAIN ? "train" : "test";
}

#endif
