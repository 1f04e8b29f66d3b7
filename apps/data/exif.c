#include "apps/data/exif.h"

#include <string.h>

enum { ORIENTATION = 0x0112, BYTE = 1, SHORT = 3, LONG = 4, ENTRY = 12, HEAD = 8 };

typedef struct tiff_reader {
    const uint8_t *bytes;
    size_t count;
    int big; /* the first byte of a number is its most significant one */
} tiff_reader;

/* A number of `size` bytes; 0 beyond the end. */
static uint32_t number(const tiff_reader *t, size_t at, size_t size)
{
    uint32_t value = 0;
    if (at > t->count || size > t->count - at) return 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | t->bytes[at + (t->big ? i : size - 1 - i)];
    return value;
}

/* How many bytes a number of this type has; 0 unless the type is a whole number. */
static size_t bytes_of(uint32_t type)
{
    return type == BYTE ? 1 : type == SHORT ? 2 : type == LONG ? 4 : 0;
}

int tutti_exif_orientation(const uint8_t *tiff, size_t count)
{
    static const char head[] = "Exif\0"; /* and the 0 that ends the string */
    if (count > sizeof head && !memcmp(tiff, head, sizeof head)) {
        tiff += sizeof head;
        count -= sizeof head;
    }
    if (count < HEAD || (memcmp(tiff, "II*\0", 4) && memcmp(tiff, "MM\0*", 4))) return 1;
    tiff_reader t = {tiff, count, tiff[0] == 'M'};
    size_t folder = number(&t, 4, 4), entries = number(&t, folder, 2);
    for (size_t e = 0; e < entries; e++) {
        size_t at = folder + 2 + e * ENTRY;
        if (at >= count) break;
        size_t bytes = bytes_of(number(&t, at + 2, 2));
        if (number(&t, at, 2) != ORIENTATION || !bytes) continue;
        uint32_t value = number(&t, at + 8, bytes);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

void tutti_exif_orient(
    int orientation, int width, int height, int C, const uint8_t *stored, uint8_t *upright)
{
    int transposes = tutti_exif_transposes(orientation);
    int mirrors_x = tutti_exif_mirrors_x(orientation),
        mirrors_y = tutti_exif_mirrors_y(orientation);
    int columns = transposes ? height : width, rows = transposes ? width : height;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int a = transposes ? y : x, b = transposes ? x : y;
            if (mirrors_x) a = width - 1 - a;
            if (mirrors_y) b = height - 1 - b;
            const uint8_t *pixel = stored + ((size_t)b * (size_t)width + (size_t)a) * (size_t)C;
            for (int c = 0; c < C; c++) *upright++ = pixel[c];
        }
}
