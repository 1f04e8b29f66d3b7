/* Numbers as people write them: decimal, all of the text, and nothing else. Spaces, hexadecimal
 * digits, "nan", "inf", the empty text and what a type cannot hold are refused. [P] */
#ifndef TUTTI_NUMBER_H
#define TUTTI_NUMBER_H

#include <stdint.h>

/* 1 and the number, or 0. */
int tutti_number_int(const char *text, int64_t *number);
int tutti_number_real(const char *text, double *number); /* finite */

#endif
