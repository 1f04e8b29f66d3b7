/* Quantities as text, a number and a unit: "1.5us". What is printed reads as the same. [P] */
#ifndef TUTTI_LINKS_QUANTITY_H
#define TUTTI_LINKS_QUANTITY_H

#include <stdio.h>

typedef struct tutti_quantity_unit {
    const char *name;
    double is;
} tutti_quantity_unit;

/* Units of one measure; a NULL name ends a table. Bytes a second, seconds, bytes, and none. */
extern const tutti_quantity_unit tutti_rate_units[], tutti_time_units[], tutti_size_units[],
    tutti_number_units[];

/* Reads a quantity, more than 0. 0: invalid. */
int tutti_quantity_read(const char *text, const tutti_quantity_unit *units, double *value);
/* In the first of the units in which few digits say exactly the value; else in the one that is 1, with all digits. */
void tutti_quantity_print(FILE *out, double value, const tutti_quantity_unit *units);

/* The same for rates. */
int tutti_rate_read(const char *text, double *bytes_per_s);
void tutti_rate_print(FILE *out, double bytes_per_s);

#endif
