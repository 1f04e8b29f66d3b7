/* The type of a store, as a value: what tutti_kv_options.type says, and what jobs tell each other. [P] */
#ifndef TUTTI_KV_RULE_H
#define TUTTI_KV_RULE_H

#include "dag/base/status.h"

#include <stdint.h>

typedef enum tutti_kv_type {
    TUTTI_KV_SYNC,
    TUTTI_KV_ASYNC,
    TUTTI_KV_BOUNDED,
    TUTTI_KV_ELASTIC,
    TUTTI_KV_TYPES
} tutti_kv_type;

/* What is not of the type is 0. */
typedef struct tutti_book_rule {
    tutti_kv_type type;
    int64_t bound;  /* of BOUNDED: pushes */
    int64_t period; /* of ELASTIC: every so manieth call is a mixing step, 1 or more */
    double alpha;   /* of ELASTIC: above 0, at most 1 */
} tutti_book_rule;

/* "sync", "async", "bounded:3", "elastic:period=8,alpha=0.1"; NULL: sync. bounded:0 is sync. USAGE (logged). */
tutti_status tutti_book_rule_read(const char *text, tutti_book_rule *rule);
/* Whether the numbers are those that a text can have. */
int tutti_book_rule_is_sane(const tutti_book_rule *rule);
int tutti_book_rule_is_same(const tutti_book_rule *a, const tutti_book_rule *b);

enum { TUTTI_BOOK_RULE_TEXT = 80 };
/* Writes the text; returns it. */
const char *tutti_book_rule_write(const tutti_book_rule *rule, char text[TUTTI_BOOK_RULE_TEXT]);

#endif
