/* How a camera was held: the orientation that Exif stores beside a picture. [P]
 *
 * Orientation o of a stored picture, and where the pixel (x, y) of the upright one is in it:
 *
 *   1  (x, y)       2  (w-1-x, y)   3  (w-1-x, h-1-y)   4  (x, h-1-y)
 *   5  (y, x)       6  (y, h-1-x)   7  (w-1-y, h-1-x)   8  (w-1-y, x)        stored: w x h
 *
 * Source: CIPA DC-008, Exif 2.32, tag 0x0112; the same result as Pillow's exif_transpose. */
#ifndef TUTTI_EXIF_H
#define TUTTI_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientation in a TIFF structure, with or without "Exif\0\0" before it; 1 if there is none, or
 * the structure is damaged. It is a SHORT; a LONG or a BYTE, as some programs write, is read, too. */
int tutti_exif_orientation(const uint8_t *tiff, size_t count);

/* What an orientation does to the stored picture: mirror it, then perhaps exchange its axes. */
static inline int tutti_exif_transposes(int orientation)
{
    return orientation >= 5;
}

static inline int tutti_exif_mirrors_x(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static inline int tutti_exif_mirrors_y(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* stored [in]: (height,width,C). upright [out]: (height,width,C), or (width,height,C) if the
 * orientation exchanges the axes. */
void tutti_exif_orient(
    int orientation, int width, int height, int C, const uint8_t *stored, uint8_t *upright);

#endif
