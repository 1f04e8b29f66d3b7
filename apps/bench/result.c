#include "apps/bench/result.h"

#include "dag/base/log.h"
#include "dag/base/median.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tutti_result {
    FILE *json; /* or NULL */
    int failed; /* errno of the first failure */
};

tutti_status tutti_result_open(const char *json, tutti_result **result)
{
    tutti_result *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    if (json && !(r->json = fopen(json, "we"))) {
        free(r);
        return tutti_fail(TUTTI_ERR_IO, "--json %s: cannot be written: %s", json, strerror(errno));
    }
    *result = r;
    return TUTTI_OK;
}

void tutti_result_event(tutti_result *result, json_t *event)
{
    if (result->json && event && !result->failed) {
        errno = 0;
        if (json_dumpf(event, result->json, JSON_COMPACT | JSON_REAL_PRECISION(12)) ||
            fputc('\n', result->json) == EOF || fflush(result->json))
            result->failed = errno ? errno : EIO;
    }
    json_decref(event);
}

double tutti_result_series(
    tutti_result *result, const char *name, const char *unit, int count, double values[])
{
    double median = tutti_median(count, values);
    printf("%-40s %10.2f %-9s (%.2f .. %.2f)\n", name, median, unit, values[0], values[count - 1]);
    tutti_result_event(result, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:i}", "event", "series",
                                   "name", name, "unit", unit, "median", median, "lowest",
                                   values[0], "highest", values[count - 1], "count", count));
    return median;
}

void tutti_result_number(tutti_result *result, const char *name, const char *unit, double value)
{
    printf("%-40s %10.2f %s\n", name, value, unit);
    tutti_result_event(result, json_pack("{s:s, s:s, s:s, s:f}", "event", "number", "name", name,
                                   "unit", unit, "value", value));
}

tutti_status tutti_result_close(tutti_result *result)
{
    if (!result) return TUTTI_OK;
    if (result->json && fclose(result->json) && !result->failed) result->failed = errno;
    int failed = result->failed;
    free(result);
    return failed ? tutti_fail(TUTTI_ERR_IO, "--json: could not be written: %s", strerror(failed))
                  : TUTTI_OK;
}
