/* The median of some numbers, and their order. [P] */
#ifndef TUTTI_MEDIAN_H
#define TUTTI_MEDIAN_H

#include <stdint.h>

/* The middle value, or the mean of the two middle ones; 0 if there are none. Sorts the values in
 * ascending order. */
double tutti_median(int64_t count, double values[]);
/* Compares two doubles, for qsort. */
int tutti_compare_doubles(const void *a, const void *b);

#endif
