/* A server. What comes from other ranks becomes events, in one line; the main thread takes them in order, keeps the
 * books, and submits what follows: updates, and answers. So a server is a program whose tasks are submitted by
 * arrivals. Nothing it submits waits for a message that has not been announced by its sender. */
#include "designs/kv/kv_parts.h"

#include "collectives/buf/buf.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct server server;

/* A push on its way, then here. */
typedef struct push {
    struct push *next; /* of the same client and key, in the order in which they were made */
    int slot;
    int from; /* which of the client's workers sends it */
    double rate;
    tutti_handle data; /* NULL: no receive is posted */
} push;

/* A pull that has not been answered. */
typedef struct pull {
    struct pull *next;
    int rank;
    int64_t pushes;         /* that it must have */
    double since_s, told_s; /* when it came, and when its waiting was last told */
} pull;

/* What is on its way: an answer, or the data of a push. Two of these may end in another order than they were
 * received, so the end of a push names the client and the key alone. */
typedef struct flight {
    server *server;
    int slot, client;
    tutti_handle answer; /* NULL: a push */
} flight;

/* What has happened: the end of a flight, or else a note has come. */
typedef struct event {
    struct event *next;
    flight *landed;
    tutti_note note;
} event;

typedef struct key {
    int known; /* its first value is on the way, or here */
    int name;  /* the program's number */
    int64_t count, updates;
    tutti_dtype dtype;
    tutti_book book;
    tutti_handle value, state[TUTTI_OPTIMIZER_STATES];
    push **waiting; /* per client: pushes that were not added */
    int *replies;   /* per client: answers on their way */
    pull *pulls;
} key;

struct server {
    tutti_kv *kv;
    key *key; /* per slot */
    int keys;
    int *coming;          /* per client: pushes whose data are not here */
    int *byes;            /* per client: workers that have said bye */
    int replying;         /* answers on their way, to all clients */
    int gone;             /* clients that have left */
    int *round;           /* [clients]: who is in it */
    event *early;         /* about keys that are not known yet */
    pthread_mutex_t lock; /* protects the line of events */
    pthread_cond_t more;
    event *first, **end;
    tutti_status failure; /* of keeping events */
};

/* ---- events ---- */

static void happen(server *s, const event *what)
{
    event *e = malloc(sizeof *e);
    pthread_mutex_lock(&s->lock);
    if (e) {
        *e = *what;
        e->next = NULL;
        *s->end = e;
        s->end = &e->next;
    } else {
        s->failure = tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for what has come");
    }
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

static void hear(void *ctx, const tutti_note *note)
{
    happen(ctx, &(event){.note = *note});
}

static void land(void *arg)
{
    flight *f = arg;
    happen(f->server, &(event){.landed = f});
}

/* Waits for what was submitted on these data. */
static tutti_status await_landing(server *s, tutti_handle data, const flight *what)
{
    flight *f = malloc(sizeof *f);
    if (!f) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a message");
    *f = *what;
    f->server = s;
    tutti_status status = tutti_datum_when(data, land, f);
    if (status) free(f);
    return status;
}

/* The next event, which the caller frees; NULL after a while without one. */
static event *take(server *s, tutti_status *status)
{
    static const double look_s = 20e-3; /* whether something has failed meanwhile */
    struct timespec until = tutti_clock_after(look_s);
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->failure)
        if (pthread_cond_timedwait(&s->more, &s->lock, &until)) break;
    event *e = s->first;
    if (e) s->first = e->next;
    if (!s->first) s->end = &s->first;
    *status = s->failure;
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* ---- keys ---- */

static int client_of(const server *s, int rank)
{
    return rank / tutti_kv_client_size(s->kv);
}

static int knows(const server *s, int64_t slot)
{
    return slot >= 0 && slot < s->keys && s->key[slot].known;
}

static tutti_status make_room(server *s, int64_t slot)
{
    int most = tutti_exchange_edges(s->kv->session->exchange);
    if (slot < 0 || slot >= most || knows(s, slot))
        return tutti_fail(TUTTI_ERR_MISMATCH,
            "tutti_kv_serve: worker 0 makes key number %" PRId64 " of %d%s", slot, most,
            slot >= 0 && slot < most ? " twice" : "");
    if (slot < s->keys) return TUTTI_OK;
    key *wider = realloc(s->key, (size_t)(slot + 1) * sizeof *wider);
    if (!wider) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
    memset(wider + s->keys, 0, (size_t)(slot + 1 - s->keys) * sizeof *wider);
    s->key = wider;
    s->keys = (int)slot + 1;
    return TUTTI_OK;
}

static void open_early(server *s);

/* Worker 0 makes a key. */
static tutti_status make_key(server *s, const tutti_note *note)
{
    int64_t slot = note->value[1];
    tutti_status status = make_room(s, slot);
    if (status) return status;
    key *k = &s->key[slot];
    *k = (key){.known = 1,
        .count = note->value[2],
        .dtype = (tutti_dtype)note->value[3],
        .name = (int)note->value[4]};
    k->waiting = calloc((size_t)s->kv->clients, sizeof *k->waiting);
    k->replies = calloc((size_t)s->kv->clients, sizeof *k->replies);
    if (!k->waiting || !k->replies)
        return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a key");
    status = tutti_book_open(&s->kv->rule, s->kv->clients, &k->book);
    for (int c = 0; c < s->kv->clients && !status; c++)
        if (s->byes[c] == tutti_kv_client_size(s->kv)) tutti_book_leave(&k->book, c);
    if (!status) status = tutti_datum_open(k->count, k->dtype, &k->value);
    if (!status) status = tutti_kv_open_states(&s->kv->optimizer, k->count, k->dtype, k->state);
    if (!status) status = tutti_recv(s->kv->session, k->value, k->dtype, note->rank, (int)slot);
    if (!status) open_early(s);
    return status;
}

/* ---- answers ---- */

/* How much of a client, and of a key, has memory here at a time, however far a client is ahead: pushes that were not
 * added, and answers on their way. What is beyond waits for these. */
enum { MOST = 2 };

/* A copy goes out, so that a slow client does not hold up updates. */
static tutti_status answer(server *s, int slot, int rank)
{
    key *k = &s->key[slot];
    flight f = {.slot = slot, .client = client_of(s, rank)};
    tutti_status status = tutti_datum_open(k->count, k->dtype, &f.answer);
    if (!status) status = tutti_kv_submit_copy(f.answer, k->value, 0, k->count, k->dtype);
    if (!status) status = tutti_send(s->kv->session, f.answer, k->dtype, rank, slot);
    if (!status) status = await_landing(s, f.answer, &f);
    k->replies[f.client]++;
    s->replying++;
    return status;
}

static tutti_status answer_all(server *s, int slot)
{
    const key *k = &s->key[slot];
    tutti_status status = TUTTI_OK;
    for (pull **at = &s->key[slot].pulls; *at && !status;) {
        pull *p = *at;
        int client = client_of(s, p->rank);
        if (k->replies[client] == MOST || !tutti_book_answers(&k->book, client, p->pushes)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        status = answer(s, slot, p->rank);
        free(p);
    }
    return status;
}

/* Pulls of one rank are answered in the order in which it made them: they need no fewer pushes than those before. */
static tutti_status ask(server *s, const tutti_note *note)
{
    pull **at = &s->key[note->value[1]].pulls;
    pull *p = malloc(sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a pull");
    double now_s = tutti_clock_s();
    *p = (pull){.rank = note->rank, .pushes = note->value[2], .since_s = now_s, .told_s = now_s};
    while (*at) at = &(*at)->next;
    *at = p;
    return answer_all(s, (int)note->value[1]);
}

/* A pull that waits for long is told, with the client that it waits for: 5 s after it came, then after
 * twice as long. */
static void tell_waiting(const server *s, const key *k, pull *p)
{
    static const double first_s = 5;
    double now_s = tutti_clock_s(), waited_s = now_s - p->since_s;
    double told_s = p->told_s - p->since_s;
    if (waited_s < (told_s > 0 ? 2 * told_s : first_s)) return;
    int client = client_of(s, p->rank);
    int awaited = tutti_book_awaits(&k->book, client, p->pushes);
    p->told_s = now_s;
    if (awaited < 0 || awaited == client) return; /* its own push is on its way */
    tutti_log(TUTTI_LOG_WARN,
        "worker %d has waited %.1f s in a pull of key %d, which it has pushed %" PRId64
        " times: this server waits for client %d (worker %d%s), which has pushed it %" PRId64
        " times",
        p->rank, waited_s, k->name, p->pushes, awaited, awaited * tutti_kv_client_size(s->kv),
        tutti_kv_client_size(s->kv) > 1 ? " and others" : "", k->book.arrived[awaited]);
}

static void tell_all_waiting(const server *s)
{
    for (int slot = 0; slot < s->keys; slot++)
        for (pull *p = s->key[slot].pulls; p; p = p->next) tell_waiting(s, &s->key[slot], p);
}

/* ---- pushes ---- */

/* Posts receives for the oldest pushes of a client to a key. */
static tutti_status post(server *s, key *k, int client)
{
    tutti_status status = TUTTI_OK;
    int n = 0;
    for (push *p = k->waiting[client]; p && n < MOST && !status; p = p->next, n++) {
        if (p->data) continue;
        status = tutti_datum_open(k->count, k->dtype, &p->data);
        if (!status) status = tutti_recv(s->kv->session, p->data, k->dtype, p->from, p->slot);
        if (!status)
            status = await_landing(s, p->data, &(flight){.slot = p->slot, .client = client});
    }
    return status;
}

static tutti_status announce(server *s, const tutti_note *note)
{
    int slot = (int)note->value[1], client = client_of(s, note->rank);
    key *k = &s->key[slot];
    push *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a push");
    *p = (push){.slot = slot, .from = note->rank};
    memcpy(&p->rate, &note->value[2], sizeof p->rate);
    push **at = &k->waiting[client];
    while (*at) at = &(*at)->next;
    *at = p;
    s->coming[client]++;
    return post(s, k, client);
}

typedef struct addition {
    tutti_dtype dtype;
    int64_t count;
} addition;

static void add(void *arg, void *const buf[])
{
    const addition *a = arg;
    tutti_buf_reduce(a->dtype, TUTTI_SUM, buf[0], buf[1], a->count, 0);
}

/* sum += data */
static tutti_status submit_add(const key *k, tutti_handle sum, tutti_handle data)
{
    addition *a = malloc(sizeof *a);
    if (!a) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for a sum");
    *a = (addition){k->dtype, k->count};
    const tutti_datum_task task = {.name = "kv add",
        .work = add,
        .arg = a,
        .release = free,
        .count = 2,
        .data = {sum, data},
        .mode = {TUTTI_READWRITE, TUTTI_READ}};
    tutti_status status = tutti_datum_submit(&task);
    if (status) free(a);
    return status;
}

/* The oldest push of this client that was not added. */
static push *take_push(key *k, int client)
{
    push *p = k->waiting[client];
    k->waiting[client] = p->next;
    return p;
}

/* Adds up the pushes of a round in their order, and updates the value. */
static tutti_status add_round(server *s, key *k, int n)
{
    push *first = take_push(k, s->round[0]);
    tutti_status status = TUTTI_OK;
    for (int i = 1; i < n; i++) {
        push *p = take_push(k, s->round[i]);
        if (!status) status = submit_add(k, first->data, p->data);
        tutti_datum_drop(p->data);
        free(p);
    }
    const tutti_kv_update update = {.optimizer = s->kv->optimizer,
        .dtype = k->dtype,
        .count = k->count,
        .before = k->updates++,
        .rate = first->rate,
        .value = k->value,
        .sum = first->data,
        .state = k->state};
    if (!status) status = tutti_kv_submit_update(&update);
    tutti_datum_drop(first->data);
    free(first);
    return status;
}

/* Adds what may be added to a key, and answers who has waited for it. */
static tutti_status go_on(server *s, int slot)
{
    key *k = &s->key[slot];
    tutti_status status = TUTTI_OK;
    for (int n; !status && (n = tutti_book_round(&k->book, s->round));) status = add_round(s, k, n);
    for (int c = 0; c < s->kv->clients && !status; c++) status = post(s, k, c);
    return status ? status : answer_all(s, slot);
}

/* ---- clients that leave ---- */

static tutti_status leave(server *s, int client)
{
    tutti_status status = TUTTI_OK;
    s->gone++;
    for (int slot = 0; slot < s->keys && !status; slot++) {
        if (!s->key[slot].known) continue;
        tutti_book_leave(&s->key[slot].book, client);
        status = go_on(s, slot);
    }
    return status;
}

/* A client has left when all its workers have said so, and its last push is here. */
static tutti_status may_leave(server *s, int client)
{
    if (s->byes[client] < tutti_kv_client_size(s->kv) || s->coming[client]) return TUTTI_OK;
    return leave(s, client);
}

/* ---- serving ---- */

static tutti_status choose(server *s, const tutti_note *note)
{
    tutti_optimizer o;
    tutti_kv *kv = s->kv;
    int64_t known[TUTTI_OPTIMIZER_WORDS];
    tutti_optimizer_pack(&kv->optimizer, known);
    if (kv->chosen && memcmp(known, note->value + 1, sizeof known)) {
        tutti_optimizer_unpack(note->value + 1, &o);
        return tutti_fail(TUTTI_ERR_MISMATCH,
            "tutti_kv_set_optimizer: worker %d sets %s, but another has set %s, or with other "
            "settings",
            note->rank, tutti_optimizer_name(&o), tutti_optimizer_name(&kv->optimizer));
    }
    tutti_optimizer_unpack(note->value + 1, &kv->optimizer);
    kv->chosen = 1;
    return TUTTI_OK;
}

static tutti_status keep_early(server *s, const event *e)
{
    event **at = &s->early;
    event *kept = malloc(sizeof *kept);
    if (!kept) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory for what has come");
    *kept = *e;
    kept->next = NULL;
    while (*at) at = &(*at)->next;
    *at = kept;
    return TUTTI_OK;
}

/* What was kept for keys that were unknown goes to the front of the line, in its order. */
static void open_early(server *s)
{
    event *early = s->early, **end = &early;
    if (!early) return;
    s->early = NULL;
    while (*end) end = &(*end)->next;
    pthread_mutex_lock(&s->lock);
    *end = s->first;
    if (!s->first) s->end = end;
    s->first = early;
    pthread_mutex_unlock(&s->lock);
}

static tutti_status read_note(server *s, const event *e)
{
    const tutti_note *note = &e->note;
    int of_key = note->value[0] == TUTTI_KV_PUSH || note->value[0] == TUTTI_KV_PULL;
    if (of_key && !knows(s, note->value[1])) return keep_early(s, e);
    switch ((tutti_kv_note)note->value[0]) {
    case TUTTI_KV_OPTIMIZER:
        return choose(s, note);
    case TUTTI_KV_INIT:
        return make_key(s, note);
    case TUTTI_KV_PUSH:
        return announce(s, note);
    case TUTTI_KV_PULL:
        return ask(s, note);
    case TUTTI_KV_BYE:
        s->byes[client_of(s, note->rank)]++;
        return may_leave(s, client_of(s, note->rank));
    case TUTTI_KV_END:
        break;
    }
    return tutti_fail(TUTTI_ERR_INTERNAL, "tutti_kv_serve: worker %d writes %" PRId64, note->rank,
        note->value[0]);
}

/* One more push of this client is here: the oldest that was not, whichever has landed. */
static tutti_status take_in(server *s, const flight *f)
{
    s->coming[f->client]--;
    tutti_book_arrive(&s->key[f->slot].book, f->client);
    tutti_status status = go_on(s, f->slot);
    return status ? status : may_leave(s, f->client);
}

static tutti_status take_back(server *s, const flight *f)
{
    s->key[f->slot].replies[f->client]--;
    s->replying--;
    tutti_datum_drop(f->answer);
    return answer_all(s, f->slot);
}

static tutti_status react(server *s, const event *e)
{
    if (!e->landed) return read_note(s, e);
    flight f = *e->landed;
    free(e->landed);
    return f.answer ? take_back(s, &f) : take_in(s, &f);
}

static tutti_status serve(server *s)
{
    tutti_status status = TUTTI_OK;
    while (!status && (s->gone < s->kv->clients || s->replying)) {
        event *e = take(s, &status);
        if (!e && !status) {
            status = tutti_wait(s->kv->session, 0);
            if (status == TUTTI_ERR_TIMEOUT) status = TUTTI_OK;
            tell_all_waiting(s);
            continue;
        }
        if (e && !status) status = react(s, e);
        free(e);
    }
    return status;
}

static tutti_status open_server(tutti_kv *kv, server *s)
{
    size_t clients = (size_t)kv->clients;
    *s = (server){.kv = kv,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .coming = calloc(clients, sizeof *s->coming),
        .byes = calloc(clients, sizeof *s->byes),
        .round = calloc(clients, sizeof *s->round)};
    s->end = &s->first;
    tutti_clock_cond_init(&s->more);
    if (s->coming && s->byes && s->round) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
}

static void free_events(event *all)
{
    for (event *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

static void close_key(server *s, key *k)
{
    tutti_datum_drop(k->value);
    for (int i = 0; i < TUTTI_OPTIMIZER_STATES; i++) tutti_datum_drop(k->state[i]);
    for (pull *p = k->pulls, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    for (int c = 0; k->waiting && c < s->kv->clients; c++)
        for (push *p = k->waiting[c], *next; p; p = next) {
            next = p->next;
            tutti_datum_drop(p->data);
            free(p);
        }
    free(k->waiting);
    free(k->replies);
    tutti_book_close(&k->book);
}

/* After a failure data may be on their way for ever: then all stays as it is. */
static void close_server(server *s, int whole)
{
    for (int slot = 0; slot < s->keys && whole; slot++)
        if (s->key[slot].known) close_key(s, &s->key[slot]);
    if (!whole) return;
    free_events(s->first);
    free_events(s->early);
    free(s->key);
    free(s->coming);
    free(s->byes);
    free(s->round);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    free(s);
}

tutti_status tutti_kv_serve(tutti_kv *kv)
{
    static const double patience_s = 60;
    unsigned errors = tutti_error_count();
    tutti_status status = tutti_kv_enter(kv, "tutti_kv_serve", 1);
    if (status) return status;
    server *s = malloc(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_serve: no memory");
    status = open_server(kv, s);
    if (!status) status = tutti_exchange_listen(kv->session->exchange, hear, s);
    if (!status) status = serve(s);
    if (!status) status = tutti_wait(kv->session, patience_s);
    tutti_exchange_listen(kv->session->exchange, NULL, NULL);
    for (int w = 0; w < kv->workers; w++)
        tutti_kv_write(kv, w, (int64_t[TUTTI_NOTE_VALUES]){TUTTI_KV_END, status});
    close_server(s, !status);
    return tutti_session_leave("tutti_kv_serve", errors, status);
}
