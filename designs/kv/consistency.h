/* The type of a store as a value: tutti_kv_options.type, and what jobs compare. [P] */
#ifndef TUTTI_KV_CONSISTENCY_H
#define TUTTI_KV_CONSISTENCY_H

#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_kv_type {
    TUTTI_KV_SYNC,
    TUTTI_KV_ASYNC,
    TUTTI_KV_BOUNDED,
    TUTTI_KV_ELASTIC,
    TUTTI_KV_TYPES
} tutti_kv_type;

/* Fields of other types are 0. */
typedef struct tutti_consistency {
    tutti_kv_type type;
    int64_t bound;  /* of BOUNDED: pushes */
    int64_t period; /* of ELASTIC: every period-th call is a mixing step; 1 or more */
    double alpha;   /* of ELASTIC: above 0, at most 1 */
} tutti_consistency;

/* "sync", "async", "bounded:3", "elastic:period=8,alpha=0.1"; NULL: sync. bounded:0 is sync. USAGE (logged). */
tutti_status tutti_consistency_read(const char *text, tutti_consistency *rule);
/* Whether the numbers are those that a text can have. */
int tutti_consistency_is_sane(const tutti_consistency *rule);
int tutti_consistency_is_same(const tutti_consistency *a, const tutti_consistency *b);

enum { TUTTI_CONSISTENCY_TEXT = 80 };
/* Writes the text; returns it. */
const char *tutti_consistency_write(
    const tutti_consistency *rule, char text[TUTTI_CONSISTENCY_TEXT]);

#endif
