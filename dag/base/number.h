/* Numbers as people write them: the whole text must be one decimal number. Spaces, hexadecimal
 * digits, "nan", "inf", empty text and values that the type cannot hold are rejected. [P] */
#ifndef TUTTI_NUMBER_H
#define TUTTI_NUMBER_H

#include <stdint.h>

/* Return 1 and set the number, or return 0. */
int tutti_number_int(const char *text, int64_t *number);
int tutti_number_real(const char *text, double *number); /* finite */
/* One without a sign, from low to high; whole: without fractions. */
int tutti_number_within(const char *text, double low, double high, int whole, double *number);

#endif
