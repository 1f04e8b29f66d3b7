/* From an image of a data set to the bytes that a shard has for it. They depend on the image, its
 * place and the recipe alone, so that any thread may make them. Threads: [A], one thread per
 * item. */
#ifndef TUTTI_PACK_ITEM_H
#define TUTTI_PACK_ITEM_H

#include "apps/data/bytes.h"
#include "apps/data/decode.h"
#include "apps/data/source.h"

#include <stdint.h>

typedef struct tutti_pack_format {
    const char *name;
    /* Appends the image at `place`; name: its file's, or NULL. */
    tutti_status (*append)(
        tutti_bytes *to, int64_t place, const char *name, int32_t label, const tutti_bytes *image);
} tutti_pack_format;

extern const tutti_pack_format tutti_pack_formats[]; /* ends with a name NULL */

typedef struct tutti_pack_recipe {
    const tutti_pack_format *format;
    const char *root; /* the folder that names of left-out images begin below */
    int side;         /* the shorter side is shrunk to this; 0: images stay as they are */
    int quality;
} tutti_pack_recipe;

/* Zeroed before its first use; its memory is used again. */
typedef struct tutti_pack_item {
    tutti_bytes bytes;                   /* none: the image is left out */
    char fault[TUTTI_SAMPLE_NAME + 300]; /* which image that is, and why */
    tutti_bytes image;
    tutti_sample sample;
} tutti_pack_item;

/* Errors, all logged: those of fetch; UNSUPPORTED for a data set that holds pixels; NOMEM. An image
 * that cannot be decoded is none. */
tutti_status tutti_pack_item_make(const tutti_pack_recipe *recipe, const tutti_dataset *dataset,
    int64_t image, int64_t place, tutti_decoder *decoder, tutti_pack_item *item);
void tutti_pack_item_free(tutti_pack_item *item);

#endif
