#include "tests/deadlock/kv_world_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- a server ---- */

static void fail(kv_rank *k, tutti_status status)
{
    if (status && !k->status) k->status = status;
}

void kv_world_react(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    tutti_status status;
    ground_enter(w->ground, r);
    tutti_kv_event *e = tutti_server_next_event(k->server, &status);
    if (!status) status = tutti_server_handle_event(k->server, e);
    free(e);
    if (!status && tutti_server_has_clients(k->server, &status)) return;
    fail(k, status);
    k->state = ENDING;
}

int kv_world_may_crash(const kv_world *w, int r)
{
    for (int o = 0; o < w->c->workers; o++)
        if (w->rank[o].state == COMING) return 0;
    return kv_case_crashes(w->c, r - w->c->workers) &&
           (w->rank[r].state == SERVING || w->rank[r].state == ENDING);
}

void kv_world_crash(kv_world *w, int r)
{
    ground_crash(w->ground, r);
    w->rank[r].state = DEAD;
    w->rank[r].status = TUTTI_OK; /* whatever it was about to say */
    w->rank[r].call++;
}

int kv_world_is_connected(const kv_world *w, int r)
{
    rank_state state = w->rank[r].state;
    return w->jobs && (state == CALLING || state == MEETING || state == LEAVING);
}

/* Takes what has come. */
static void catch_up(kv_world *w)
{
    for (int s = w->c->workers; s < w->ranks; s++)
        while (w->rank[s].state == SERVING && w->rank[s].server->first) kv_world_react(w, s);
}

/* ---- a client ---- */

static int is_first(const kv_world *w, int r)
{
    return r % kv_case_client_size(w->c) == 0;
}

/* It breaks off: servers are told by its connection, behind what it had written. */
static void break_off(kv_world *w, int r)
{
    static const int64_t lost[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_LOST};
    kv_rank *k = &w->rank[r];
    ground_kill(w->ground, r);
    ground_enter(w->ground, r);
    for (int s = 0; s < w->c->servers && w->jobs; s++)
        k->kv->transport->write(k->kv, w->c->workers + s, lost);
}

/* All workers of a client die together; what they had pulled is nobody's. */
static void die(kv_world *w, int r)
{
    int size = kv_case_client_size(w->c), first = r / size * size;
    for (int i = first; i < first + size; i++) {
        kv_rank *k = &w->rank[i];
        break_off(w, i);
        kv_world_close_kv(k);
        k->state = DEAD;
        k->pulls = 0;
        while (k->call < w->c->calls[i] && w->c->call[i][k->call].kind != KV_DIE) k->call++;
        k->call++;
    }
}

static int returns(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    return k->state == DEAD && k->call < w->c->calls[r];
}

static int are_serving(const kv_world *w)
{
    for (int s = w->c->workers; s < w->ranks; s++)
        if (w->rank[s].state != SERVING) return 0;
    return 1;
}

/* Whether all servers would let it in. */
static int may_come(const kv_world *w, int r)
{
    int client = kv_case_client(w->c, r), life = w->rank[r].life + (w->rank[r].state == DEAD);
    for (int s = 0; s < w->c->servers; s++) {
        const kv_rank *k = &w->rank[w->c->workers + s];
        const tutti_client_entry *client_entry = &k->kv->jobs.client_list.client_entry[client];
        if (client_entry->state == TUTTI_CLIENT_LOST) return 0;
        if (client_entry->state == TUTTI_CLIENT_HERE && client_entry->life != life) return 0;
    }
    return are_serving(w);
}

static tutti_status greet(kv_world *w, int r, int s)
{
    char why[TUTTI_CLIENT_WHY];
    int first;
    kv_rank *server = &w->rank[w->c->workers + s];
    tutti_hello hello = server->kv->jobs.client_list.self;
    hello.client = kv_case_client(w->c, r);
    hello.workers = kv_case_client_size(w->c);
    hello.worker = r % hello.workers;
    hello.life = w->rank[r].life;
    if (tutti_client_list_admit(&server->kv->jobs.client_list, &hello, &first, why) !=
        TUTTI_CLIENT_WELCOME)
        return tutti_fail(TUTTI_ERR_COMM, "rank %d is not let in: %s", r, why);
    if (first)
        tutti_server_queue_event(
            server->server, &(tutti_kv_event){.message = {.rank = r, .value = {TUTTI_KV_JOINED}}});
    return TUTTI_OK;
}

/* Its first life, or the next, which begins with its calls behind `return`. Who comes when the last
 * of the others is leaving would be refused, or lose the server: here servers take what has come
 * first, and it comes or does not. */
static tutti_status come(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    tutti_status status = TUTTI_OK;
    catch_up(w);
    if (!may_come(w, r)) return TUTTI_OK;
    ground_enter(w->ground, r);
    if (k->state == DEAD) {
        ground_revive(w->ground, r);
        k->life++;
        k->call++;
        k->prepared = 0;
        memset(k->pushes, 0, sizeof k->pushes);
        status = kv_world_open_client(w, r);
    }
    for (int s = 0; s < w->c->servers && !status; s++) status = greet(w, r, s);
    catch_up(w);
    k->state = CALLING;
    return status;
}

/* What all do before their calls. */
static tutti_status prepare(kv_world *w, kv_rank *k)
{
    tutti_handle first;
    int key = k->prepared++ - 1;
    if (key < 0) return tutti_kv_set_optimizer(k->kv, "add");
    tutti_status status = tutti_datum_open(w->count[key], TUTTI_F32, &first);
    return status ? status : tutti_kv_init(k->kv, key, first, TUTTI_F32);
}

static void compute(void *arg, void *const buf[])
{
    (void)arg, (void)buf;
}

static tutti_status push(const kv_call *call, kv_rank *k)
{
    tutti_status status = TUTTI_OK;
    const tutti_datum_task task = {.name = "compute",
        .work = compute,
        .count = 2,
        .data = {k->data[call->key], call->after < 0 ? NULL : k->last[call->after]},
        .mode = {TUTTI_READWRITE, TUTTI_READ}};
    if (call->after >= 0) status = tutti_datum_submit(&task);
    k->pushes[call->key]++;
    return status ? status : tutti_kv_push(k->kv, call->key, k->data[call->key]);
}

static tutti_status pull(const kv_world *w, const kv_call *call, kv_rank *k)
{
    pulled *p = &k->pull[k->pulls];
    tutti_status status = tutti_datum_open(w->count[call->key], TUTTI_F32, &p->data);
    if (status) return status;
    p->key = call->key;
    p->pushes = k->pushes[call->key];
    k->last[call->key] = p->data;
    status = tutti_kv_pull(k->kv, call->key, p->data);
    k->pulls += !status;
    return status;
}

/* Between jobs the first worker of each client meets the others at server 0, and at who stands in for it. */
static tutti_status meet(const kv_world *w, int r, kv_rank *k)
{
    static const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_BARRIER};
    tutti_status status = TUTTI_OK;
    k->barriers_passed++;
    k->state = MEETING;
    for (int s = 0; s < w->c->copies && w->jobs && is_first(w, r) && !status; s++)
        status = k->kv->transport->write(k->kv, w->c->workers + s, value);
    return status;
}

static int barriers_of(const kv_rank *k)
{
    const int *n = k->kv->inbox.barriers;
    return n[0] > n[1] ? n[0] : n[1];
}

static int have_met(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    int size = kv_case_client_size(w->c);
    if (w->jobs && is_first(w, r)) return barriers_of(k) >= k->barriers_passed;
    if (w->jobs)
        return w->rank[r / size * size].state != MEETING &&
               w->rank[r / size * size].barriers_passed >= k->barriers_passed;
    for (int o = 0; o < w->c->workers; o++)
        if (w->rank[o].barriers_passed < k->barriers_passed) return 0;
    return 1;
}

static tutti_status say_bye(const kv_world *w, kv_rank *k)
{
    static const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES] = {TUTTI_KV_BYE};
    tutti_status status = TUTTI_OK;
    k->state = LEAVING;
    for (int s = 0; s < w->c->servers && !status; s++)
        status = k->kv->transport->write(k->kv, w->c->workers + s, value);
    return status;
}

/* The next call, NULL: it closes. */
const kv_call *kv_world_next_call(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    const kv_call *call = k->call < w->c->calls[r] ? &w->c->call[r][k->call] : NULL;
    return call && call->kind == KV_LEAVE ? NULL : call;
}

static tutti_status make_call(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    const kv_call *call = kv_world_next_call(w, r);
    if (k->prepared <= w->c->keys) return prepare(w, k);
    if (!call) return say_bye(w, k);
    if (call->kind == KV_DIE) {
        die(w, r);
        return TUTTI_OK;
    }
    k->call++;
    if (call->kind == KV_PUSH) return push(call, k);
    return call->kind == KV_PULL ? pull(w, call, k) : meet(w, r, k);
}

/* Who meets, or closes, waits for all that it has inserted. */
static int may_call(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    if (k->prepared <= w->c->keys) return 1;
    const kv_call *call = kv_world_next_call(w, r);
    return (call && call->kind != KV_MEET) || !ground_left(w->ground, r);
}

int kv_world_may_go_on(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    if (k->kv && k->kv->server < 0 && k->kv->inbox.failure && k->state != OVER) return 1;
    switch (k->state) {
    case COMING:
        return may_come(w, r);
    case CALLING:
        return may_call(w, r);
    case MEETING:
        return have_met(w, r);
    case LEAVING:
        return k->kv->inbox.ends >= w->c->servers;
    case ENDING:
        return k->status || !ground_left(w->ground, r);
    case DEAD:
        return returns(w, r) && may_come(w, r);
    case SERVING:
    case OVER:
        break;
    }
    return 0;
}

void kv_world_go_on(kv_world *w, int r)
{
    kv_rank *k = &w->rank[r];
    ground_enter(w->ground, r);
    if (k->kv && k->kv->server < 0 && k->kv->inbox.failure) {
        fail(k, k->kv->inbox.failure);
        break_off(w, r);
        k->state = OVER;
    } else if (k->state == COMING || k->state == DEAD) {
        fail(k, come(w, r));
    } else if (k->state == CALLING) {
        fail(k, make_call(w, r));
    } else if (k->state == MEETING) {
        k->state = CALLING;
    } else {
        if (k->state == ENDING) tutti_server_send_end(k->server, k->status);
        k->state = OVER;
    }
}

/* A client that would return needs servers that serve. */
int kv_world_is_over(const kv_world *w, int r)
{
    const kv_rank *k = &w->rank[r];
    return k->state == OVER || (k->state == DEAD && (!returns(w, r) || !are_serving(w)));
}
