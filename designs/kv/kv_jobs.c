/* The transport between jobs: connections (connections.h), which clients open and servers accept. */
#include "designs/kv/kv_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A worker's peers are servers, by their numbers; a server's are workers. */
static int peer_of(const tutti_kv *kv, int rank)
{
    return tutti_kv_is_server(kv) ? rank : rank - kv->workers;
}

static tutti_hello hello_of(const tutti_kv *kv)
{
    tutti_hello h = {.server = kv->server,
        .servers = kv->servers,
        .clients = kv->clients,
        .copies = kv->jobs.settings.copies,
        .rule = kv->rule,
        .any = kv->jobs.settings.any,
        .client = kv->jobs.settings.any ? 0 : kv->jobs.settings.number,
        .worker = kv->session->rank,
        .workers = kv->session->size};
    tutti_hello_name(&h);
    return h;
}

/* ---- a worker ---- */

static void receive_from_server(void *ctx, const tutti_active_message *message)
{
    tutti_kv *kv = ctx;
    tutti_active_message from = *message;
    from.rank = tutti_kv_server_rank(kv, message->rank);
    tutti_kv_receive_between_jobs(kv, &from);
}

/* How long to wait for an answer before reading a file again that may be out of date. */
static double choose_attempt_s(const tutti_jobs *j, const tutti_server_address *m, double left_s)
{
    static const double most_s = 5;
    double third_s = j->timeout_s / 3, limit_s = third_s < most_s ? third_s : most_s;
    return m->in_file && left_s > limit_s ? limit_s : left_s;
}

/* Retries until the server admits this worker, or the deadline has passed. hello->client becomes its number. */
static tutti_status connect_server(tutti_kv *kv, int server, tutti_hello *hello)
{
    static const double pause_s = 0.05;
    const tutti_jobs *j = &kv->jobs.settings;
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    char why[TUTTI_CONNECTION_WHY] = "";
    double until_s = tutti_clock_s() + j->timeout_s;
    for (double left_s = j->timeout_s; left_s > 0; left_s = until_s - tutti_clock_s()) {
        tutti_server_address m;
        int later = 1, socket;
        tutti_status status = TUTTI_ERR_TIMEOUT;
        int found = tutti_jobs_find(j, server, &m, why, sizeof why);
        if (found < 0) return TUTTI_ERR_USAGE;
        hello->server = server;
        hello->address_number = found ? m.number : 0;
        tutti_hello_write(hello, words);
        const tutti_tcp_call call = {.address = m.address,
            .port = m.port,
            .token = m.token,
            .timeout_s = choose_attempt_s(j, &m, left_s),
            .stale = m.in_file};
        if (found) status = tutti_tcp_connect(&call, words, &later, why, &socket);
        if (!status) {
            tutti_hello answer;
            if (hello->any && tutti_hello_read(words, &answer)) hello->client = answer.client;
            return tutti_connections_add(kv->jobs.connections, server, socket);
        }
        if (!later) return status;
        tutti_clock_sleep(pause_s);
    }
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "tutti_kv_open: server %d of %d cannot be reached within %g s: %s", server, kv->servers,
        j->timeout_s, why);
}

/* What the first worker of a client sends to the others. */
typedef struct client_number {
    pthread_mutex_t lock;
    int known;
    int64_t status, client, life;
} client_number;

static void receive_number(void *ctx, const tutti_active_message *message)
{
    client_number *n = ctx;
    if (message->value[0] != TUTTI_KV_NUMBER) return;
    pthread_mutex_lock(&n->lock);
    n->status = message->value[1];
    n->client = message->value[2];
    n->life = message->value[3];
    n->known = 1;
    pthread_mutex_unlock(&n->lock);
}

static tutti_status receive_first_number(tutti_kv *kv, tutti_hello *hello)
{
    client_number n = {.lock = PTHREAD_MUTEX_INITIALIZER};
    double until_s = tutti_clock_s() + 2 * kv->jobs.settings.timeout_s;
    tutti_status status = tutti_exchange_listen(kv->session->exchange, receive_number, &n);
    for (int known = 0; !status && !known;) {
        pthread_mutex_lock(&n.lock);
        known = n.known;
        pthread_mutex_unlock(&n.lock);
        if (!known && tutti_clock_s() > until_s)
            status = tutti_fail(TUTTI_ERR_TIMEOUT, "the first worker of this client says nothing");
        if (!known && !status) status = tutti_wait(kv->session, 0);
        if (!known && !status) tutti_clock_sleep(1e-3);
    }
    tutti_exchange_listen(kv->session->exchange, NULL, NULL);
    pthread_mutex_destroy(&n.lock);
    hello->client = (int)n.client;
    hello->life = n.life;
    hello->any = 0;
    return status ? status : (tutti_status)n.status;
}

/* The first worker gets the number from server 0 for all. */
static tutti_status send_to_others(tutti_kv *kv, const tutti_hello *hello, tutti_status status)
{
    tutti_status wrote = TUTTI_OK;
    for (int w = 1; w < kv->session->size && !wrote; w++)
        wrote = tutti_kv_transport_mpi.write(kv, w,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){
                TUTTI_KV_NUMBER, status, hello->client, hello->life});
    return status ? status : wrote;
}

static tutti_status connect_servers(tutti_kv *kv)
{
    tutti_hello hello = hello_of(kv);
    tutti_status status;
    int first = hello.worker == 0;
    if (first) {
        hello.life = tutti_jobs_draw();
        status = connect_server(kv, 0, &hello);
        hello.any = 0;
        status = send_to_others(kv, &hello, status);
    } else {
        status = receive_first_number(kv, &hello);
    }
    for (int s = first; s < kv->servers && !status; s++) status = connect_server(kv, s, &hello);
    kv->rank = hello.client * kv->client_size + hello.worker;
    return status;
}

/* ---- a server ---- */

static void send_to_main(tutti_kv *kv, int64_t what, int worker, int workers)
{
    tutti_active_message message = {.rank = worker, .value = {what, workers}};
    pthread_mutex_lock(&kv->jobs.lock);
    if (kv->jobs.on_message) kv->jobs.on_message(kv->jobs.ctx, &message);
    pthread_mutex_unlock(&kv->jobs.lock);
}

static tutti_tcp_verdict admit_worker(
    void *ctx, unsigned char words[TUTTI_TCP_WORDS_BYTES], const char *from, int *peer)
{
    static const tutti_tcp_verdict verdicts[] = {[TUTTI_CLIENT_WELCOME] = TUTTI_TCP_WELCOME,
        [TUTTI_CLIENT_REFUSED] = TUTTI_TCP_REFUSED,
        [TUTTI_CLIENT_LATER] = TUTTI_TCP_LATER};
    tutti_kv *kv = ctx;
    tutti_hello hello;
    char why[TUTTI_CLIENT_WHY] = "your greeting has numbers that no Tutti writes";
    int first = 0;
    tutti_client_verdict verdict = TUTTI_CLIENT_REFUSED;
    pthread_mutex_lock(&kv->jobs.lock);
    if (!kv->jobs.on_message) {
        verdict = TUTTI_CLIENT_LATER;
        snprintf(why, sizeof why, "this server does not serve yet, or no more");
    } else if (tutti_hello_read(words, &hello)) {
        verdict = tutti_client_list_admit(&kv->jobs.client_list, &hello, &first, why);
    }
    pthread_mutex_unlock(&kv->jobs.lock);
    memset(words, 0, TUTTI_TCP_WORDS_BYTES);
    if (verdict != TUTTI_CLIENT_WELCOME) {
        if (verdict == TUTTI_CLIENT_REFUSED)
            tutti_log(TUTTI_LOG_WARN, "refused a client from %s: %s", from, why);
        memcpy(words, why, strnlen(why, TUTTI_TCP_WORDS_BYTES - 1));
        return verdicts[verdict];
    }
    tutti_hello_write(&hello, words);
    *peer = hello.client * hello.workers + hello.worker;
    if (first) send_to_main(kv, TUTTI_KV_JOINED, *peer, hello.workers);
    return TUTTI_TCP_WELCOME;
}

static void receive_from_worker(void *ctx, const tutti_active_message *message)
{
    tutti_kv *kv = ctx;
    tutti_active_message received = *message;
    if (received.value[0] >= TUTTI_KV_NUMBER) received.value[0] = -1; /* the server's own */
    pthread_mutex_lock(&kv->jobs.lock);
    if (kv->jobs.on_message) kv->jobs.on_message(kv->jobs.ctx, &received);
    pthread_mutex_unlock(&kv->jobs.lock);
}

static void lose_worker(void *ctx, int worker, const char *why)
{
    tutti_kv *kv = ctx;
    pthread_mutex_lock(&kv->jobs.lock);
    int workers = kv->jobs.client_list.self.workers; /* 0: its client has already left */
    if (workers) {
        tutti_client_entry *client_entry = &kv->jobs.client_list.client_entry[worker / workers];
        snprintf(client_entry->why, sizeof client_entry->why, "%s", why);
    }
    pthread_mutex_unlock(&kv->jobs.lock);
    if (workers) send_to_main(kv, TUTTI_KV_LOST, worker, workers);
}

static tutti_status open_listener(tutti_kv *kv)
{
    const tutti_jobs *j = &kv->jobs.settings;
    const tutti_hello self = hello_of(kv);
    tutti_server_address m = {0};
    tutti_tcp_listener *listener;
    tutti_hello for_clients = self;
    for_clients.workers = 0;
    m.number = for_clients.address_number = tutti_jobs_draw();
    tutti_status status = tutti_client_list_open(&for_clients, &kv->jobs.client_list);
    if (status) return status;
    memcpy(m.token, j->token, sizeof m.token);
    if (!m.token[0]) status = tutti_jobs_make_token(m.token);
    int port = j->port ? j->port + kv->session->rank : 0;
    if (!status) status = tutti_tcp_listener_open(j->listen, port, m.token, &listener);
    if (status) return status;
    m.port = tutti_tcp_listener_port(listener);
    snprintf(m.address, sizeof m.address, "%s", j->listen);
    if (tutti_jobs_is_any(m.address)) snprintf(m.address, sizeof m.address, "%s", self.host);
    status = tutti_jobs_write_address(j, kv->server, &m);
    if (status) {
        tutti_tcp_listener_close(listener);
        return status;
    }
    tutti_log(TUTTI_LOG_INFO, "server %d of %d listens on %s port %d, process %d", kv->server,
        kv->servers, j->listen, m.port, self.process);
    return tutti_connections_accept(kv->jobs.connections, listener);
}

/* ---- opening ---- */

/* A push holds the sum over the client's workers. Once one of their collectives has failed, some may be missing. */
static tutti_status failure_of_worker(void *ctx)
{
    const tutti_kv *kv = ctx;
    return tutti_insert_failure(kv->session->insert);
}

tutti_status tutti_kv_jobs_open(tutti_kv *kv)
{
    int serves = tutti_kv_is_server(kv);
    const tutti_connections_user user = {.ctx = kv,
        .on_message = serves ? receive_from_worker : receive_from_server,
        .on_lost = serves ? lose_worker : tutti_kv_lose_server,
        .admit = serves ? admit_worker : NULL,
        .failure = serves ? NULL : failure_of_worker,
        .silence_s = kv->jobs.settings.timeout_s,
        .tags = tutti_exchange_edges(kv->session->exchange),
        .meter = kv->meter};
    pthread_mutex_init(&kv->jobs.lock, NULL);
    kv->jobs.lost = calloc((size_t)kv->servers, 1);
    tutti_status status = kv->jobs.lost ? tutti_connections_open(&user, &kv->jobs.connections)
                                        : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a store");
    if (!status) status = serves ? open_listener(kv) : connect_servers(kv);
    status = tutti_exchange_agree(kv->session->exchange, status, NULL);
    if (status) tutti_kv_transport_jobs.close(kv);
    return status;
}

/* ---- the transport ---- */

static tutti_status jobs_write(
    tutti_kv *kv, int rank, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    return tutti_connections_write(kv->jobs.connections, peer_of(kv, rank), value);
}

static tutti_connections_data data_of(const tutti_kv *kv, const tutti_kv_message *m)
{
    return (tutti_connections_data){.peer = peer_of(kv, m->rank),
        .tag = m->slot,
        .priority = m->priority,
        .data = m->data,
        .count = m->count,
        .dtype = m->dtype,
        .result = m->result};
}

static tutti_status jobs_send(tutti_kv *kv, const tutti_kv_message *m)
{
    const tutti_connections_data data = data_of(kv, m);
    return tutti_connections_send(kv->jobs.connections, &data);
}

static tutti_status jobs_recv(tutti_kv *kv, const tutti_kv_message *m)
{
    tutti_connections_data data = data_of(kv, m);
    tutti_connections_spare second = tutti_kv_spare_of(m);
    second.peer = peer_of(kv, m->second);
    if (m->has_second) data.spare = &second;
    return tutti_connections_recv(kv->jobs.connections, &data);
}

static tutti_status jobs_listen(tutti_kv *kv, tutti_active_message_handler *on_message, void *ctx)
{
    if (!tutti_kv_is_server(kv)) return TUTTI_OK; /* a worker always receives */
    pthread_mutex_lock(&kv->jobs.lock);
    kv->jobs.on_message = on_message;
    kv->jobs.ctx = ctx;
    pthread_mutex_unlock(&kv->jobs.lock);
    return TUTTI_OK;
}

/* Every message ends: by itself, or with its connection. */
static tutti_status jobs_wait(tutti_kv *kv, double timeout_s)
{
    static const double poll_s = 100e-6;
    double until_s = tutti_clock_s() + timeout_s;
    tutti_status status = tutti_wait(kv->session, timeout_s);
    while (!status && !tutti_connections_idle(kv->jobs.connections)) {
        if (tutti_clock_s() >= until_s && timeout_s > 0)
            status = tutti_fail(TUTTI_ERR_TIMEOUT,
                "tutti_kv_wait: messages between this job and servers have not ended within %g s",
                timeout_s);
        else if (tutti_clock_s() >= until_s)
            status = TUTTI_ERR_TIMEOUT;
        else
            tutti_clock_sleep(poll_s);
    }
    tutti_status failure = tutti_kv_failure(kv);
    return failure && status != TUTTI_ERR_TIMEOUT ? failure : status;
}

static int jobs_has_left(tutti_kv *kv, int rank)
{
    (void)kv;
    (void)rank;
    return 0;
}

static void jobs_close(tutti_kv *kv)
{
    tutti_kv_jobs *j = &kv->jobs;
    if (tutti_kv_is_server(kv) && j->connections)
        tutti_jobs_forget(&j->settings, kv->server, j->client_list.self.address_number);
    tutti_connections_close(j->connections);
    j->connections = NULL;
    tutti_client_list_close(&j->client_list);
    free(j->lost);
    pthread_mutex_destroy(&j->lock);
}

const tutti_kv_transport tutti_kv_transport_jobs = {
    .write = jobs_write,
    .send = jobs_send,
    .recv = jobs_recv,
    .listen = jobs_listen,
    .wait = jobs_wait,
    .has_left = jobs_has_left,
    .close = jobs_close,
};
