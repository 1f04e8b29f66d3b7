/* A photograph as a net sees it: for tutti-predict. Threads: [A]. */
#ifndef TUTTI_TRAIN_PICTURE_H
#define TUTTI_TRAIN_PICTURE_H

#include "apps/models/model.h"
#include "dag/base/status.h"

#include <stdint.h>

/* Reads a JPEG, PNG or WebP file into pixels (H,W,C), C = 1 (grey) or 3, as an evaluation does: the shorter
 * side is resized to `resize`, and the middle is taken. resize 0: a net for images of one size; then
 * the picture just covers it. IO, FORMAT, NOMEM (logged). */
tutti_status tutti_picture_read(
    const char *path, const tutti_model_input *input, int resize, uint8_t *pixels);

#endif
