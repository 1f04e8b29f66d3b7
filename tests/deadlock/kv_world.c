#include "tests/deadlock/kv_world_parts.h"

#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t shortened(int64_t count)
{
    return count < TUTTI_KV_CUT ? (count < CUT ? count : 1 + count % (CUT - 1)) : CUT + count % 5;
}

/* ---- opening ---- */

static void hear(void *server, const tutti_active_message *message)
{
    tutti_server_queue_event(server, &(tutti_kv_event){.message = *message});
}

static tutti_status open_client_list(const kv_world *w, int server, tutti_kv *kv)
{
    const tutti_hello self = {.server = server,
        .servers = w->c->servers,
        .clients = w->c->clients,
        .copies = w->c->copies,
        .rule = w->c->rule};
    return w->jobs ? tutti_client_list_open(&self, &kv->jobs.client_list) : TUTTI_OK;
}

static void group(const kv_world *w, int r, int number, ground_group *g, tutti_session **session)
{
    int size = kv_case_client_size(w->c);
    *g = (ground_group){.number = number, .size = size, .first = r / size * size};
    *session = size > 1 ? &g->session : NULL;
}

static tutti_status open_kv(kv_world *w, int r)
{
    static const double for_ever_s = 1e9;
    const kv_case *c = w->c;
    kv_rank *k = &w->rank[r];
    tutti_kv *kv = k->kv = calloc(1, sizeof *kv);
    if (!kv) return tutti_fail(TUTTI_ERR_NOMEM, "world: no memory");
    *kv = (tutti_kv){.session = &k->session,
        .transport = &ground_transport,
        .servers = c->servers,
        .workers = c->workers,
        .clients = c->clients,
        .client_size = kv_case_client_size(c),
        .stages = 1,
        .rank = r,
        .server = r < c->workers ? -1 : r - c->workers,
        .rule = c->rule,
        .optimizer.scale = 1,
        .inbox.lock = PTHREAD_MUTEX_INITIALIZER,
        .jobs.lock = PTHREAD_MUTEX_INITIALIZER,
        .jobs.settings = {.on = w->jobs, .copies = c->copies, .timeout_s = for_ever_s},
        .inbox.ended = calloc((size_t)c->servers, 1),
        .jobs.lost = calloc((size_t)c->servers, 1)};
    k->session.exchange = ground_exchange(w->ground);
    tutti_status status = tutti_portions_open(c->servers, CUT, &kv->portions);
    if (!status && (!kv->inbox.ended || !kv->jobs.lost)) status = TUTTI_ERR_NOMEM;
    kv->portions.copies = c->copies;
    if (status || r >= c->workers) return status;
    group(w, r, 1, &k->pushing, &kv->pushing);
    group(w, r, 2, &k->pulling, &kv->pulling);
    if (c->one_group) kv->pulling = kv->pushing;
    return TUTTI_OK;
}

/* A client's numbers: groups of other clients have none of its ranks. */
tutti_status kv_world_open_client(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    tutti_status status = open_kv(w, r);
    k->state = w->jobs ? COMING : CALLING;
    for (int key = 0; key < w->c->keys && !status; key++) {
        status = tutti_datum_open(w->count[key], TUTTI_F32, &k->data[key]);
        for (int64_t e = 0; !status && e < w->count[key]; e++)
            ground_memory(k->data[key])[e] = kv_case_pushes(w->c, r, e);
    }
    if (status) return status;
    return k->kv->transport->listen(
        k->kv, w->jobs ? tutti_kv_receive_between_jobs : tutti_kv_receive, k->kv);
}

static tutti_status open_server(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    tutti_status status = open_kv(w, r);
    k->state = SERVING;
    if (!status) status = open_client_list(w, r - w->c->workers, k->kv);
    if (!status) status = tutti_server_open(k->kv, &k->server);
    return status ? status : k->kv->transport->listen(k->kv, hear, k->server);
}

static void say_nothing(void *ctx, tutti_log_level level, const char *sentence)
{
    (void)ctx, (void)level, (void)sentence;
}

tutti_status kv_world_open(const kv_case *c, kv_world **opened)
{
    kv_world *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "world: no memory");
    w->c = c;
    w->ranks = c->workers + c->servers;
    w->jobs = kv_case_has_jobs(c);
    for (int s = 0; s < c->servers; s++) w->crashes += kv_case_crashes(c, s);
    for (int k = 0; k < c->keys; k++) w->count[k] = shortened(c->count[k]);
    tutti_status status = ground_open(w->ranks, w->jobs, &w->ground);
    for (int r = 0; r < w->ranks && !status; r++) {
        ground_enter(w->ground, r);
        status = r < c->workers ? kv_world_open_client(w, r) : open_server(w, r);
    }
    if (status)
        kv_world_close(w);
    else
        *opened = w;
    return status;
}

void kv_world_close_kv(kv_rank *k)
{
    if (!k->kv) return;
    for (tutti_kv_key *key = k->kv->keys, *next; key; key = next) {
        next = key->next;
        free(key);
    }
    tutti_portions_close(&k->kv->portions);
    tutti_client_list_close(&k->kv->jobs.client_list);
    free(k->kv->inbox.ended);
    free(k->kv->jobs.lost);
    free(k->kv);
    k->kv = NULL;
}

void kv_world_close(kv_world *w)
{
    if (!w) return;
    for (int r = 0; r < w->ranks && w->ground; r++) {
        kv_rank *k = &w->rank[r];
        ground_kill(w->ground, r);
        for (tutti_kv_event *e = k->server ? k->server->first : NULL; e; e = e->next)
            free(e->completed);
        if (k->server) tutti_server_close(k->server);
        kv_world_close_kv(k);
    }
    ground_close(w->ground);
    free(w);
}

/* ---- steps ---- */

static int add(kv_step list[], int n, kv_step step)
{
    if (n < KV_MOST_STEPS) list[n++] = step;
    return n;
}

/* What a rank does by itself, and what it hears. */
static int list_rank(const kv_world *w, int r, kv_step list[], int n)
{
    const kv_rank *k = &w->rank[r];
    if (kv_world_may_go_on(w, r)) n = add(list, n, (kv_step){.kind = KV_STEP_CALL, .rank = r});
    if (k->state == SERVING && k->server->first)
        n = add(list, n, (kv_step){.kind = KV_STEP_REACT, .rank = r});
    for (int from = 0; from < w->ranks; from++) {
        if (ground_has_message(w->ground, from, r) && k->state != OVER)
            n = add(list, n, (kv_step){.kind = KV_STEP_HEAR, .rank = r, .from = from});
        if (!w->crashes || !kv_world_is_connected(w, r)) continue;
        if (ground_may_break(w->ground, r, from))
            n = add(list, n, (kv_step){.kind = KV_STEP_BREAK, .rank = r, .from = from});
        if (ground_may_part(w->ground, r, from))
            n = add(list, n, (kv_step){.kind = KV_STEP_PART, .rank = r, .from = from});
    }
    return n;
}

/* Where nothing else may happen, nobody dies either. */
int kv_world_list(kv_world *w, kv_step list[KV_MOST_STEPS])
{
    ground_op *op[KV_MOST_STEPS];
    int n = 0, ops = ground_ready(w->ground, op, KV_MOST_STEPS / 2);
    for (int i = 0; i < ops; i++)
        n = add(
            list, n, (kv_step){.kind = KV_STEP_RUN, .rank = ground_rank_of(op[i]), .op = op[i]});
    for (int r = 0; r < w->ranks; r++) n = list_rank(w, r, list, n);
    for (int r = w->c->workers; r < w->ranks && n && w->crashes; r++)
        if (kv_world_may_crash(w, r)) n = add(list, n, (kv_step){.kind = KV_STEP_CRASH, .rank = r});
    return n;
}

static void part(kv_world *w, int r, int server)
{
    ground_part(w->ground, r, server);
    tutti_kv_lose_server(w->rank[r].kv, server - w->c->workers, "has closed the connection");
}

void kv_world_take(kv_world *w, const kv_step *step)
{
    tutti_log_to(say_nothing, NULL);
    switch (step->kind) {
    case KV_STEP_RUN:
        ground_run(w->ground, step->op);
        break;
    case KV_STEP_HEAR:
        ground_deliver(w->ground, step->from, step->rank);
        break;
    case KV_STEP_REACT:
        kv_world_react(w, step->rank);
        break;
    case KV_STEP_CALL:
        kv_world_go_on(w, step->rank);
        break;
    case KV_STEP_CRASH:
        kv_world_crash(w, step->rank);
        break;
    case KV_STEP_BREAK:
        ground_break(w->ground, step->rank, step->from);
        break;
    case KV_STEP_PART:
        part(w, step->rank, step->from);
        break;
    }
    tutti_log_to(NULL, NULL);
}

/* Whether a client has yet to notice that this rank, a server, dies, if it does. */
static int may_lose(const kv_world *w, int r, int server)
{
    return r < w->c->workers && server >= w->c->workers &&
           kv_case_crashes(w->c, server - w->c->workers) && ground_may_lose(w->ground, r, server);
}

static int may_lose_any(const kv_world *w, int r)
{
    int may = 0;
    for (int server = w->c->workers; server < w->ranks; server++) may |= may_lose(w, r, server);
    return may;
}

static int run_matters(const kv_world *w, const kv_step *step)
{
    ground_kind kind = ground_kind_of(step->op);
    if (kind == GROUND_WHEN) return step->rank >= w->c->workers;
    if (kind != GROUND_RECV && kind != GROUND_SEND) return 0;
    return kv_case_is_mortal(w->c) || may_lose(w, step->rank, ground_peer_of(step->op));
}

int kv_world_matters(const kv_world *w, const kv_step *step)
{
    switch (step->kind) {
    case KV_STEP_HEAR:
        return step->rank >= w->c->workers || may_lose(w, step->rank, step->from);
    case KV_STEP_REACT:
    case KV_STEP_PART:
        return 0;
    case KV_STEP_RUN:
        return run_matters(w, step);
    case KV_STEP_CRASH:
    case KV_STEP_BREAK:
        return 1;
    case KV_STEP_CALL:
        break;
    }
    const kv_rank *k = &w->rank[step->rank];
    const kv_call *call = kv_world_next_call(w, step->rank);
    int ready = k->state == DEAD || (k->state == CALLING && k->prepared > w->c->keys);
    if (k->state == CALLING && may_lose_any(w, step->rank)) return 1;
    return ready && call && (call->kind == KV_DIE || call->kind == KV_RETURN);
}

int kv_world_prepares(const kv_world *w, const kv_step *step)
{
    const kv_rank *k = &w->rank[step->rank];
    if (step->kind == KV_STEP_CALL)
        return k->state == COMING || (k->state == CALLING && k->prepared <= w->c->keys);
    return step->kind != KV_STEP_CRASH;
}
