/* Numbers drawn from a seed, one after the other. Threads: [P]. */
#ifndef TUTTI_TEST_DICE_H
#define TUTTI_TEST_DICE_H

#include "tests/deadlock/wire.h"

typedef struct dice {
    uint64_t seed, draws;
} dice;

/* 0 to bound - 1. */
static inline int dice_below(dice *d, int bound)
{
    return (int)((wire_mix(d->seed, d->draws++) >> 32) % (unsigned)bound);
}

#endif
