#include "designs/attach.h"

#include "dag/base/log.h"
#include "dag/run/insert.h"
#include "designs/exchange.h"
#include "designs/names.h"

#include <stdlib.h>

struct tutti_session {
    tutti_exchange *exchange;
    tutti_insert *insert;
    tutti_names *names;
    int rank, size;
};

/* An option, or the environment's default for it, or the last resort. */
static const char *choose(const char *given, const char *variable, const char *otherwise)
{
    const char *environment = getenv(variable);
    return given ? given : environment && *environment ? environment : otherwise;
}

/* Seconds of a stall; 0 in the environment means never, as a negative number given does. */
static tutti_status read_seconds(
    double given, const char *variable, const char *otherwise, double *seconds)
{
    const char *text = choose(NULL, variable, otherwise);
    char *end;
    double value = strtod(text, &end);
    if (*end || !(value >= 0 && value <= 1e6))
        return tutti_fail(TUTTI_ERR_USAGE, "%s='%s': seconds, or 0 for never", variable, text);
    *seconds = given < 0 ? 0 : given > 0 ? given : value;
    return TUTTI_OK;
}

/* A rank whose program is stuck: it should have ended and has not. */
static void give_up(void)
{
    tutti_boot_abort(1);
}

static tutti_status read_stall(const tutti_attach_options *given, tutti_watch_options *watch)
{
    *watch = (tutti_watch_options){
        .on = 1, .folder = choose(NULL, "TUTTI_STALL_DIR", NULL), .give_up = give_up};
    tutti_status status =
        read_seconds(given->stall_warn_s, "TUTTI_STALL_WARN", "5", &watch->warn_s);
    if (!status)
        status = read_seconds(given->stall_dump_s, "TUTTI_STALL_DUMP", "10", &watch->dump_s);
    if (!status)
        status = read_seconds(given->stall_abort_s, "TUTTI_STALL_ABORT", "60", &watch->abort_s);
    return status;
}

static tutti_status read_options(const tutti_attach_options *given, tutti_exchange_options *options)
{
    static const tutti_attach_options none;
    if (!given) given = &none;
    const char *design = choose(given->design, "TUTTI_DESIGN", "funneled");
    options->design = tutti_design_find(design);
    if (!options->design) {
        char known[256];
        return tutti_fail(TUTTI_ERR_USAGE, "design '%s' is not known; known are: %s", design,
            tutti_design_names(known, sizeof known));
    }
    options->algorithm = choose(given->algorithm, "TUTTI_ALGORITHM", "auto");
    const char *lanes = choose(NULL, "TUTTI_LANES", "0");
    char *end;
    long value = strtol(lanes, &end, 10);
    if (*end || value < 0 || value > 1024)
        return tutti_fail(TUTTI_ERR_USAGE, "TUTTI_LANES='%s': a number from 1 to 1024", lanes);
    const char *check = choose(given->check, "TUTTI_CHECK", "on");
    options->verify = tutti_verify_mode_find(check);
    if (options->verify == TUTTI_VERIFY_MODES)
        return tutti_fail(
            TUTTI_ERR_USAGE, "check '%s' is not known; known are: off, on, full", check);
    options->lanes = given->lanes ? given->lanes : options->design->many_lanes ? (int)value : 0;
    return read_stall(given, &options->watch);
}

tutti_status tutti_attach(
    MPI_Comm comm, const tutti_attach_options *options, tutti_session **session)
{
    tutti_session *s = calloc(1, sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to attach");
    tutti_exchange_options exchange = {0};
    tutti_status status = read_options(options, &exchange);
    if (!status) status = tutti_names_open(&s->names);
    if (!status) status = tutti_exchange_attach(&comm, &exchange, &s->exchange);
    if (!status) {
        tutti_run_hooks hooks = tutti_exchange_hooks(s->exchange);
        status = tutti_insert_open(&hooks, exchange.design->chain, &s->insert);
        s->rank = tutti_exchange_rank(s->exchange);
        s->size = tutti_exchange_size(s->exchange);
        status = tutti_exchange_agree(s->exchange, status, NULL);
    }
    if (status) {
        tutti_insert_close(s->insert);
        tutti_exchange_close(s->exchange);
        tutti_names_close(s->names);
        free(s);
        return status;
    }
    *session = s;
    return TUTTI_OK;
}

tutti_status tutti_detach(tutti_session *session)
{
    static const double patience_s = 60;
    if (!session) return TUTTI_OK;
    tutti_status status = tutti_wait(session, patience_s);
    if (!tutti_insert_ended(session->insert))
        return status; /* what is in flight may touch it all */
    tutti_insert_close(session->insert);
    tutti_status left = tutti_exchange_close(session->exchange);
    tutti_names_close(session->names);
    free(session);
    return status ? status : left;
}

tutti_status tutti_name(tutti_session *session, tutti_handle data, const char *name)
{
    return tutti_names_give(session->names, data, name);
}

/* What a collective on this handle is called. */
static const char *name_of(const tutti_session *session, tutti_handle data, tutti_coll_kind kind)
{
    const char *name = tutti_names_find(session->names, data);
    return name ? name : tutti_coll_kind_name(kind);
}

int tutti_rank(const tutti_session *session)
{
    return session->rank;
}

int tutti_size(const tutti_session *session)
{
    return session->size;
}

/* In-place collectives on one handle. */
static tutti_status insert_one(tutti_session *session, tutti_handle data, tutti_coll_args args)
{
    const char *name = name_of(session, data, args.kind);
    if (args.root < 0 || args.root >= session->size)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: root %d of %d ranks", name, args.root, session->size);
    tutti_status status = tutti_insert_count(data, args.dtype, name, &args.count);
    if (status) return status;
    tutti_mode mode = TUTTI_READWRITE;
    return tutti_insert_collective(session->insert, name, &args, sizeof args, 1, &data, &mode);
}

tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op)
{
    return insert_one(
        session, data, (tutti_coll_args){.kind = TUTTI_ALLREDUCE, .dtype = dtype, .op = op});
}

tutti_status tutti_broadcast(tutti_session *session, tutti_handle data, tutti_dtype dtype, int root)
{
    return insert_one(
        session, data, (tutti_coll_args){.kind = TUTTI_BROADCAST, .dtype = dtype, .root = root});
}

tutti_status tutti_reduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op, int root)
{
    return insert_one(session, data,
        (tutti_coll_args){.kind = TUTTI_REDUCE, .dtype = dtype, .op = op, .root = root});
}

tutti_status tutti_reduce_scatter(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op)
{
    return insert_one(
        session, data, (tutti_coll_args){.kind = TUTTI_REDUCE_SCATTER, .dtype = dtype, .op = op});
}

tutti_status tutti_allgather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype)
{
    tutti_coll_args args = {.kind = TUTTI_ALLGATHER, .dtype = dtype};
    const char *name = name_of(session, recv, args.kind);
    int64_t gathered;
    tutti_status status = tutti_insert_count(send, dtype, name, &args.count);
    if (!status) status = tutti_insert_count(recv, dtype, name, &gathered);
    if (status) return status;
    if (gathered != args.count * session->size)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: recv has %lld elements, not %d times %lld", name,
            (long long)gathered, session->size, (long long)args.count);
    tutti_handle handles[] = {recv, send};
    tutti_mode modes[] = {TUTTI_WRITE, TUTTI_READ};
    return tutti_insert_collective(session->insert, name, &args, sizeof args, 2, handles, modes);
}

tutti_status tutti_wait(tutti_session *session, double timeout_s)
{
    return tutti_insert_wait(session->insert, timeout_s);
}
