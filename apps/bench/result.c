#include "config.h" /* first: it asks libc for getline */

#include "apps/bench/result.h"

#include "apps/bench/commit.h"
#include "collectives/boot.h"
#include "dag/base/file.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/kernels/kernel.h"
#include "dag/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct tutti_result {
    FILE *json, *csv;                 /* or NULL */
    tutti_lock *json_lock, *csv_lock; /* of these files */
    json_t *run;                      /* what ran where */
    int failed;                       /* errno of the first failure */
};

/* ---- what ran where ---- */

static json_t *date_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_string(text);
}

/* "model name" of the first processor. */
static json_t *cpu_name(void)
{
    char line[256] = "";
    json_t *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !name && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (colon && strncmp(line, "model name", 10) == 0) name = json_string(colon + 2);
    }
    if (file) fclose(file);
    return name ? name : json_string("unknown");
}

const char *tutti_result_commit(void)
{
    return TUTTI_COMMIT;
}

json_t *tutti_result_run(void)
{
    struct utsname host;
    double load = 0;
    int named = uname(&host) == 0, loaded = getloadavg(&load, 1) == 1;
    json_t *versions = json_pack("{s:s, s:s, s:s, s:s}", "tutti", PACKAGE_VERSION, "starpu",
        tutti_run_starpu_version(), "mpi", tutti_boot_version(), "kernels", tutti_kernel_library());
    return json_pack("{s:s, s:o, s:s, s:o, s:i, s:o, s:o, s:s}", "event", "run", "date", date_now(),
        "host", named ? host.nodename : "unknown", "cpu", cpu_name(), "processors",
        (int)sysconf(_SC_NPROCESSORS_ONLN), "load", loaded ? json_real(load) : json_null(),
        "versions", versions, "commit", TUTTI_COMMIT);
}

json_t *tutti_result_samples(int64_t count, const double values[], double scale)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < count; i++)
        json_array_append_new(array, json_real(scale * values[i]));
    return array;
}

/* ---- CSV ---- */

/* The columns after those of the run; empty if an object lacks the member. */
static const char *const columns[] = {"event", "kind", "name", "model", "batch", "ranks",
    "link_mbit", "design", "algorithm", "lanes", "bytes", "unit", "op", "transport", "epoch"};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_field(FILE *out, const char *text)
{
    int quotes = strpbrk(text, ",\"\n") != NULL;
    if (quotes) fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    if (quotes) fputc('"', out);
}

static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value)) put_field(out, json_string_value(value));
    if (json_is_integer(value)) fprintf(out, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) fprintf(out, "%.12g", json_real_value(value));
}

static void put_header(FILE *out)
{
    fputs("date,host,cpu,commit", out);
    for (int c = 0; c < COLUMNS; c++) fprintf(out, ",%s", columns[c]);
    fputs(",sample,value\n", out);
}

static void put_lines(const tutti_result *r, const json_t *event)
{
    static const char *const run[] = {"date", "host", "cpu", "commit"};
    const json_t *samples = json_object_get(event, "samples");
    for (size_t i = 0; i < json_array_size(samples); i++) {
        for (int c = 0; c < 4; c++) {
            if (c) fputc(',', r->csv);
            put_value(r->csv, json_object_get(r->run, run[c]));
        }
        for (int c = 0; c < COLUMNS; c++) {
            fputc(',', r->csv);
            put_value(r->csv, json_object_get(event, columns[c]));
        }
        fprintf(r->csv, ",%zu,", i + 1);
        put_value(r->csv, json_array_get(samples, i));
        fputc('\n', r->csv);
    }
}

/* ---- the files ---- */

/* Locks the file, so that the bench is its only writer. path: or NULL. */
static tutti_status open_file(const char *what, const char *path, tutti_lock **lock, FILE **stream)
{
    const tutti_file_options file = {.what = what, .path = path};
    if (!path) return TUTTI_OK;
    tutti_status status = tutti_file_is_device(path) ? TUTTI_OK : tutti_lock_take(what, path, lock);
    return status ? status : tutti_file_stream(&file, 0, stream);
}

tutti_status tutti_result_open(const char *json, const char *csv, tutti_result **result)
{
    tutti_result *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    tutti_status status = open_file("--json", json, &r->json_lock, &r->json);
    if (!status) status = open_file("--csv", csv, &r->csv_lock, &r->csv);
    if (!status && !(r->run = tutti_result_run()))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for results");
    if (status) {
        tutti_result_close(r);
        return status;
    }
    if (r->csv) put_header(r->csv);
    tutti_result_event(r, json_incref(r->run));
    *result = r;
    return TUTTI_OK;
}

void tutti_result_event(tutti_result *result, json_t *event)
{
    if (!event && !result->failed)
        result->failed = EINVAL; /* a name that is not UTF-8, a number that is not finite */
    if (result->json && event && !result->failed) {
        errno = 0;
        if (json_dumpf(event, result->json, JSON_COMPACT | JSON_REAL_PRECISION(12)) ||
            fputc('\n', result->json) == EOF || fflush(result->json))
            result->failed = errno ? errno : EIO;
    }
    if (result->csv && event) put_lines(result, event);
    json_decref(event);
}

double tutti_result_series(
    tutti_result *result, const char *name, const char *unit, int count, double values[])
{
    json_t *samples = tutti_result_samples(count, values, 1);
    double median = tutti_median(count, values);
    printf("%-40s %10.2f %-9s (%.2f .. %.2f)\n", name, median, unit, values[0], values[count - 1]);
    tutti_result_event(
        result, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:i, s:o}", "event", "series", "name",
                    name, "unit", unit, "median", median, "lowest", values[0], "highest",
                    values[count - 1], "count", count, "samples", samples));
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
    if (result->csv && ferror(result->csv) && !result->failed) result->failed = EIO;
    if (result->csv && fclose(result->csv) && !result->failed) result->failed = errno;
    if (result->json && fclose(result->json) && !result->failed) result->failed = errno;
    int failed = result->failed;
    tutti_lock_release(result->json_lock);
    tutti_lock_release(result->csv_lock);
    json_decref(result->run);
    free(result);
    return failed ? tutti_fail(
                        TUTTI_ERR_IO, "--json or --csv: could not be written: %s", strerror(failed))
                  : TUTTI_OK;
}

tutti_status tutti_result_read(
    const char *file, tutti_status (*take)(void *ctx, const json_t *object), void *ctx)
{
    FILE *in = fopen(file, "re");
    if (!in) return tutti_fail(TUTTI_ERR_IO, "%s: cannot be read: %s", file, strerror(errno));
    tutti_status status = TUTTI_OK;
    char *line = NULL;
    size_t size = 0;
    for (int n = 1; !status && getline(&line, &size, in) > 0; n++) {
        json_t *object = json_loads(line, 0, NULL);
        status = object ? take(ctx, object)
                        : tutti_fail(TUTTI_ERR_FORMAT, "%s:%d: this is not JSON", file, n);
        json_decref(object);
    }
    if (!status && ferror(in))
        status = tutti_fail(TUTTI_ERR_IO, "%s: cannot be read: %s", file, strerror(errno));
    free(line);
    fclose(in);
    return status;
}
