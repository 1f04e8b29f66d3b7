#include "dag/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int tutti_number_int(const char *text, int64_t *number)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")]) return 0;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno) return 0;
    *number = value;
    return 1;
}

int tutti_number_real(const char *text, double *number)
{
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return 0;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(value)) return 0;
    *number = value;
    return 1;
}

int tutti_number_within(const char *text, double low, double high, int whole, double *number)
{
    return *text != '+' && *text != '-' && tutti_number_real(text, number) && *number >= low &&
           *number <= high && (!whole || *number == floor(*number));
}
