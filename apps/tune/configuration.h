/* A configuration: how collectives are run, as values and as the options that request it. */
#ifndef TUTTI_CONFIGURATION_H
#define TUTTI_CONFIGURATION_H

#include "designs/exchange/exchange.h"

typedef struct tutti_configuration {
    const tutti_design *design;
    int lanes;
    int64_t bucket_bytes; /* -1: the default (designs/passes/bucket.h) */
    int64_t chunk_bytes;  /* -1: the default (designs/passes/chunk.h); 0: sums stay whole */
    int priority; /* 1: the agreed order (designs/exchange/order.h), if the design has a queue */
} tutti_configuration;

/* "--design concurrent --lanes 4 --bucket-mb 0.545": everything that is not the default. */
enum { TUTTI_CONFIGURATION_TEXT = 160 };
char *tutti_configuration_text(const tutti_configuration *configuration,
    char text[TUTTI_CONFIGURATION_TEXT]); /* returns text [P] */
/* store: "funneled lanes=1 bucket=-1 chunk=-1 priority=1", all of it, for files. restore reads it
 * back and returns whether it is valid and possible. */
char *tutti_configuration_store(const tutti_configuration *configuration,
    char text[TUTTI_CONFIGURATION_TEXT]); /* returns text [P] */
int tutti_configuration_restore(const char *text, tutti_configuration *configuration);     /* [P] */
int tutti_configuration_possible(const tutti_configuration *configuration);                /* [P] */
int tutti_configuration_equal(const tutti_configuration *a, const tutti_configuration *b); /* [P] */
/* These options with the configuration applied. [P] */
tutti_exchange_options tutti_configuration_apply(
    const tutti_configuration *configuration, const tutti_exchange_options *options);

/* As numbers, for other ranks of the same program. [P] */
enum { TUTTI_CONFIGURATION_NUMBERS = 5 };
void tutti_configuration_pack(
    const tutti_configuration *configuration, int64_t number[TUTTI_CONFIGURATION_NUMBERS]);
void tutti_configuration_unpack(
    const int64_t number[TUTTI_CONFIGURATION_NUMBERS], tutti_configuration *configuration);

#endif
