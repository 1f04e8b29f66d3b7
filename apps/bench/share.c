#include "apps/bench/share.h"

#include "dag/base/median.h"

#include <math.h>
#include <stdio.h>

static const double most_error = 0.25;

double tutti_share_error(int64_t count, double values[])
{
    if (count < 2) return NAN;
    tutti_median(count, values); /* sorts */
    int64_t cut = count < 4 ? 0 : count / 4;
    return (values[count - 1 - cut] - values[cut]) / 2;
}

double tutti_share_of(double value, double error)
{
    if (!isfinite(value) || !(error <= most_error)) return NAN;
    if (value < -error || value > 1 + error) return NAN;
    return fmin(1, fmax(0, value));
}

char *tutti_share_text(double share, char text[16])
{
    snprintf(text, 16, isnan(share) ? "unknown" : "%.2f", share);
    return text;
}

json_t *tutti_share_json(double share)
{
    return isnan(share) ? json_string("unknown") : json_real(share);
}
