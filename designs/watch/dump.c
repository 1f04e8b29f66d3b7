#include "designs/watch/dump.h"

#include "dag/base/file.h"
#include "dag/base/json.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void write_state(int rank, const tutti_stall_state *s, FILE *out)
{
    static const char *const places[TUTTI_STALL_PLACES] = {
        "not submitted", "submitted", "ready", "started", "ended"};
    static const char *const pulses[] = {"unknown", "runs", "stopped", "gone"};
    fprintf(
        out, "{\"event\":\"rank\",\"rank\":%d,\"answers\":%s", rank, s->answers ? "true" : "false");
    if (!s->answers) fprintf(out, ",\"process\":\"%s\"", pulses[s->pulse]);
    if (s->known) {
        fprintf(out,
            ",\"heard_s\":%.3f,\"about\":%" PRId64 ",\"place\":\"%s\",\"submitted\":%" PRId64
            ",\"ended\":%" PRId64 ",\"tasks_ended\":%" PRId64 ",\"waits_in\":%" PRId64
            ",\"waits_s\":%.3f,\"idle_s\":%.3f,\"can_move\":%s,\"name\":",
            s->last_report_s, s->about,
            (unsigned)s->place < TUTTI_STALL_PLACES ? places[s->place] : "", s->submitted, s->ended,
            s->tasks, s->waits, s->waits_s, s->idle_s, s->can_move ? "true" : "false");
        tutti_json_string(out, s->name);
        fputs(",\"in_the_way\":", out);
        tutti_json_string(out, s->way);
    }
    fputs("}\n", out);
}

static void write_all(int rank, int ranks, const tutti_stall_state state[], tutti_driver *driver,
    double now_s, FILE *out)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    fprintf(out, "{\"event\":\"stall\",\"rank\":%d,\"ranks\":%d,\"time\":%.3f}\n", rank, ranks,
        (double)wall.tv_sec + 1e-9 * (double)wall.tv_nsec);
    for (int r = 0; r < ranks; r++) write_state(r, &state[r], out);
    tutti_driver_write(driver, now_s, out);
}

tutti_status tutti_dump_write(const char *path, int rank, int ranks,
    const tutti_stall_state state[], tutti_driver *driver, double now_s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the stall's file");
    write_all(rank, ranks, state, driver, now_s, out);
    /* A disk that causes the stall must not block its report. */
    const tutti_file_options file = {.what = "stall report", .path = path, .unsynced = 1};
    tutti_status status = fclose(out) ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for %s", path)
                                      : tutti_file_put(&file, text, bytes);
    free(text);
    if (!status) tutti_log(TUTTI_LOG_WARN, "the last collectives of this rank are in %s", path);
    return status;
}
