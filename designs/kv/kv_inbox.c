/* A worker's messages from servers, and its waits for them. */
#include "designs/kv/kv_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

tutti_status tutti_kv_fail(tutti_kv *kv, tutti_status status, const char *why)
{
    tutti_kv_inbox *n = &kv->inbox;
    pthread_mutex_lock(&n->lock);
    if (!n->failure) {
        tutti_fail(status, "%s", why);
        n->failure = status;
        snprintf(n->why, sizeof n->why, "%s", why);
    }
    status = n->failure;
    pthread_mutex_unlock(&n->lock);
    return status;
}

tutti_status tutti_kv_failure(tutti_kv *kv)
{
    pthread_mutex_lock(&kv->inbox.lock);
    tutti_status status = kv->inbox.failure;
    if (status) tutti_error_adopt(kv->inbox.why);
    pthread_mutex_unlock(&kv->inbox.lock);
    return status;
}

static void receive_why(tutti_kv *kv, const tutti_active_message *message)
{
    int64_t piece = message->value[1];
    if (piece < 0 || piece >= TUTTI_KV_PIECES) return;
    memcpy(kv->inbox.reason + piece * TUTTI_KV_PIECE, &message->value[2], TUTTI_KV_PIECE);
}

static void receive_end(tutti_kv *kv, const tutti_active_message *message)
{
    char why[TUTTI_KV_SENTENCE + 64];
    tutti_status status = (tutti_status)message->value[1];
    int server = message->rank - kv->workers;
    int64_t client = message->value[2];
    if (client >= 0)
        snprintf(why, sizeof why,
            "client %" PRId64 " (worker %" PRId64 "%s) has died: server %d ends the run", client,
            client * kv->client_size, kv->client_size > 1 ? " and others" : "", server);
    else if (message->value[3] >= 0)
        snprintf(why, sizeof why,
            "server %" PRId64 " of %d is lost to another worker: without it server %d ends the run",
            message->value[3], kv->servers, server);
    else if (kv->inbox.reason[0])
        snprintf(why, sizeof why, "server %d refuses this client: %s", server, kv->inbox.reason);
    else
        snprintf(why, sizeof why, "server %d ends the run: %s; its log says why", server,
            tutti_status_text(status));
    if (status) tutti_kv_fail(kv, status, why);
    pthread_mutex_lock(&kv->inbox.lock);
    kv->inbox.ended[server] = 1;
    kv->inbox.ends++;
    pthread_mutex_unlock(&kv->inbox.lock);
}

/* A pull of this worker has waited long. */
static void receive_stall(const tutti_kv *kv, const tutti_active_message *message)
{
    const int64_t *v = message->value;
    tutti_log(TUTTI_LOG_WARN,
        "worker %d waits in a pull of key %" PRId64 ", which it has pushed %" PRId64
        " times: server %d waits for client %" PRId64 " (worker %" PRId64
        "%s), which has pushed it %" PRId64 " times",
        kv->rank, v[1], v[2], message->rank - kv->workers, v[3], v[3] * kv->client_size,
        kv->client_size > 1 ? " and others" : "", v[4]);
}

void tutti_kv_receive(void *ctx, const tutti_active_message *message)
{
    tutti_kv *kv = ctx;
    if (message->value[0] == TUTTI_KV_WHY) receive_why(kv, message);
    if (message->value[0] == TUTTI_KV_END) receive_end(kv, message);
    if (message->value[0] == TUTTI_KV_STALL) receive_stall(kv, message);
    if (message->value[0] != TUTTI_KV_BARRIER) return;
    pthread_mutex_lock(&kv->inbox.lock);
    kv->inbox.barriers[message->rank != kv->workers]++;
    pthread_mutex_unlock(&kv->inbox.lock);
}

/* A server that has left without END sends nothing more. */
static void check_departed_servers(tutti_kv *kv)
{
    for (int s = 0; s < kv->servers; s++) {
        char why[128];
        if (!kv->transport->has_left(kv, tutti_kv_server_rank(kv, s))) continue;
        pthread_mutex_lock(&kv->inbox.lock);
        int ended = kv->inbox.ended[s];
        pthread_mutex_unlock(&kv->inbox.lock);
        if (ended) continue;
        snprintf(why, sizeof why,
            "server %d of %d has left: it has closed its store without tutti_kv_serve, or in the "
            "middle of it",
            s, kv->servers);
        tutti_kv_fail(kv, TUTTI_ERR_COMM, why);
    }
}

/* Returns when the count is reached, the run fails, a server has left, or patience_s has passed (0: no limit). */
static tutti_status wait_for_count(
    tutti_kv *kv, int (*count)(const tutti_kv_inbox *), int wanted, double patience_s)
{
    static const double poll_s = 1e-3;
    double until_s = tutti_clock_s() + patience_s;
    for (;;) {
        check_departed_servers(kv);
        pthread_mutex_lock(&kv->inbox.lock);
        int have = count(&kv->inbox);
        tutti_status status = kv->inbox.failure;
        pthread_mutex_unlock(&kv->inbox.lock);
        if (status || have >= wanted) return status;
        status = kv->transport->wait(kv, 0);
        if (status && status != TUTTI_ERR_TIMEOUT) return status;
        if (patience_s > 0 && tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "tutti_kv_barrier: the other clients have not come within %g s", patience_s);
        tutti_clock_sleep(poll_s);
    }
}

static int count_ends(const tutti_kv_inbox *inbox)
{
    return inbox->ends;
}

static int count_barriers(const tutti_kv_inbox *inbox)
{
    const int *n = inbox->barriers;
    return n[0] > n[1] ? n[0] : n[1];
}

/* Servers end with the last worker: no limit. */
tutti_status tutti_kv_await_ends(tutti_kv *kv, int ends)
{
    return wait_for_count(kv, count_ends, ends, 0);
}

tutti_status tutti_kv_await_barriers(tutti_kv *kv, int barriers)
{
    static const double patience_s = 60;
    return wait_for_count(kv, count_barriers, barriers, patience_s);
}
