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

#endif
