/* A photograph of any size as the input of a net: for tutti-predict. Threads: [A]. */
#ifndef TUTTI_TRAIN_PICTURE_H
#define TUTTI_TRAIN_PICTURE_H

#include "dag/base/status.h"

#include <stdint.h>

/* Reads a JPEG file into pixels (H,W,C), C = 1 (grey) or 3. A picture of another size is scaled, in
 * proportion and with antialiasing, until it covers H x W, and its middle is taken. IO, FORMAT,
 * NOMEM (logged). */
tutti_status tutti_picture_read(const char *path, int H, int W, int C, uint8_t *pixels);

/* The scaling alone: from (h,w,3) to (H,W,3). Each pixel is the mean of those under a triangle that
 * is as wide as the scale, at least 1 on each side; NOMEM. */
tutti_status tutti_picture_scale(const uint8_t *from, int h, int w, int H, int W, uint8_t *to);

#endif
