/* A choice of how collectives are run, as values and as the options that ask for it. */
#ifndef TUTTI_PICK_H
#define TUTTI_PICK_H

#include "designs/exchange/exchange.h"

typedef struct tutti_pick {
    const tutti_design *design;
    int lanes;
    int64_t bucket_bytes; /* -1: the default (designs/passes/bucket.h) */
    int64_t chunk_bytes;  /* -1: the default (designs/passes/chunk.h); 0: sums stay whole */
    int priority; /* 1: in the agreed order (designs/exchange/order.h), where the design has a queue */
} tutti_pick;

/* "--design concurrent --lanes 4 --bucket-mb 0.545": what is not the default. */
enum { TUTTI_PICK_TEXT = 160 };
char *tutti_pick_text(const tutti_pick *pick, char text[TUTTI_PICK_TEXT]); /* returns text [P] */
/* "funneled lanes=1 bucket=-1 chunk=-1 priority=1": all of it, for files; and back: whether that
 * could be understood and is possible. */
char *tutti_pick_store(const tutti_pick *pick, char text[TUTTI_PICK_TEXT]); /* returns text [P] */
int tutti_pick_restore(const char *text, tutti_pick *pick);                 /* [P] */
int tutti_pick_possible(const tutti_pick *pick);                            /* [P] */
int tutti_pick_equal(const tutti_pick *a, const tutti_pick *b);            /* [P] */
/* These options, but as the pick says. [P] */
tutti_exchange_options tutti_pick_apply(
    const tutti_pick *pick, const tutti_exchange_options *options);

/* As numbers, for other ranks of the same program. [P] */
enum { TUTTI_PICK_NUMBERS = 5 };
void tutti_pick_pack(const tutti_pick *pick, int64_t number[TUTTI_PICK_NUMBERS]);
void tutti_pick_unpack(const int64_t number[TUTTI_PICK_NUMBERS], tutti_pick *pick);

#endif
