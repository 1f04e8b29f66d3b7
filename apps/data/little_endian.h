/* Numbers in files whose least significant byte comes first, whatever this machine does. [P] */
#ifndef TUTTI_DATA_LITTLE_ENDIAN_H
#define TUTTI_DATA_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tutti_little_u32(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline float tutti_little_f32(const uint8_t bytes[4])
{
    const uint32_t bits = tutti_little_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
