#define _GNU_SOURCE /* program_invocation_short_name */
#include "designs/attach/recording.h"

#include "dag/base/conf.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"
#include "dag/run/foreign.h"
#include "designs/trace/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tutti_recording {
    tutti_exchange *exchange;
    tutti_trace *spans;
    tutti_foreign *tasks;
    tutti_lock *lock; /* of the file, on rank 0 */
    char *path;       /* on rank 0 */
    tutti_clock_sample before;
    int64_t room; /* spans per worker */
};

/* Nothing divides a session into steps: its trace has one. */
enum { THE_STEP = 1, KEEP_EARLIER = 1 };

static const tutti_setting settings[] = {
    {TUTTI_CONF_INT, "trace-spans", "N", .fallback = "1000000", .low = 1, .high = 1e9,
        .environment = "TUTTI_TRACE_SPANS", .offset = offsetof(tutti_recording, room),
        .help = "spans that a worker keeps for a trace"},
    {0},
};
static const tutti_conf conf = {.program = "tutti_trace_begin", .settings = settings};

/* ---- begin ---- */

static tutti_status claim_file(tutti_recording *r, const char *file)
{
    if (!file || !*file)
        return tutti_fail(TUTTI_ERR_INVAL, "tutti_trace_begin: file is %s: rank 0 writes it",
            file ? "empty" : "NULL");
    if (tutti_file_is_device(file))
        return tutti_fail(TUTTI_ERR_INVAL,
            "tutti_trace_begin: %s is a device, which a trace does not replace", file);
    r->path = strdup(file);
    if (!r->path) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_trace_begin: no memory");
    return tutti_lock_take("trace", file, &r->lock);
}

static tutti_status prepare(tutti_recording *r, const char *file)
{
    tutti_status status = tutti_conf_environment(&conf, r, NULL);
    if (!status) status = tutti_trace_open(tutti_foreign_workers(), 0, r->room, &r->spans);
    tutti_trace_set_step(r->spans, THE_STEP); /* before a worker sees it */
    if (!status) status = tutti_foreign_open(r->spans, &r->tasks);
    if (!status && tutti_exchange_rank(r->exchange) == 0) status = claim_file(r, file);
    return status;
}

/* Accepts NULL. */
static void stop_and_free(tutti_recording *r)
{
    if (!r) return;
    if (r->spans) {
        tutti_trace_switch(r->spans, 0);
        tutti_exchange_trace(r->exchange, NULL);
    }
    tutti_foreign_close(r->tasks);
    tutti_trace_close(r->spans);
    tutti_lock_release(r->lock);
    free(r->path);
    free(r);
}

tutti_status tutti_recording_open(
    tutti_exchange *exchange, const char *file, tutti_recording **recording)
{
    tutti_status status = TUTTI_OK;
    tutti_recording *r = calloc(1, sizeof *r);
    if (r) {
        r->exchange = exchange;
        status = prepare(r, file);
    } else {
        status = tutti_fail(TUTTI_ERR_NOMEM, "tutti_trace_begin: no memory");
    }
    status = tutti_exchange_agree(exchange, status, NULL);
    if (!status) status = tutti_exchange_clock(exchange, &r->before);
    if (status) {
        stop_and_free(r);
        return status;
    }
    tutti_exchange_trace(exchange, r->spans);
    tutti_trace_switch(r->spans, 1);
    *recording = r;
    return TUTTI_OK;
}

tutti_trace *tutti_recording_spans(const tutti_recording *recording)
{
    return recording ? recording->spans : NULL;
}

/* ---- end ---- */

static tutti_status write_file(const tutti_recording *r)
{
    tutti_exchange *x = r->exchange;
    const tutti_trace_about about = {.design = tutti_exchange_design(x)->name,
        .model = program_invocation_short_name,
        .algorithm = tutti_exchange_algorithm(x),
        .lanes = tutti_exchange_lanes(x),
        .first_step = THE_STEP,
        .last_step = THE_STEP};
    const tutti_file_options file = {.what = "trace", .path = r->path, .keep = KEEP_EARLIER};
    tutti_trace_rank rank = {.rank = tutti_exchange_rank(x), .before = r->before};
    tutti_exchange_set_activity(x, "writes a trace", 1);
    tutti_status status = tutti_exchange_agree(x, TUTTI_OK, NULL); /* rank 0 may be late */
    if (!status) status = tutti_exchange_clock(x, &rank.after);
    if (!status) status = tutti_trace_save(x, r->spans, &about, &rank, &file);
    tutti_exchange_set_activity(x, NULL, 0);
    if (!status && rank.dropped)
        tutti_log(TUTTI_LOG_WARN,
            "tutti_trace_end: %" PRId64 " spans of all ranks did not fit and were dropped: the "
            "trace is not whole (a worker keeps TUTTI_TRACE_SPANS=%" PRId64 ")",
            rank.dropped, r->room);
    return status;
}

tutti_status tutti_recording_close(tutti_recording *recording, tutti_status failure)
{
    tutti_recording *r = recording;
    if (!r) return TUTTI_OK;
    tutti_trace_switch(r->spans, 0);
    tutti_exchange_trace(r->exchange, NULL);
    tutti_foreign_stop(r->tasks);
    tutti_status status = failure ? TUTTI_OK : write_file(r);
    if (failure && r->path)
        tutti_log(TUTTI_LOG_WARN, "trace %s is not written: the session has failed", r->path);
    stop_and_free(r);
    return status;
}
