#include "dag/base/median.h"

#include <stdlib.h>

int tutti_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tutti_median(int64_t count, double values[])
{
    if (count < 1) return 0;
    qsort(values, (size_t)count, sizeof *values, tutti_compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
