/* The sequence numbers of one rank's collectives. Each group, and each edge, counts from 0; bits
 * above the number tell them apart, and are 0 for collectives of all ranks. [P] */
#ifndef TUTTI_SEQUENCE_H
#define TUTTI_SEQUENCE_H

#include <stdint.h>

enum { TUTTI_NUMBER_BITS = 40 };

/* The number alone; what is below 0 (no collective) stays as it is. */
static inline int64_t tutti_sequence_number(int64_t sequence)
{
    return sequence < 0 ? sequence : sequence & (((int64_t)1 << TUTTI_NUMBER_BITS) - 1);
}

static inline int tutti_sequence_slot(int64_t sequence)
{
    return sequence < 0 ? 0 : (int)(sequence >> TUTTI_NUMBER_BITS);
}

static inline int64_t tutti_sequence_make(int slot, int64_t number)
{
    return (int64_t)slot << TUTTI_NUMBER_BITS | number;
}

/* What all ranks call a collective in a trace, where slots of edges differ: of all ranks its number; of
 * a group or edge, whose key this is, a number that with all likelihood no other has. */
static inline int64_t tutti_sequence_shared(int64_t key, int64_t number)
{
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
    if (!key) return number;
    return (int64_t)1 << 62 | (int64_t)(hash >> 32) << 30 | (number & 0x3fffffff);
}

#endif
