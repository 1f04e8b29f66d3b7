/* Numbers in files and on wires whose least significant byte comes first, whatever this machine does. [P] */
#ifndef TUTTI_BASE_LITTLE_ENDIAN_H
#define TUTTI_BASE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* The lower `bytes` bytes of value; returns what is behind them. */
static inline unsigned char *tutti_little_put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> (8 * i));
    return to + bytes;
}

static inline uint64_t tutti_little_get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline uint32_t tutti_little_u32(const unsigned char bytes[4])
{
    return (uint32_t)tutti_little_get(bytes, 4);
}

static inline float tutti_little_f32(const unsigned char bytes[4])
{
    const uint32_t bits = tutti_little_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
