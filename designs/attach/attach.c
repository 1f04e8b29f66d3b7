#include "designs/attach/attach.h"

#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/run/init_starpu.h"
#include "designs/attach/attach_parts.h"
#include "designs/attach/sessions.h"
#include "designs/exchange/attached_transport.h"
#include "designs/exchange/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defaults for what tutti_attach_options leaves open. */
typedef struct environment {
    const char *design, *algorithm, *topology, *verify, *stall_dir, *transport;
    tutti_conf_int lanes;
    tutti_conf_real chunk_mb, link_mbit;
    double stall_warn_s, stall_dump_s, stall_abort_s, setup_timeout_s;
} environment;

enum {
    DESIGN,
    ALGORITHM,
    TOPOLOGY,
    LINK_MBIT,
    VERIFY,
    LANES,
    CHUNK_MB,
    STALL_WARN,
    STALL_DUMP,
    STALL_ABORT,
    STALL_DIR,
    SETUP_TIMEOUT,
    TRANSPORT,
    ROWS
};

#define AT(member) .offset = offsetof(environment, member)
static const tutti_setting settings[ROWS + 1] = {
    [DESIGN] = TUTTI_SETTING_DESIGN(AT(design)),
    [ALGORITHM] = TUTTI_SETTING_ALGORITHM(AT(algorithm)),
    [TOPOLOGY] = TUTTI_SETTING_TOPOLOGY(AT(topology)),
    [LINK_MBIT] = TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    [VERIFY] = TUTTI_SETTING_VERIFY(AT(verify)),
    [LANES] = TUTTI_SETTING_LANES(AT(lanes)),
    [CHUNK_MB] = TUTTI_SETTING_CHUNK_MB(AT(chunk_mb)),
    [STALL_WARN] = TUTTI_SETTING_STALL_WARN(AT(stall_warn_s)),
    [STALL_DUMP] = TUTTI_SETTING_STALL_DUMP(AT(stall_dump_s)),
    [STALL_ABORT] = TUTTI_SETTING_STALL_ABORT(AT(stall_abort_s)),
    [STALL_DIR] = TUTTI_SETTING_STALL_DIR(AT(stall_dir)),
    [SETUP_TIMEOUT] = TUTTI_SETTING_SETUP_TIMEOUT(AT(setup_timeout_s)),
    [TRANSPORT] = TUTTI_SETTING_TRANSPORT(tutti_attached_transport_choice, AT(transport)),
};
#undef AT
static const tutti_conf conf = {.program = "tutti_attach", .settings = settings};

/* A field that the program sets hides its variable, whatever that holds. */
static tutti_status read_environment(
    const tutti_attach_options *given, environment *e, tutti_conf_origin origin[ROWS])
{
    const int set[ROWS] = {
        [DESIGN] = given->design != NULL,
        [ALGORITHM] = given->algorithm != NULL,
        [VERIFY] = given->verify != NULL,
        [LANES] = given->lanes != 0,
        [CHUNK_MB] = given->chunk_mb != 0,
        [STALL_WARN] = given->stall_warn_s != 0,
        [STALL_DUMP] = given->stall_dump_s != 0,
        [STALL_ABORT] = given->stall_abort_s != 0,
        [SETUP_TIMEOUT] = given->setup_timeout_s != 0,
    };
    for (int row = 0; row < ROWS; row++)
        origin[row] = set[row] ? TUTTI_CONF_FROM_OPTION : TUTTI_CONF_FROM_FALLBACK;
    return tutti_conf_environment(&conf, e, origin);
}

/* One field: 0 takes the environment's value; below 0 means never, if the field allows that. */
static tutti_status take_seconds(
    double given, const char *field, int may_be_never, double otherwise, double *seconds)
{
    if (!(given <= TUTTI_SETTING_MOST_S) || (given < 0 && !may_be_never))
        return tutti_fail(TUTTI_ERR_USAGE, "tutti_attach: %s is %g: must be seconds, at most %d%s",
            field, given, TUTTI_SETTING_MOST_S, may_be_never ? ", or negative for never" : "");
    *seconds = given < 0 ? 0 : given > 0 ? given : otherwise;
    return TUTTI_OK;
}

/* For a rank whose program is stuck: it should have ended and has not. */
static void give_up(void)
{
    tutti_boot_abort(1);
}

/* What messages call the times of the inspector, by what set them: a tutti_conf_origin. */
static const char *const stall_names[][TUTTI_CONF_FROM_OPTION + 1] = {
    {"the default of stall_warn_s", "TUTTI_STALL_WARN", "stall_warn_s of tutti_attach_options"},
    {"the default of stall_dump_s", "TUTTI_STALL_DUMP", "stall_dump_s of tutti_attach_options"},
    {"the default of stall_abort_s", "TUTTI_STALL_ABORT", "stall_abort_s of tutti_attach_options"},
};

static tutti_status take_stall(const tutti_attach_options *given, const environment *e,
    const tutti_conf_origin origin[ROWS], tutti_watch_options *watch)
{
    *watch = (tutti_watch_options){.on = 1,
        .name = {stall_names[0][origin[STALL_WARN]], stall_names[1][origin[STALL_DUMP]],
            stall_names[2][origin[STALL_ABORT]]},
        .folder = e->stall_dir,
        .session = tutti_sessions_number(),
        .give_up = given->may_abort ? give_up : NULL,
        .call = "tutti_wait"};
    tutti_status status =
        take_seconds(given->stall_warn_s, "stall_warn_s", 1, e->stall_warn_s, &watch->warn_s);
    if (!status)
        status =
            take_seconds(given->stall_dump_s, "stall_dump_s", 1, e->stall_dump_s, &watch->dump_s);
    if (!status)
        status = take_seconds(
            given->stall_abort_s, "stall_abort_s", 1, e->stall_abort_s, &watch->abort_s);
    return status;
}

static tutti_status take_lanes(
    const tutti_attach_options *given, const environment *e, tutti_exchange_options *options)
{
    const tutti_design *design = options->design;
    int otherwise = design->many_lanes ? (int)tutti_conf_int_or(e->lanes, 0) : 0;
    if (given->lanes < 0 || given->lanes > TUTTI_SETTING_MOST_LANES)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_attach: lanes is %d: must be from 1 to %d, or 0 for the default", given->lanes,
            TUTTI_SETTING_MOST_LANES);
    if (given->lanes > 1 && !design->many_lanes)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_attach: lanes is %d, but design %s has one lane (concurrent has several)",
            given->lanes, design->name);
    options->lanes = given->lanes ? given->lanes : otherwise;
    return TUTTI_OK;
}

static tutti_status take_chunks(
    const tutti_attach_options *given, const environment *e, tutti_exchange_options *options)
{
    static const double most_mb = 1e6;
    tutti_conf_real chunk_mb = {.value = given->chunk_mb < 0 ? 0 : given->chunk_mb};
    if (!(given->chunk_mb <= most_mb))
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_attach: chunk_mb is %g: must be MB, at most %.0f, or negative for no chunks",
            given->chunk_mb, most_mb);
    int64_t bytes = tutti_conf_bytes(given->chunk_mb != 0 ? chunk_mb : e->chunk_mb);
    options->chunk_bytes = bytes;
    return TUTTI_OK;
}

/* Padding at the end would become fields of a later release, with undefined contents: there must be none. Each release
 * names its last field here. */
_Static_assert(
    sizeof(tutti_attach_options) == offsetof(tutti_attach_options, chunk_mb) + sizeof(double),
    "the options end with their last field");

tutti_status tutti_session_read_sized(const char *function, const char *type, const void *given,
    size_t bytes, size_t first, void *to, size_t size)
{
    static const size_t most = 4096;
    const char *unknown = (const char *)given + size;
    memset(to, 0, size);
    if (!given) return TUTTI_OK;
    if (bytes < first || bytes > most)
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s_sized: a size is %zu: pass sizeof(%s)", function, bytes, type);
    for (size_t i = size; i < bytes; i++)
        if (*unknown++)
            return tutti_fail(TUTTI_ERR_USAGE,
                "%s: the program was compiled with the headers of a later Tutti than this "
                "library, " TUTTI_VERSION
                ", and sets what the library does not know: install that Tutti, or "
                "compile the program again",
                function);
    memcpy(to, given, bytes < size ? bytes : size);
    return TUTTI_OK;
}

tutti_status tutti_session_read_options(
    const char *function, const void *given, size_t bytes, tutti_attach_options *options)
{
    return tutti_session_read_sized(function, "tutti_attach_options", given, bytes,
        offsetof(tutti_attach_options, chunk_mb) + sizeof(double), options, sizeof *options);
}

static tutti_status read_options(const tutti_attach_options *given, tutti_exchange_options *options)
{
    environment e;
    tutti_conf_origin origin[ROWS];
    tutti_status status = read_environment(given, &e, origin);
    if (status) return status;
    const char *design = given->design ? given->design : e.design;
    const char *verify = given->verify ? given->verify : e.verify;
    options->design = tutti_design_find(design);
    if (!options->design) {
        char known[256];
        return tutti_fail(TUTTI_ERR_USAGE, "tutti_attach: design '%s' is not known; known: %s",
            design, tutti_design_names(known, sizeof known));
    }
    options->algorithm = given->algorithm ? given->algorithm : e.algorithm;
    options->topology = e.topology;
    options->link_mbit = tutti_conf_real_or(e.link_mbit, 0);
    options->verify = tutti_verify_mode_find(verify);
    if (options->verify == TUTTI_VERIFY_MODES)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_attach: verify '%s' is not known; known: off, on, full", verify);
    status = take_lanes(given, &e, options);
    if (!status) status = take_chunks(given, &e, options);
    if (!status) status = take_stall(given, &e, origin, &options->watch);
    if (!status)
        status = take_seconds(given->setup_timeout_s, "setup_timeout_s", 0, e.setup_timeout_s,
            &options->setup_timeout_s);
    if (!status) status = tutti_attached_transport_check(e.transport, options->algorithm);
    options->choose_transport = tutti_attached_transport_open;
    options->choose_ctx = (void *)e.transport;
    options->watch.design = options->design->name;
    return status ? status : tutti_exchange_check_options(options);
}

/* A session, and what is read where it is set up: by a thread that continues after TIMEOUT, so all of it stays. */
typedef struct attachment {
    tutti_session session;
    MPI_Comm comm;
    char settings[512];
} attachment;

/* A rank whose options are refused still attaches, to tell the others, which would wait for it. */
static tutti_status open_exchange(attachment *a, tutti_status refused, const char *further,
    const tutti_attach_options *given, tutti_exchange_options *options)
{
    char why[TUTTI_ERROR_TEXT];
    if (!refused) refused = read_options(given, options);
    snprintf(why, sizeof why, "%s", tutti_last_error());
    if (refused) *options = (tutti_exchange_options){.design = tutti_design_find("sequential")};
    const char *transport = options->choose_ctx;
    snprintf(a->settings, sizeof a->settings, "options=%s\nTUTTI_TRANSPORT=%s\n%s",
        refused ? "refused" : "accepted", transport ? transport : "", further);
    options->settings = a->settings;
    tutti_status status = tutti_exchange_attach(&a->comm, options, &a->session.exchange);
    if (refused) tutti_error_adopt(why);
    return refused ? refused : status;
}

/* MPI_Finalize has been called, and no caller can receive a status. After it MPI may not be called: what does not end
 * is left as it is. */
static void leave_at_the_end(void *ctx)
{
    tutti_session *s = ctx;
    tutti_status status = TUTTI_OK;
    if (!s->exchange) return; /* tutti_attach has failed */
    if (!s->detached) {
        tutti_log(TUTTI_LOG_ERROR,
            "tutti_detach: not called before MPI_Finalize, which now closes this session");
        status = tutti_detach(s);
    }
    if ((status || s->exchange) && s->may_abort) tutti_boot_abort(1);
    if (!s->exchange) return;
    tutti_log(TUTTI_LOG_WARN,
        "MPI_Finalize was called while collectives of a session were in flight: they will not end");
    tutti_exchange_silence(s->exchange);
}

static void close_groups(tutti_session *whole)
{
    for (tutti_session *s = whole->next; s; s = s->next) tutti_sessions_close(s);
    whole->next = NULL;
}

static void release(tutti_session *session)
{
    close_groups(session);
    tutti_names_close(session->names);
    tutti_operators_free(&session->operators);
    tutti_priorities_free(&session->priorities);
    tutti_sessions_close(session);
}

/* Of a session whose exchange is open: what it has besides. A rank may have given up while the others set it up; they
 * wait for it no longer than for one that does not come. */
static tutti_status equip(tutti_session *s, double setup_timeout_s)
{
    tutti_exchange_set_timeout(s->exchange, setup_timeout_s);
    tutti_run_hooks hooks = tutti_exchange_insert_hooks(s->exchange);
    tutti_status status =
        tutti_insert_open(&hooks, tutti_exchange_design(s->exchange)->chain, &s->insert);
    if (!status) status = tutti_names_open(&s->names);
    s->rank = tutti_exchange_rank(s->exchange);
    s->size = tutti_exchange_size(s->exchange);
    status = tutti_exchange_agree(s->exchange, status, NULL);
    tutti_exchange_set_timeout(s->exchange, INFINITY);
    return status;
}

static void discard(tutti_session *s)
{
    tutti_insert_close(s->insert);
    tutti_exchange_close(s->exchange);
    s->exchange = NULL;
    release(s);
}

tutti_status tutti_session_attach(const void *given, tutti_status refused, const char *further,
    tutti_meter *meter, const tutti_attach_options *options, tutti_session **session)
{
    const MPI_Comm comm = given ? *(const MPI_Comm *)given : MPI_COMM_NULL;
    if (!session) return tutti_fail(TUTTI_ERR_INVAL, "tutti_attach: session is NULL");
    if (comm == MPI_COMM_NULL)
        return tutti_fail(TUTTI_ERR_INVAL, "tutti_attach: the communicator is MPI_COMM_NULL");
    tutti_status status = tutti_handle_outside_tasks("tutti_attach");
    if (status) return status;
    attachment *a = tutti_sessions_open(sizeof *a);
    if (!a) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_attach: no memory");
    tutti_session *s = &a->session;
    a->comm = comm;
    tutti_exchange_options exchange = {0};
    exchange.on_end = leave_at_the_end;
    exchange.on_end_ctx = s;
    exchange.priorities.on = 1;
    exchange.messages = 1;
    exchange.meter = meter;
    s->whole = s;
    s->may_abort = options->may_abort;
    status = open_exchange(a, refused, further, options, &exchange);
    if (!status) status = equip(s, exchange.setup_timeout_s);
    if (status) {
        discard(s);
        return status;
    }
    *session = s;
    return TUTTI_OK;
}

tutti_status tutti_session_attach_over(const tutti_attach_options *options, int64_t epoch,
    tutti_status (*connect)(void *ctx, int lanes, tutti_transport **transport), void *ctx,
    tutti_session **session)
{
    tutti_exchange_options exchange = {.priorities.on = 1, .messages = 1};
    tutti_transport *transport;
    tutti_status status = read_options(options, &exchange);
    if (!status) status = tutti_attached_ranks_check(exchange.algorithm, exchange.topology);
    if (status) return status;
    exchange.choose_transport = NULL;
    exchange.watch.session = (int)epoch;
    tutti_session *s = tutti_sessions_open(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_membership_run: no memory");
    s->whole = s;
    status = connect(ctx, tutti_exchange_transport_lanes(&exchange), &transport);
    if (!status) status = tutti_exchange_open_over(transport, &exchange, &s->exchange);
    if (!status) status = equip(s, exchange.setup_timeout_s);
    if (status) {
        discard(s);
        return status;
    }
    *session = s;
    return TUTTI_OK;
}

tutti_status tutti_session_leave(const char *function, unsigned errors, tutti_status status)
{
    char sentence[TUTTI_ERROR_TEXT];
    if (!status || tutti_error_count() != errors) return status;
    snprintf(sentence, sizeof sentence, "%s: %s; the log of this or another rank says why",
        function, tutti_status_text(status));
    tutti_error_adopt(sentence);
    return status;
}

tutti_status tutti_start_starpu(struct starpu_conf *starpu)
{
    return tutti_run_init_starpu(starpu);
}

tutti_status tutti_attach_sized(MPI_Comm comm, const tutti_attach_options *options,
    size_t options_bytes, tutti_session **session)
{
    tutti_attach_options known;
    unsigned errors = tutti_error_count();
    tutti_status refused =
        tutti_session_read_options("tutti_attach", options, options_bytes, &known);
    tutti_status status = tutti_session_attach(&comm, refused, "", NULL, &known, session);
    return tutti_session_leave("tutti_attach", errors, status);
}

tutti_status tutti_session_enter(const tutti_session *session, const char *function)
{
    tutti_status status = tutti_sessions_check(session, function);
    return status ? status : tutti_handle_outside_tasks(function);
}

tutti_status tutti_session_enter_whole(const tutti_session *session, const char *function)
{
    tutti_status status = tutti_session_enter(session, function);
    if (status || session->whole == session) return status;
    return tutti_fail(TUTTI_ERR_INVAL,
        "%s: this is a group: call it with the session that tutti_attach has opened", function);
}

static const double patience_s = 60;

tutti_status tutti_session_finalize(tutti_session *session)
{
    tutti_status status = tutti_insert_wait(session->insert, patience_s);
    if (status) tutti_exchange_explain(session->exchange, status);
    return status;
}

tutti_status tutti_detach(tutti_session *session)
{
    if (!session) return TUTTI_OK;
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_session_enter_whole(session, "tutti_detach");
    if (status) return status;
    session->detached = 1;
    status = tutti_session_finalize(session);
    tutti_exchange_set_timeout(session->exchange, patience_s); /* a trace keeps no rank */
    tutti_status traced = tutti_recording_close(session->recording, status);
    session->recording = NULL;
    if (!status) status = traced;
    if (!tutti_insert_ended(session->insert)) {
        close_groups(session);
        tutti_sessions_close(session);
        /* what is in flight may still use everything */
        return tutti_session_leave("tutti_detach", errors, status);
    }
    tutti_buffers_close(&session->buffers);
    tutti_insert_close(session->insert);
    tutti_status left = tutti_exchange_close(session->exchange);
    session->exchange = NULL;
    release(session);
    return tutti_session_leave("tutti_detach", errors, status ? status : left);
}

tutti_status tutti_name(tutti_session *session, tutti_handle data, const char *name)
{
    tutti_status status = tutti_session_enter(session, "tutti_name");
    if (status) return status;
    if (!data) return tutti_fail(TUTTI_ERR_INVAL, "tutti_name: the handle is NULL");
    return tutti_names_give(session->names, data, name);
}

int tutti_rank(const tutti_session *session)
{
    return tutti_sessions_check(session, "tutti_rank") ? -1 : session->rank;
}

int tutti_size(const tutti_session *session)
{
    return tutti_sessions_check(session, "tutti_size") ? -1 : session->size;
}
