/* tutti_membership_run: a session for each epoch of a membership (designs/elastic/elastic.h), over its connections in
 * place of MPI, and the newest two snapshots of what the program saves. */
#include "designs/attach/attach.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"
#include "designs/attach/attach_parts.h"
#include "designs/elastic/elastic.h"
#include "designs/elastic/elastic_start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 10 };

static const double ack_s = 600; /* that a step may take */
static const char function[] = "tutti_membership_run";

typedef struct snapshot {
    int64_t step; /* -1: none */
    void *bytes;
} snapshot;

typedef struct membership_run {
    tutti_attach_options options;
    tutti_membership_program program;
    tutti_elastic_start start;
    tutti_elastic *elastic;
    tutti_session *session; /* NULL: between epochs */
    tutti_membership epoch;
    int rank;
    snapshot newest, before;
    int64_t step;
    int own; /* the epoch has ended by a failure of this rank's program */
} membership_run;

/* ---- snapshots ---- */

static tutti_status wait_all(const membership_run *r)
{
    return tutti_wait(r->session, INFINITY);
}

static void swap(membership_run *r)
{
    const snapshot newest = r->newest;
    r->newest = r->before;
    r->before = newest;
}

/* Of the step that comes next. */
static void save(membership_run *r)
{
    if (r->newest.step == r->step) return;
    swap(r);
    r->newest.step = r->step;
    r->program.save(r->program.ctx, r->newest.bytes);
}

/* The snapshot with which the epoch begins: of this rank, or, on a new one, of the first that is not new. */
static tutti_status restore(membership_run *r)
{
    const int64_t step = r->epoch.snapshot;
    int fresh = 0, root = 0;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < r->epoch.n; i++) fresh += r->epoch.entry[i].fresh;
    while (r->epoch.entry[root].fresh) root++;
    if (fresh)
        status = tutti_exchange_broadcast(r->session->exchange, "the snapshot", TUTTI_I64, root,
            (int64_t)(r->program.bytes + 7) / 8, r->newest.bytes);
    r->newest.step = status ? r->newest.step : step;
    r->step = step;
    if (!status) r->program.load(r->program.ctx, r->newest.bytes);
    return status;
}

/* ---- an epoch ---- */

static tutti_status connect(void *ctx, int lanes, tutti_transport **transport)
{
    const membership_run *r = ctx;
    return tutti_elastic_mesh(r->elastic, lanes, transport);
}

static tutti_status report_epoch(membership_run *r, const tutti_membership *last)
{
    const tutti_membership *now = &r->epoch;
    const tutti_epoch epoch = {.epoch = now->epoch,
        .step = now->snapshot,
        .rank = r->rank,
        .size = now->n,
        .lost = tutti_elastic_lacking(last, now),
        .joined = last->n ? tutti_elastic_lacking(now, last) : 0,
        .number = r->start.self.id};
    if (last->n && r->rank == 0)
        tutti_log(TUTTI_LOG_WARN, "%d lost, %d joined: %d rank%s go%s on from step %lld",
            epoch.lost, epoch.joined, now->n, now->n == 1 ? "" : "s", now->n == 1 ? "es" : "",
            (long long)now->snapshot);
    return r->program.enter ? r->program.enter(r->program.ctx, r->session, &epoch) : TUTTI_OK;
}

enum { STAYS, HALTS, LEAVES };

/* After a snapshot: the ranks agree whether the epoch ends here. *what: LEAVES on a rank that was asked to. */
static tutti_status agree(membership_run *r, int *what)
{
    int64_t wish = tutti_elastic_look(r->elastic) != TUTTI_ELASTIC_STAY;
    const int leaving = r->program.leaving && *r->program.leaving;
    const tutti_coll_args args = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I64, .op = TUTTI_MAX, .count = 1, .recv = &wish};
    wish = wish || leaving;
    const tutti_status status =
        tutti_exchange_call(r->session->exchange, "whether the epoch ends", &args);
    *what = leaving ? LEAVES : wish ? HALTS : STAYS;
    return status;
}

static tutti_status run_steps(membership_run *r, int *last, int *what)
{
    tutti_status status = TUTTI_OK;
    while (!status && !*last && *what == STAYS) {
        status = r->program.step(r->program.ctx, r->session, r->step, last);
        if (status) break;
        r->step++;
        if (*last) return wait_all(r);
        if (r->step % r->program.every) continue;
        status = wait_all(r);
        if (status) break;
        save(r);
        tutti_elastic_snapshot(r->elastic, r->newest.step, r->before.step);
        status = agree(r, what);
    }
    return status;
}

/* What failed first counts, and its sentence; a failure of the program's own, whatever its status, ends all the same
 * what is in flight, here and on the others, which continue without this rank. */
static tutti_status leave_session(membership_run *r, tutti_status status)
{
    char why[TUTTI_ERROR_TEXT];
    if (!r->session) return status;
    snprintf(why, sizeof why, "%s", tutti_last_error());
    r->own = status && tutti_exchange_abort(
                           r->session->exchange, TUTTI_ERR_COMM, "this rank cannot continue");
    tutti_status waited = wait_all(r);
    if (waited == TUTTI_ERR_TIMEOUT && !tutti_insert_ended(r->session->insert) &&
        tutti_elastic_await_loss(r->elastic))
        (void)wait_all(r); /* what is left ends with the connections to the lost rank */
    if (!status) status = waited;
    if (r->program.leave) r->program.leave(r->program.ctx, status);
    tutti_detach(r->session);
    r->session = NULL;
    if (r->own) tutti_error_adopt(why);
    return status;
}

/* *what: LEAVES; *last: the program has come to its last step. */
static tutti_status run_epoch(
    membership_run *r, const tutti_membership *last_epoch, int *last, int *what)
{
    tutti_status status =
        tutti_session_attach_over(&r->options, r->epoch.epoch, connect, r, &r->session);
    if (!status) status = restore(r);
    if (!status) status = report_epoch(r, last_epoch);
    if (!status) status = run_steps(r, last, what);
    return leave_session(r, status);
}

static void enter(membership_run *r)
{
    r->rank = tutti_elastic_rank(&r->epoch, r->start.self.id);
    if (r->newest.step > r->epoch.snapshot) swap(r);
    r->before.step = -1;
    tutti_log_set_rank(r->rank);
    tutti_elastic_start_entered(&r->start);
    tutti_log_put_off(); /* if a rank is lost, others report what follows from it */
}

/* It was asked to: no error. */
static tutti_status leave_run(const membership_run *r)
{
    char sentence[TUTTI_ERROR_TEXT];
    snprintf(sentence, sizeof sentence, "%s: this rank leaves after step %lld", function,
        (long long)r->step);
    tutti_log(TUTTI_LOG_WARN, "%s", sentence);
    tutti_error_adopt(sentence);
    return TUTTI_ERR_INTERRUPTED;
}

static int is_leaving(const void *ctx)
{
    const membership_run *r = ctx;
    return r->program.leaving && *r->program.leaving;
}

static tutti_status await_others(membership_run *r)
{
    const tutti_status status = tutti_elastic_await_others(
        r->elastic, r->start.least, r->newest.step, r->before.step, is_leaving, r);
    if (status || tutti_elastic_look(r->elastic) != TUTTI_ELASTIC_STAY) return status;
    return leave_run(r);
}

static tutti_status run_epochs(membership_run *r)
{
    int finished = 0;
    tutti_status status = TUTTI_OK;
    while (!status && !finished) {
        const tutti_membership last_epoch = r->epoch;
        int last = 0, what = STAYS, goes_on = 0;
        status = tutti_elastic_enter(r->elastic, r->newest.step, r->before.step, &r->epoch);
        if (status) break;
        enter(r);
        if (r->epoch.n < r->start.least) {
            status = await_others(r);
            tutti_log_resolve(TUTTI_LOG_ERROR);
            continue;
        }
        status = run_epoch(r, &last_epoch, &last, &what);
        if (!r->own && (status == TUTTI_ERR_COMM || status == TUTTI_ERR_TIMEOUT))
            goes_on = tutti_elastic_await_loss(r->elastic);
        tutti_log_resolve(goes_on ? TUTTI_LOG_DEBUG : TUTTI_LOG_ERROR);
        if (goes_on) status = TUTTI_OK;
        if (!status && !goes_on && last) status = tutti_elastic_finish(r->elastic, &finished);
        if (!status && what == LEAVES) status = leave_run(r);
    }
    if (finished && !status) tutti_elastic_start_ended(&r->start);
    return status;
}

/* ---- opening ---- */

_Static_assert(sizeof(tutti_membership_program) ==
                   offsetof(tutti_membership_program, settings) + sizeof(char *),
    "the program ends with its last field");

static tutti_status read_program(const void *given, size_t bytes, tutti_membership_program *program)
{
    tutti_status status = tutti_session_read_sized(function, "tutti_membership_program", given,
        bytes, offsetof(tutti_membership_program, settings) + sizeof(char *), program,
        sizeof *program);
    if (status) return status;
    if (!given) return tutti_fail(TUTTI_ERR_INVAL, "%s: there is no program", function);
    const char *lacks = !program->save   ? "save"
                        : !program->load ? "load"
                        : !program->step ? "step"
                                         : NULL;
    if (lacks)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the program has no function %s", function, lacks);
    if (!program->bytes || program->every < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: bytes is %zu, every is %lld: must be more than 0",
            function, program->bytes, (long long)program->every);
    if (!program->every) program->every = EVERY;
    return TUTTI_OK;
}

/* Who has another one is refused at the door. */
static uint64_t hash_settings(const membership_run *r)
{
    const char *text[] = {TUTTI_VERSION, r->options.design, r->options.algorithm, r->options.verify,
        r->program.settings};
    uint64_t hash = 14695981039346656037u ^ r->program.bytes ^ (uint64_t)r->program.every << 40;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        for (const char *at = text[i] ? text[i] : "";; at++) {
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
            if (!*at) break;
        }
    return hash;
}

static tutti_status open_elastic(membership_run *r)
{
    const char *asked = tutti_elastic_start_asked();
    if (!asked)
        return tutti_fail(TUTTI_ERR_USAGE,
            "%s: start the program with tutti-run --elastic LEAST:MOST -n N", function);
    const char *wrong = tutti_elastic_start_read(asked, &r->start);
    if (wrong)
        return tutti_fail(
            TUTTI_ERR_USAGE, "TUTTI_ELASTIC %s: only tutti-run --elastic sets it", wrong);
    tutti_elastic_options options = tutti_elastic_start_options(&r->start);
    options.options = hash_settings(r);
    options.ack_s = ack_s;
    const tutti_status status =
        tutti_tcp_listener_adopt(r->start.door, r->start.token, &options.door);
    return status ? status : tutti_elastic_open(&options, &r->elastic);
}

static tutti_status open_snapshots(membership_run *r)
{
    const size_t bytes = (r->program.bytes + 7) / 8 * 8;
    r->newest = (snapshot){-1, calloc(1, bytes)};
    r->before = (snapshot){-1, calloc(1, bytes)};
    if (!r->newest.bytes || !r->before.bytes)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "%s: no memory for snapshots of %zu bytes", function, bytes);
    if (r->start.first.n) save(r);
    return TUTTI_OK;
}

tutti_status tutti_membership_run_sized(const tutti_attach_options *options, size_t options_bytes,
    const tutti_membership_program *program, size_t program_bytes)
{
    membership_run *r = calloc(1, sizeof *r);
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory", function);
    tutti_status status = tutti_session_read_options(function, options, options_bytes, &r->options);
    if (!status) status = read_program(program, program_bytes, &r->program);
    if (!status) status = open_elastic(r);
    if (!status) status = open_snapshots(r);
    if (!status) status = run_epochs(r);
    tutti_elastic_close(r->elastic);
    free(r->newest.bytes);
    free(r->before.bytes);
    free(r);
    return status;
}
