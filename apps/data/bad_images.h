/* The images of a data set that were left out because they are damaged: each is named once, however
 * often it comes, and there are not too many. Batches have a row of zeros with label -1 in their
 * place (prefetch.h), which does not count in losses and accuracies. In training, batch normalisation
 * has it as a black picture in its means and variances. Threads: [M]. */
#ifndef TUTTI_BAD_IMAGES_H
#define TUTTI_BAD_IMAGES_H

#include "dag/base/status.h"

#include <stdint.h>

/* Zeroed but for the limit before its first use. */
typedef struct tutti_bad_images {
    int64_t limit; /* how many may be left out */
    int64_t count;
    int64_t *images; /* `count` of them, in the order in which they came */
} tutti_bad_images;

/* Logs a warning when the image is new. FORMAT (logged) if it is one too many; NOMEM. */
tutti_status tutti_bad_images_add(tutti_bad_images *bad, int64_t image, const char *fault);
/* Logs the error of a damaged image where none may be left out, and what to do. Returns FORMAT. [A] */
tutti_status tutti_bad_images_refuse(const char *fault);
void tutti_bad_images_free(tutti_bad_images *bad);

#endif
