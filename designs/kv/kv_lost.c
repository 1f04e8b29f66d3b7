/* A worker's reaction to a server that ends or is lost; between jobs, on the connections' thread. */
#include "designs/kv/kv_parts.h"

#include "dag/base/log.h"

#include <stdio.h>

void tutti_kv_receive_between_jobs(void *ctx, const tutti_active_message *message)
{
    tutti_kv *kv = ctx;
    tutti_kv_receive(kv, message);
    if (message->value[0] == TUTTI_KV_END && message->value[1])
        tutti_connections_cut_all(kv->jobs.connections);
}

static int next_server(const tutti_kv *kv, int server)
{
    return (server + 1) % kv->servers;
}

/* A lost server that shared keys with this lost one, so that no copy of those is left; -1: there is none. Itself: keys
 * have one copy. */
static int find_lost_neighbour(const tutti_kv *kv, int server)
{
    if (tutti_kv_copies(kv) == 1) return server;
    int next = next_server(kv, server);
    if (kv->jobs.lost[next]) return next;
    for (int s = 0; s < kv->servers; s++)
        if (kv->jobs.lost[s] && next_server(kv, s) == server) return s;
    return -1;
}

static void write_server(tutti_kv *kv, int server, tutti_kv_message_kind what, int lost)
{
    kv->transport->write(
        kv, tutti_kv_server_rank(kv, server), (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){what, lost});
}

/* The messages have been redirected to the next server already. */
static void continue_without(tutti_kv *kv, int server, const char *why)
{
    int next = next_server(kv, server);
    kv->jobs.lost[server] = 1;
    write_server(kv, next, TUTTI_KV_TAKE_OVER, server);
    if (kv->session->rank == 0)
        tutti_log(TUTTI_LOG_INFO, "server %d of %d %s: server %d continues with its keys", server,
            kv->servers, why, next);
    pthread_mutex_lock(&kv->inbox.lock);
    kv->inbox.ends++;
    pthread_mutex_unlock(&kv->inbox.lock);
}

/* If no other server has its keys, the run ends: the worker reports it to the other servers. */
void tutti_kv_lose_server(void *ctx, int server, const char *why)
{
    tutti_kv *kv = ctx;
    char text[256];
    pthread_mutex_lock(&kv->inbox.lock);
    int over = kv->inbox.failure || kv->inbox.ended[server];
    pthread_mutex_unlock(&kv->inbox.lock);
    if (over) return;
    int with = find_lost_neighbour(kv, server);
    if (with < 0) {
        continue_without(kv, server, why);
        return;
    }
    if (with == server)
        snprintf(text, sizeof text, "server %d of %d %s: without it the run ends", server,
            kv->servers, why);
    else
        snprintf(text, sizeof text,
            "server %d of %d %s, after server %d: no server has the keys of both, and the run ends",
            server, kv->servers, why, with);
    tutti_kv_fail(kv, TUTTI_ERR_COMM, text);
    for (int s = 0; s < kv->servers; s++)
        if (s != server) write_server(kv, s, TUTTI_KV_FAILED, server);
    tutti_connections_cut_all(kv->jobs.connections);
}
