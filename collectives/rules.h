/* Rules: which algorithm, segment and chunk for which collective (tutti-rules(5)).
 *
 * A rule says when it counts, and what it says then. Of a collective each rule that fits counts, in order: what a later
 * one says replaces what earlier ones said, and what it leaves out stays. The table that is built in has an answer for
 * every collective; rules of a file come after it. [P] */
#ifndef TUTTI_RULES_H
#define TUTTI_RULES_H

#include "collectives/value/args.h"

#include <stdint.h>

typedef struct tutti_algorithm tutti_algorithm; /* collectives/choose.h */

/* What the choice depends on. */
typedef struct tutti_choice_key {
    tutti_coll_kind kind;
    int P, near;    /* near: as in tutti_transport */
    int64_t count;  /* elements of the largest buffer of any rank */
    size_t element; /* bytes */
    int wide;       /* there is a wider accumulator (tutti_coll_accumulator) */
    int ordered;    /* the operator does not commute */
    int whole;      /* the operands may not be cut */
    int radix;      /* tutti_algorithm_radix of the wanted algorithm's name */
    const struct tutti_rules
        *rules; /* that auto asks after the built-in ones (rules.h); NULL: none */
} tutti_choice_key;

/* Whether a rule counts for collectives that are so. */
typedef enum tutti_rule_if { TUTTI_IF_EITHER, TUTTI_IF_NOT, TUTTI_IF_SO } tutti_rule_if;

/* A field that is 0 says nothing. */
typedef struct tutti_rule {
    int each; /* it counts for every kind; else for `kind` */
    tutti_coll_kind kind;
    int least_P, most_P;                      /* ranks */
    int power_of_two;                         /* of ranks */
    int element;                              /* bytes */
    int64_t from;                             /* bytes of the largest vector */
    tutti_rule_if near, wide, ordered, whole; /* as in tutti_choice_key */
    const tutti_algorithm *algorithm;
    int radix;
    int64_t segment, chunk; /* bytes */
} tutti_rule;

typedef struct tutti_rules {
    uint64_t topology;      /* the hash of what they were measured on; 0: not said */
    char mpi[128];          /* tutti_boot_version; "": not said */
    char version[32];       /* of Tutti */
    const tutti_rule *rule; /* [n] */
    int n;
} tutti_rules;

/* What auto takes (choose.c). */
extern const tutti_rules tutti_rules_built_in;

/* Adds what these rules say of a collective to `said`, which holds what earlier ones said. */
void tutti_rules_apply(const tutti_rules *rules, const tutti_choice_key *key, tutti_rule *said);
/* The chunk of long sums of P ranks, in bytes; 0: not said. */
int64_t tutti_rules_chunk(const tutti_rules *rules, int P, int near);
/* Whether any of them counts for P ranks. */
int tutti_rules_fit(const tutti_rules *rules, int P);

#endif
