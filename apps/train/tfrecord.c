#include "apps/train/tfrecord.h"

#include <errno.h>
#include <string.h>

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

/* Bit by bit: an event has less than 100 bytes. */
uint32_t tutti_tfrecord_crc(const void *data, size_t size)
{
    static const uint32_t polynomial = 0x82f63b78; /* reflected */
    const unsigned char *bytes = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}

static uint32_t mask_crc(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

int tutti_tfrecord_write(FILE *file, const void *data, size_t size)
{
    unsigned char head[12];
    const uint64_t length = size;
    memcpy(head, &length, sizeof length);
    const uint32_t of_length = mask_crc(tutti_tfrecord_crc(head, sizeof length)),
                   of_data = mask_crc(tutti_tfrecord_crc(data, size));
    memcpy(head + sizeof length, &of_length, sizeof of_length);
    errno = 0;
    if (fwrite(head, sizeof head, 1, file) == 1 && fwrite(data, 1, size, file) == size &&
        fwrite(&of_data, sizeof of_data, 1, file) == 1 && !fflush(file))
        return 1;
    if (!errno) errno = EIO;
    return 0;
}
