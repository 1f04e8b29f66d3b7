/* From an image as it is stored (source.h) and a view of it (view.h) to pixels.
 *
 * A decoder belongs to one thread and keeps its memory from image to image. Threads: [A], one thread
 * per decoder.
 *
 * A damaged image is FORMAT, which is not logged, because only the caller knows whether it is an
 * error: tutti_decoder_fault has the sentence. All other errors are logged. */
#ifndef TUTTI_DECODE_H
#define TUTTI_DECODE_H

#include "apps/data/source.h"
#include "apps/data/view.h"

typedef struct tutti_decoder tutti_decoder;

/* NOMEM. */
tutti_status tutti_decoder_new(tutti_decoder **decoder);
/* Accepts NULL. */
void tutti_decoder_free(tutti_decoder *decoder);

/* Fetches an image, chooses its view and makes it.
 *   pixels [out]  (height,width,channels) of the data set; NULL: a file is decoded as far as the
 *                 view needs it, and the view is not made
 *   label  [out]  set only on OK
 * Errors: those of the source; FORMAT (unlogged) for an image that is damaged, or does not have the
 * size that all have in this data set. */
tutti_status tutti_decoder_make(tutti_decoder *decoder, const tutti_dataset *dataset,
    const tutti_view_choice *choice, int64_t image, uint8_t *pixels, int32_t *label);

/* The width and height of an image file, from its header. FORMAT (unlogged), NOMEM. */
tutti_status tutti_decoder_look(
    tutti_decoder *decoder, const tutti_sample *sample, int *width, int *height);

/* Decodes all of an image file, to see whether it is damaged. FORMAT (unlogged), NOMEM. */
tutti_status tutti_decoder_check(tutti_decoder *decoder, const tutti_sample *sample);

/* All of a picture, upright, with its shorter side resized to `side` (view.h), antialiased.
 *   pixels [out]  (height,width,3), the decoder's, until its next call
 * FORMAT (unlogged), NOMEM. */
tutti_status tutti_decoder_shrink(tutti_decoder *decoder, const tutti_sample *sample, int side,
    const uint8_t **pixels, int *width, int *height);

/* What was wrong with the last image that was FORMAT without being logged, with its name; "" if the
 * last failure was logged. */
const char *tutti_decoder_fault(const tutti_decoder *decoder);

#endif
