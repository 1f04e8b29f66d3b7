/* The accuracy over cost and gamma as a picture: a map of colours with contours, as SVG. [M] */
#ifndef TUTTI_SVM_PICTURE_H
#define TUTTI_SVM_PICTURE_H

#include "dag/base/status.h"

enum { TUTTI_SVM_GRID = 64 };

typedef struct tutti_svm_grid {
    const char *title;
    int costs, gammas;
    double cost[TUTTI_SVM_GRID], gamma[TUTTI_SVM_GRID]; /* exponents of 2 */
    double accuracy[TUTTI_SVM_GRID][TUTTI_SVM_GRID];    /* [cost][gamma], 0 to 1 */
} tutti_svm_grid;

/* IO, NOMEM (logged). */
tutti_status tutti_svm_picture_write(const tutti_svm_grid *grid, const char *path);

#endif
