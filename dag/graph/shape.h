/* Shapes of tensors. Dense, row-major; images are N,H,W,C. [P] */
#ifndef TUTTI_SHAPE_H
#define TUTTI_SHAPE_H

#include <stddef.h>
#include <stdint.h>

enum { TUTTI_SHAPE_MAX_RANK = 4 };

typedef struct tutti_shape {
    int rank; /* 0 (a scalar) .. TUTTI_SHAPE_MAX_RANK */
    int64_t dim[TUTTI_SHAPE_MAX_RANK];
} tutti_shape;

/* tutti_shape_of(n, h, w, c): a shape from up to four positive sizes. */
#define tutti_shape_of(...)                                                                        \
    tutti_shape_make(                                                                              \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
tutti_shape tutti_shape_make(int rank, const int64_t dim[]);

/* Elements; 1 for a scalar; -1 on overflow or a size < 0. */
int64_t tutti_shape_count(const tutti_shape *shape);
int tutti_shape_equal(const tutti_shape *a, const tutti_shape *b);
/* "(64,32,32,16)" into text; returns text. */
char *tutti_shape_print(const tutti_shape *shape, char *text, size_t size);

#endif
