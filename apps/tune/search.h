/* The search for a good configuration: one knob after another, each a race (apps/tune/race.h)
 * between the knob's values with all others at their best so far. Nothing here runs. [P]
 *
 *   begin -> { next: the configuration to time -> time }* -> best
 *
 * What the user has fixed is not a knob. The first candidate of the first race is the default. */
#ifndef TUTTI_SEARCH_H
#define TUTTI_SEARCH_H

#include "apps/tune/configuration.h"
#include "apps/tune/race.h"

/* The configurations to choose from. */
typedef struct tutti_search_space {
    int design_free;
    int lanes;                /* 0: free; n > 0: only configurations with n */
    int64_t bucket_bytes;     /* -1: free */
    int64_t chunk_bytes;      /* -1: free */
    int priority;             /* -1: free; 0: off; 1: on */
    int64_t default_bytes;    /* the default size of a bucket */
    int64_t all_bytes;        /* everything that is summed in a step */
    int64_t largest_bytes;    /* the largest gradient */
    const tutti_design *base; /* the default, or the fixed design */
} tutti_search_space;

/* A knob. values writes the configurations with its other values, given the best so far, and
 * returns how many. */
enum { TUTTI_KNOB_MOST = 7 }; /* beside the one that is held */
typedef struct tutti_knob {
    const char *name;
    int (*values)(const tutti_search_space *space, const tutti_configuration *best,
        tutti_configuration other[TUTTI_KNOB_MOST]);
} tutti_knob;
/* In the order of the races; ends with a NULL name. */
extern const tutti_knob tutti_knobs[];

typedef struct tutti_search {
    tutti_search_space space;
    int knob; /* index in tutti_knobs */
    tutti_race race;
    /* The race's candidates; the first is the best so far. */
    tutti_configuration configuration[TUTTI_RACE_MOST];
    double hidden_pct[TUTTI_RACE_MOST][TUTTI_RACE_ROUNDS];
} tutti_search;

/* Where the search starts: the base or, if that is not allowed, the first allowed design. */
tutti_configuration tutti_search_default(const tutti_search_space *space);
/* Whether a configuration is in the space; a remembered one may not be. */
int tutti_search_allows(const tutti_search_space *space, const tutti_configuration *configuration);

void tutti_search_begin(tutti_search *search, const tutti_search_space *space);
/* Whether there is a configuration to time; if so, writes it. */
int tutti_search_next(const tutti_search *search, tutti_configuration *configuration);
/* Records the time of that configuration. Returns 1 if this ended a knob's race, which `race` and
 * `configuration` show until tutti_search_step is called. */
int tutti_search_time(tutti_search *search, double step_s, double hidden_pct);
/* After the end of a race: the winner becomes the best so far, and the next knob's race begins. */
void tutti_search_step(tutti_search *search);
/* The best so far. */
tutti_configuration tutti_search_best(const tutti_search *search);

#endif
