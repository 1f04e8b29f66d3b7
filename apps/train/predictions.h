/* What a network sees on pictures, written to files: tutti-predict --csv, --page. A file is replaced as a
 * whole once all pictures are there. Threads: [A], one thread per object. */
#ifndef TUTTI_TRAIN_PREDICTIONS_H
#define TUTTI_TRAIN_PREDICTIONS_H

#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_guess {
    int label;
    const char *class;  /* its name, or the number */
    double probability; /* 0..1 */
} tutti_guess;

/* A picture as the network sees it. */
typedef struct tutti_seen {
    const char *path;
    int height, width, channels; /* channels: 1 or 3 */
    const uint8_t *pixels;       /* (height,width,channels) */
    int guesses;
    const tutti_guess *guess; /* the most likely first */
} tutti_seen;

typedef struct tutti_predictions tutti_predictions;

/* csv: "image,rank,label,class,probability", a row for each guess (RFC 4180); page: an HTML file that needs
 * no other, with thumbnails. Either may be NULL. IO (logged): one could not be written; NOMEM. */
tutti_status tutti_predictions_open(
    const char *csv, const char *page, const char *checkpoint, tutti_predictions **predictions);
/* NOMEM (logged). */
tutti_status tutti_predictions_add(tutti_predictions *predictions, const tutti_seen *seen);
/* Writes the files. IO, NOMEM (logged). Accepts NULL. */
tutti_status tutti_predictions_close(tutti_predictions *predictions);

#endif
