/* A world of ranks with a membership each (designs/membership/membership.h), and messages between them, in which
 * every step is chosen: what is delivered next, who has left its epoch, who dies, and after how many of the messages
 * that it sends. A world is a value: it may be copied, and explored from there.
 *
 * Ranks train, in small: a step ends when all of the epoch have submitted it, and changes a number; every second step
 * makes a snapshot. So a world notices ranks that go on from different snapshots. */
#ifndef TUTTI_TEST_MEMBERSHIP_WORLD_H
#define TUTTI_TEST_MEMBERSHIP_WORLD_H

#include "designs/membership/membership.h"

#include <stdint.h>

enum { WORLD_RANKS = 6, WORLD_QUEUE = 40 };

typedef struct world_channel {
    short message[WORLD_QUEUE]; /* interned */
    unsigned char count;
    unsigned char closed; /* at its sender's end; 2: the receiver has seen it */
} world_channel;

typedef struct world_snapshot {
    int64_t step; /* -1: there is none */
    uint64_t value;
} world_snapshot;

typedef struct world_rank {
    tutti_membership_machine machine;
    unsigned char here; /* it has begun, and lives */
    unsigned char dead, stopped, finished;
    unsigned char gave_up;  /* stopped, because it waited too long to be taken in */
    unsigned char inside;   /* submits collectives of its epoch */
    unsigned char leaves;   /* was told to, and has not yet */
    unsigned char restores; /* a newcomer: gets the snapshot from the others */
    unsigned char connects; /* bits: ranks that it was told to connect to */
    unsigned char members;  /* bits: of its epoch */
    int64_t epoch, step;
    uint64_t value;
    world_snapshot newest, before;
    double now_s;
} world_rank;

typedef struct world {
    int founders, ranks; /* those beyond the founders are newcomers */
    int least;
    int trains, trains_more; /* steps that ranks train; and some more while newcomers wait */
    world_rank rank[WORLD_RANKS];
    world_channel channel[WORLD_RANKS][WORLD_RANKS];
    unsigned char apart[WORLD_RANKS];    /* bits: nothing passes between the two */
    unsigned char silenced[WORLD_RANKS]; /* bits: it knows that the other is silent */
    int deaths;                          /* so far */
    int suspicions;                      /* anybody was suspected */
    int64_t worked;                      /* the latest epoch in which a step has ended */
    struct {
        int64_t snapshot;
        uint64_t value;
        unsigned char members, known;
    } epoch[64];   /* those that were entered */
    char why[200]; /* what is wrong; "": nothing */
} world;

typedef enum world_step_kind {
    WORLD_DELIVER, /* a: to, b: from; or that the channel has closed */
    WORLD_LEFT,    /* a has left */
    WORLD_TRAIN,   /* a ends a step */
    WORLD_RESTORED,
    WORLD_CONNECT, /* a to b */
    WORLD_ARRIVE,  /* a newcomer a finds rank b */
    WORLD_SILENT,  /* a suspects b */
    WORLD_SETTLE,  /* a has waited long enough for more losses */
    WORLD_FINISH
} world_step_kind;

typedef struct world_step {
    world_step_kind kind;
    int a, b;
} world_step;

enum { WORLD_STEPS = 128, WORLD_ALL_SENT = 1000 };

void world_open(world *w, int founders, int ranks, int least);
/* The steps that are possible now. Not among them: ARRIVE, FINISH, SILENT for no reason, time. */
int world_list(const world *w, world_step steps[WORLD_STEPS]);
/* Takes a step; a dies after it has sent this many messages. Returns how many it sent. */
int world_take(world *w, const world_step *s, int sends);
void world_kill(world *w, int rank);
/* Time passes until the next deadline; 0: there is none. */
int world_wait(world *w);
/* The deadline of one rank alone passes. */
int world_hurry(world *w, int rank);
/* Ranks that are there, and are in an epoch. */
int world_members(const world *w);
uint64_t world_hash(const world *w);

#endif
