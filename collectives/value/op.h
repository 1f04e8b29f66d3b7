/* The operators of reductions. */
#ifndef TUTTI_OP_H
#define TUTTI_OP_H

typedef enum tutti_reduce_op {
    TUTTI_SUM,
    TUTTI_PROD,
    TUTTI_MIN,
    TUTTI_MAX,
    TUTTI_REDUCE_OPS
} tutti_reduce_op;

#endif
