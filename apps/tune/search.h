/* The search for a good configuration: one knob after the other, each a race (apps/tune/race.h) between the
 * values of that knob with all others as they are best so far. Nothing here runs. [P]
 *
 *   begin -> { next: the configuration to time -> time }* -> best
 *
 * What the user has fixed is no knob. The first candidate of the first race is the default. */
#ifndef TUTTI_SEARCH_H
#define TUTTI_SEARCH_H

#include "apps/tune/configuration.h"
#include "apps/tune/race.h"

/* What may be chosen from. */
typedef struct tutti_search_space {
    int design_free;
    int lanes;                /* 0: free; n > 0: only what has n */
    int64_t bucket_bytes;     /* -1: free */
    int64_t chunk_bytes;      /* -1: free */
    int priority;             /* -1: free; 0: off; 1: on */
    int64_t default_bytes;    /* what the default bucket holds, */
    int64_t all_bytes;        /* all that is summed in a step, */
    int64_t largest_bytes;    /* and the largest gradient */
    const char *algorithm;    /* one that blocks allows one lane only */
    const tutti_design *base; /* the default, or what is fixed */
} tutti_search_space;

/* A knob: its other values, given the best configuration so far. Returns how many it wrote. */
enum { TUTTI_KNOB_MOST = TUTTI_RACE_MOST - 1 };
typedef struct tutti_knob {
    const char *name;
    int (*values)(const tutti_search_space *space, const tutti_configuration *best,
        tutti_configuration other[TUTTI_KNOB_MOST]);
} tutti_knob;
/* NULL-named end; in the order in which they are turned. */
extern const tutti_knob tutti_knobs[];

typedef struct tutti_search {
    tutti_search_space space;
    int knob; /* index in tutti_knobs */
    tutti_race race;
    tutti_configuration
        configuration[TUTTI_RACE_MOST]; /* the race's candidates; the first is the best so far */
    double hidden_pct[TUTTI_RACE_MOST][TUTTI_RACE_ROUNDS];
} tutti_search;

/* Where the search starts: the base, or where that is not allowed the first design that is. */
tutti_configuration tutti_search_default(const tutti_search_space *space);
/* Whether a configuration is in the space: a remembered one may not be. */
int tutti_search_allows(const tutti_search_space *space, const tutti_configuration *configuration);

void tutti_search_begin(tutti_search *search, const tutti_search_space *space);
/* Whether there is a configuration to time, and which. */
int tutti_search_next(const tutti_search *search, tutti_configuration *configuration);
/* Tells the time of that configuration. Returns 1 when this ended a knob's race: `race` and `configuration` still show
 * it until tutti_search_turn is called. */
int tutti_search_time(tutti_search *search, double step_s, double hidden_pct);
/* After the end of a race: the winner is the best so far, and the next knob's race begins. */
void tutti_search_turn(tutti_search *search);
/* The best so far. */
tutti_configuration tutti_search_best(const tutti_search *search);

#endif
