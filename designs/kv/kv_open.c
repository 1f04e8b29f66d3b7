#include "designs/kv/kv_parts.h"
#include "designs/kv/metered.h"

#include "dag/base/log.h"
#include "designs/attach/sessions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/* A caller's structs, as its headers have them. */
typedef struct given_options {
    const tutti_kv_options *options;
    size_t bytes, attach_bytes;
} given_options;

_Static_assert(sizeof(tutti_kv_options) == offsetof(tutti_kv_options, stages) + sizeof(int64_t),
    "the options end with their last field");

/* Divides the ranks of one mpirun into workers and servers. */
static tutti_status divide_ranks(const tutti_kv_options *o, int ranks, tutti_kv *kv)
{
    kv->servers = o->servers;
    kv->workers = ranks - o->servers;
    kv->clients = o->clients ? o->clients : o->servers ? kv->workers : 1;
    if (o->servers > TUTTI_KV_SERVERS_MOST)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: servers is %d: %d at most are possible, because a task has a large "
            "key's "
            "part of each",
            o->servers, TUTTI_KV_SERVERS_MOST);
    if (o->servers < 0 || kv->workers < 1)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: servers is %d of %d ranks: must be from 0 to %d, so that a worker is "
            "left",
            o->servers, ranks, ranks - 1);
    if (o->clients < 0 || kv->clients > kv->workers || kv->workers % kv->clients)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: clients is %d, but %d workers cannot form that many groups of equal "
            "size",
            kv->clients, kv->workers);
    if (!o->servers && kv->clients > 1)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: clients is %d, but without servers all workers are one client: set "
            "servers, or "
            "leave clients 0",
            kv->clients);
    if (!o->servers && kv->rule.type != TUTTI_KV_SYNC)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: type is \"%s\", but without servers there is sync alone", o->type);
    kv->client_size = kv->workers / kv->clients;
    kv->rank = kv->session->rank;
    if (kv->rank >= kv->workers) kv->server = kv->rank - kv->workers;
    return TUTTI_OK;
}

/* The same between jobs. A server learns the number of a client's workers from the first client. */
static tutti_status divide_jobs(tutti_kv *kv)
{
    const tutti_jobs *j = &kv->jobs.settings;
    int rank = kv->session->rank, size = kv->session->size;
    kv->transport = &tutti_kv_transport_jobs;
    kv->servers = j->servers;
    kv->clients = j->clients;
    kv->client_size = j->serves ? 1 : size;
    kv->workers = kv->clients * kv->client_size;
    if (j->serves) kv->server = j->number + rank;
    if (j->copies > 1 && j->serves && size > 1)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: server_replicas is %d, but this job has %d servers, which would die "
            "together: start each server as a job of its own, of one rank",
            j->copies, size);
    if (j->copies > 1 && kv->rule.type != TUTTI_KV_SYNC)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: server_replicas is %d, but the type is not sync: two servers would add "
            "pushes in different orders, and so have different values: use sync, or 1",
            j->copies);
    if (!j->serves || j->number + size <= j->servers) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "tutti_kv_open: this job has %d ranks and is server:%d, but there are %d servers", size,
        j->number, j->servers);
}

/* Makes the group of n ranks that are `every` apart. Every rank calls it; *made is set on its members. */
static tutti_status make_group(tutti_kv *kv, int first, int n, int every, tutti_session **made)
{
    int ranks[n > 0 ? n : 1];
    tutti_session *is_in = NULL;
    for (int i = 0; i < n; i++) ranks[i] = first + i * every;
    tutti_status status = tutti_group(kv->session, n, ranks, &is_in);
    if (!status && is_in) *made = is_in;
    return status;
}

/* Makes the groups of each stage of a client, whose first worker is `first`. */
static tutti_status group_client(tutti_kv *kv, int first)
{
    const int stages = kv->stages, n = kv->client_size / stages;
    tutti_status status = TUTTI_OK;
    for (int q = 0; q < stages && n > 1 && !status; q++) {
        status = make_group(kv, first + q, n, stages, &kv->pushing);
        if (!status) status = make_group(kv, first + q, n, stages, &kv->pulling);
    }
    return status;
}

/* Makes the groups of each stage, over all clients. */
static tutti_status group_stages(tutti_kv *kv)
{
    const int stages = kv->stages, n = kv->workers / stages;
    tutti_status status = TUTTI_OK;
    if (stages == 1) kv->alike = kv->all;
    for (int q = 0; q < stages && stages > 1 && n > 1 && !status; q++)
        status = make_group(kv, q, n, stages, &kv->alike);
    return status;
}

static tutti_status group_workers(tutti_kv *kv)
{
    tutti_status status = TUTTI_OK;
    if (!kv->servers)
        kv->all = kv->session;
    else if (kv->workers > 1)
        status = make_group(kv, 0, kv->workers, 1, &kv->all);
    if (!status) status = group_stages(kv);
    if (!kv->servers) {
        kv->pushing = kv->workers > kv->stages ? kv->alike : NULL;
        return status;
    }
    for (int c = 0; c < kv->clients && !status; c++) status = group_client(kv, c * kv->client_size);
    return status;
}

/* This job is one client. */
static tutti_status group_job(tutti_kv *kv)
{
    if (tutti_kv_is_server(kv) || kv->session->size == 1) return TUTTI_OK;
    kv->all = kv->session;
    return group_client(kv, 0);
}

/* Between jobs, servers ignore stages. */
static tutti_status check_stages(const tutti_kv_options *o, tutti_kv *kv)
{
    kv->stages = 1;
    if (!o->stages || (kv->jobs.settings.on && kv->jobs.settings.serves)) return TUTTI_OK;
    if (o->stages < 0 || o->stages > kv->client_size || kv->client_size % o->stages)
        return tutti_fail(TUTTI_ERR_USAGE,
            "tutti_kv_open: stages is %lld, but a client has %d workers: must be a divisor of "
            "these, "
            "or 0 for 1",
            (long long)o->stages, kv->client_size);
    kv->stages = (int)o->stages;
    return TUTTI_OK;
}

/* If all clients take their difference from the same centre, it must not pass their mean. */
static tutti_status check_type(const tutti_kv *kv)
{
    if (kv->rule.type != TUTTI_KV_ELASTIC || kv->rule.alpha * kv->clients <= 1 + 1e-9)
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "tutti_kv_open: type elastic: with alpha=%.9g %d clients would push the centre past their "
        "mean: use alpha=%.6g or less, or fewer clients",
        kv->rule.alpha, kv->clients, floor(1e6 / kv->clients) / 1e6);
}

static tutti_status check_design(const tutti_kv *kv)
{
    const tutti_design *design = tutti_exchange_design(kv->session->exchange);
    if (!kv->servers || !design->start->main_drives) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "tutti_kv_open: the design %s ends one collective before it begins the next, but a server "
        "waits for all clients at once: take another design",
        design->name);
}

static tutti_status open_session(MPI_Comm comm, tutti_status refused,
    const tutti_kv_options *options, const tutti_attach_options *attach, tutti_kv *kv)
{
    char settings[280];
    if (!refused) refused = tutti_consistency_read(options->type, &kv->rule);
    if (kv->rule.type == TUTTI_KV_ELASTIC) kv->optimizer.kind = TUTTI_OPTIMIZER_ADD;
    if (!refused) refused = tutti_jobs_read(options, &kv->jobs.settings);
    const tutti_jobs *j = &kv->jobs.settings;
    snprintf(settings, sizeof settings,
        "kv servers=%d\nkv clients=%d\nkv type=%.80s\nkv role=%s\nkv server_replicas=%d\nkv "
        "stages=%lld\n",
        j->on ? j->servers : options->servers, j->on ? j->clients : options->clients,
        options->type ? options->type : "sync",
        !j->on      ? "all"
        : j->serves ? "server"
                    : "client",
        j->on ? j->copies : 1, (long long)options->stages);
    tutti_status status =
        tutti_session_attach(&comm, refused, settings, kv->meter, attach, &kv->session);
    if (status) return status;
    status = j->on ? divide_jobs(kv) : divide_ranks(options, tutti_size(kv->session), kv);
    kv->inbox.ended = status || !kv->servers ? NULL : calloc((size_t)kv->servers, 1);
    if (!status && kv->servers && !kv->inbox.ended)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a store");
    if (!status) status = check_stages(options, kv);
    if (!status) status = check_type(kv);
    if (!status) status = check_design(kv);
    if (!status) {
        status =
            tutti_portions_open(kv->servers > 0 ? kv->servers : 1, TUTTI_KV_CUT, &kv->portions);
        if (!status && j->on) kv->portions.copies = j->copies;
        status = tutti_exchange_agree(kv->session->exchange, status, NULL);
    }
    if (!status) status = j->on ? group_job(kv) : group_workers(kv);
    if (!status && j->on) status = tutti_kv_jobs_open(kv);
    if (status) tutti_detach(kv->session);
    return status;
}

static tutti_status read_options(
    const given_options *given, tutti_kv_options *options, tutti_attach_options *attach)
{
    static const char function[] = "tutti_kv_open";
    tutti_status status =
        tutti_session_read_sized(function, "tutti_kv_options", given->options, given->bytes,
            offsetof(tutti_kv_options, attach) + sizeof(void *), options, sizeof *options);
    const tutti_status attached =
        tutti_session_read_options(function, options->attach, given->attach_bytes, attach);
    return status ? status : attached;
}

static tutti_status open_store(
    MPI_Comm comm, const given_options *given, tutti_meter *meter, tutti_kv **kv)
{
    unsigned errors = tutti_error_count();
    tutti_kv_options known;
    tutti_attach_options attach;
    if (!kv) return tutti_fail(TUTTI_ERR_INVAL, "tutti_kv_open: kv is NULL");
    if (comm == MPI_COMM_NULL)
        return tutti_fail(TUTTI_ERR_INVAL, "tutti_kv_open: the communicator is MPI_COMM_NULL");
    tutti_status refused = read_options(given, &known, &attach);
    tutti_kv *fresh = tutti_sessions_open(sizeof *fresh);
    if (!fresh) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_open: no memory");
    fresh->optimizer.scale = 1;
    fresh->transport = &tutti_kv_transport_mpi;
    fresh->server = -1;
    fresh->meter = meter;
    pthread_mutex_init(&fresh->inbox.lock, NULL);
    tutti_status status = open_session(comm, refused, &known, &attach, fresh);
    if (status) {
        free(fresh->inbox.ended);
        tutti_sessions_close(fresh);
        return tutti_session_leave("tutti_kv_open", errors, status);
    }
    *kv = fresh;
    return TUTTI_OK;
}

tutti_status tutti_kv_open_sized(MPI_Comm comm, const tutti_kv_options *options,
    size_t options_bytes, size_t attach_bytes, tutti_kv **kv)
{
    const given_options given = {options, options_bytes, attach_bytes};
    return open_store(comm, &given, NULL, kv);
}

tutti_status tutti_kv_open_metered(
    const void *comm, const tutti_kv_options *options, tutti_meter *meter, tutti_kv **kv)
{
    const given_options given = {options, sizeof *options, sizeof(tutti_attach_options)};
    return open_store(*(const MPI_Comm *)comm, &given, meter, kv);
}

/* ---- closing ---- */

/* Waits for the tasks that use the keys. */
static void free_keys(tutti_kv *kv)
{
    for (tutti_kv_key *k = kv->keys, *next; k; k = next) {
        next = k->next;
        for (int p = 0; p < k->parts; p++) {
            tutti_datum_close(k->part[p].pushed);
            tutti_datum_close(k->part[p].value);
            for (int i = 0; i < TUTTI_OPTIMIZER_STATES; i++) tutti_datum_close(k->part[p].state[i]);
        }
        free(k);
    }
    kv->keys = NULL;
    memset(kv->bucket, 0, sizeof kv->bucket);
    tutti_portions_close(&kv->portions);
}

/* A worker whose calls have ended sends BYE to the servers, and waits for END: servers send it after every worker's
 * BYE; between jobs, except in sync, after this client's. */
static tutti_status send_bye(tutti_kv *kv)
{
    tutti_status status = kv->transport->listen(kv, tutti_kv_receive, kv);
    for (int s = 0; s < kv->servers && !status; s++)
        status = kv->transport->write(
            kv, tutti_kv_server_rank(kv, s), (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_BYE});
    if (!status) status = tutti_kv_await_ends(kv, kv->servers);
    kv->transport->listen(kv, NULL, NULL);
    return status;
}

tutti_status tutti_kv_close(tutti_kv *kv)
{
    static const double patience_s = 60;
    if (!kv) return TUTTI_OK;
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_sessions_check(kv, "tutti_kv_close");
    if (status) return status;
    int server = tutti_kv_is_server(kv);
    if (!server) status = kv->transport->wait(kv, patience_s);
    if (!status && !server) status = send_bye(kv);
    kv->transport->close(kv);
    if (status != TUTTI_ERR_TIMEOUT) free_keys(kv);
    tutti_status left = tutti_detach(kv->session);
    pthread_mutex_destroy(&kv->inbox.lock);
    free(kv->inbox.ended);
    tutti_sessions_close(kv);
    return tutti_session_leave("tutti_kv_close", errors, status ? status : left);
}

/* ---- ranks and numbers ---- */

static int value_if_open(const tutti_kv *kv, const char *function, int of)
{
    return tutti_sessions_check(kv, function) ? -1 : of;
}

int tutti_kv_serves(const tutti_kv *kv)
{
    return value_if_open(kv, "tutti_kv_serves", 0) == 0 && tutti_kv_is_server(kv);
}

int tutti_kv_rank(const tutti_kv *kv)
{
    int open = value_if_open(kv, "tutti_kv_rank", 1) == 1;
    return open && !tutti_kv_is_server(kv) ? kv->rank : -1;
}

int tutti_kv_workers(const tutti_kv *kv)
{
    return value_if_open(kv, "tutti_kv_workers", 1) == 1 ? kv->workers : -1;
}

int tutti_kv_client(const tutti_kv *kv)
{
    int open = value_if_open(kv, "tutti_kv_client", 1) == 1;
    return open && !tutti_kv_is_server(kv) ? kv->rank / kv->client_size : -1;
}

int tutti_kv_clients(const tutti_kv *kv)
{
    return value_if_open(kv, "tutti_kv_clients", 1) == 1 ? kv->clients : -1;
}

tutti_status tutti_kv_bytes(const tutti_kv *kv, int64_t *sent, int64_t *received)
{
    tutti_status status = tutti_sessions_check(kv, "tutti_kv_bytes");
    if (status) return status;
    if (sent) *sent = kv->sent;
    if (received) *received = kv->received;
    return TUTTI_OK;
}
