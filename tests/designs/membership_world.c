#include "tests/designs/membership_world.h"

#include "dag/base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(r) (1 << (r))

/* The world and the rank whose step is taken: machines are copied with their worlds, so that they cannot point to
 * them. */
static world *w_now;
static int actor, may_send, sent;

static void wrong(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(world *w, const char *format, ...)
{
    va_list args;
    if (w->why[0]) return;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
}

/* ---- messages: each is kept once, for all worlds ---- */

enum { MESSAGES = 32767, SLOTS = 1 << 17 };
static tutti_membership_message *kept[MESSAGES];
static short slot[SLOTS];
static int kept_count;

static size_t bytes_of(const tutti_membership_message *m)
{
    return offsetof(tutti_membership_message, entry) + (size_t)m->n * sizeof *m->entry;
}

static uint64_t hash_bytes(const void *data, size_t bytes, uint64_t hash)
{
    const unsigned char *at = data;
    uint64_t word;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--) hash = (hash ^ *at++) * 0x100000001B3u;
    return hash;
}

/* As it comes out of its bytes at the other end. */
static short keep(const tutti_membership_message *m)
{
    static unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES];
    static tutti_membership_message read;
    tutti_membership_message_write(m, bytes);
    const char *why = tutti_membership_message_read(bytes, &read);
    if (why) wrong(w_now, "rank %d %s (kind %d)", actor, why, (int)m->kind);
    size_t at = hash_bytes(&read, bytes_of(&read), 1) % SLOTS;
    while (slot[at]) {
        const tutti_membership_message *k = kept[slot[at] - 1];
        if (k->n == read.n && !memcmp(k, &read, bytes_of(k))) return (short)(slot[at] - 1);
        at = (at + 1) % SLOTS;
    }
    if (kept_count == MESSAGES) abort();
    kept[kept_count] = calloc(1, bytes_of(&read));
    if (!kept[kept_count]) abort();
    memcpy(kept[kept_count], &read, bytes_of(&read));
    slot[at] = (short)++kept_count;
    return (short)(kept_count - 1);
}

/* ---- what machines say ---- */

static void check_law_of_ack(const world_rank *r)
{
    if (r->inside) wrong(w_now, "rank %d ACKs, and is in epoch %d", actor, (int)r->epoch);
}

static void act_send(void *ctx, int64_t to, const tutti_membership_message *m)
{
    world_channel *c = &w_now->channel[actor][to];
    (void)ctx;
    if (m->kind == TUTTI_MEMBERSHIP_ACK) check_law_of_ack(&w_now->rank[actor]);
    if (sent++ >= may_send) return;
    if (!w_now->rank[to].here || c->closed) return;
    if (c->count == WORLD_QUEUE) {
        wrong(w_now, "%d messages from rank %d to rank %d", WORLD_QUEUE, actor, (int)to);
        return;
    }
    c->message[c->count++] = keep(m);
}

static void act_leave(void *ctx, int64_t epoch, int gently)
{
    world_rank *r = &w_now->rank[actor];
    (void)ctx, (void)gently;
    if (sent > may_send) return;
    if (epoch != r->epoch) wrong(w_now, "rank %d leaves epoch %d", actor, (int)epoch);
    r->leaves = 1;
}

static uint64_t value_of_start(void)
{
    return 12345;
}

/* The rank's state is that of the snapshot; newer ones are void. */
static void restore(world *w, world_rank *r, const tutti_membership *next, int fresh)
{
    const int e = (int)next->epoch;
    if (fresh) {
        r->newest.step = r->before.step = -1;
        r->restores = 1;
        return;
    }
    if (r->before.step == next->snapshot) {
        r->newest = r->before;
        r->before.step = -1;
    } else if (r->newest.step != next->snapshot)
        wrong(w, "rank %d has no snapshot %d for epoch %d", actor, (int)next->snapshot, e);
    r->step = next->snapshot;
    r->value = r->newest.value;
    if (!w->epoch[e].known) w->epoch[e].value = r->value;
    w->epoch[e].known = 1;
    if (w->epoch[e].value != r->value)
        wrong(w, "the ranks of epoch %d go on from different values at step %d", e, (int)r->step);
}

static void act_enter(void *ctx, const tutti_membership *next)
{
    world *w = w_now;
    world_rank *r = &w->rank[actor];
    unsigned char members = 0;
    int fresh = 0;
    (void)ctx;
    if (sent > may_send) return; /* dead before */
    if (next->epoch >= 64 || next->epoch <= r->epoch || r->inside) {
        wrong(w, "rank %d enters epoch %d from %d", actor, (int)next->epoch, (int)r->epoch);
        return;
    }
    for (int q = 0; q < w->ranks; q++)
        if (w->rank[q].finished) wrong(w, "epoch %d begins after the end", (int)next->epoch);
    for (int i = 0; i < next->n; i++) {
        const int q = (int)next->entry[i].id;
        members |= (unsigned char)BIT(q);
        if (q == actor) fresh = next->entry[i].fresh;
        if (w->rank[q].inside && w->rank[q].epoch < next->epoch && w->rank[q].here)
            wrong(w, "epoch %d begins while rank %d is in epoch %d", (int)next->epoch, q,
                (int)w->rank[q].epoch);
    }
    if (next->epoch == 1) r->newest.value = value_of_start();
    if (w->epoch[next->epoch].members && (w->epoch[next->epoch].members != members ||
                                             w->epoch[next->epoch].snapshot != next->snapshot))
        wrong(w, "epoch %d has two lists, or two snapshots", (int)next->epoch);
    restore(w, r, next, fresh);
    w->epoch[next->epoch].members = members;
    w->epoch[next->epoch].snapshot = next->snapshot;
    r->members = members;
    r->epoch = next->epoch;
    r->inside = 1;
    r->leaves = 0;
}

static void act_connect(void *ctx, const tutti_membership_entry *to)
{
    (void)ctx;
    w_now->rank[actor].connects |= (unsigned char)BIT(to->id);
}

static void act_cut(void *ctx, int64_t id)
{
    (void)ctx;
    if (sent <= may_send && !w_now->channel[actor][id].closed) w_now->channel[actor][id].closed = 1;
}

static void close_all(world *w, int rank)
{
    w->rank[rank].here = w->rank[rank].inside = w->rank[rank].leaves = 0;
    w->rank[rank].connects = 0;
    for (int q = 0; q < w->ranks; q++) {
        if (!w->channel[rank][q].closed) w->channel[rank][q].closed = 1;
        w->channel[q][rank].count = 0;
        w->channel[q][rank].closed = 2;
    }
}

static void act_stop(void *ctx, const char *why)
{
    (void)ctx;
    if (sent > may_send) return;
    if (!why[0]) wrong(w_now, "rank %d stops without a sentence", actor);
    w_now->rank[actor].stopped = 1;
    w_now->rank[actor].gave_up = strstr(why, "not taken in within") != NULL;
    close_all(w_now, actor);
}

static void act_finish(void *ctx)
{
    (void)ctx;
    if (sent > may_send) return;
    w_now->rank[actor].finished = 1;
    close_all(w_now, actor);
}

static const tutti_membership_acts acts = {.send = act_send,
    .leave = act_leave,
    .enter = act_enter,
    .connect = act_connect,
    .cut = act_cut,
    .stop = act_stop,
    .finish = act_finish};

/* ---- opening ---- */

static tutti_membership_entry entry_of(int rank)
{
    tutti_membership_entry e = {.id = rank};
    snprintf(e.address, sizeof e.address, "host%d:1", rank);
    return e;
}

static void open_rank(world *w, int rank, const tutti_membership *first)
{
    const tutti_membership_options o = {.first = first,
        .self = entry_of(rank),
        .run = 7,
        .options = 8,
        .least = w->least,
        .most = WORLD_RANKS,
        .settle_s = 0.25,
        .ack_s = 8,
        .join_s = 1024};
    w_now = w;
    actor = rank;
    sent = 0;
    may_send = WORLD_ALL_SENT;
    world_rank *r = &w->rank[rank];
    r->here = 1;
    r->before.step = -1;
    if (!first) r->newest.step = -1;
    if (tutti_membership_open(&r->machine, &o, &acts, 0)) wrong(w, "not opened");
}

void world_open(world *w, int founders, int ranks, int least)
{
    tutti_membership first = {.n = founders};
    memset(w, 0, sizeof *w);
    w->founders = founders;
    w->ranks = ranks;
    w->least = least;
    w->trains = 6;
    w->trains_more = 60;
    for (int r = 0; r < founders; r++) {
        first.entry[r] = entry_of(r);
        w->rank[r].here = 1;
    }
    for (int r = 0; r < founders; r++) open_rank(w, r, &first);
    for (int r = 0; r < ranks; r++)
        for (int q = 0; q < ranks; q++)
            if (r >= founders || q >= founders) w->channel[r][q].closed = 2;
}

/* ---- steps ---- */

static int passes(const world *w, int a, int b)
{
    return !(w->apart[a] & BIT(b));
}

static int newcomers_wait(const world *w)
{
    for (int r = w->founders; r < w->ranks; r++)
        if (w->rank[r].here && !w->rank[r].epoch) return 1;
    return 0;
}

/* A step ends once all of the epoch have submitted it. */
static int can_train(const world *w, int rank)
{
    const world_rank *r = &w->rank[rank];
    const int64_t steps = w->trains + (newcomers_wait(w) ? w->trains_more : 0);
    if (!r->here || !r->inside || r->restores || r->step >= steps) return 0;
    for (int q = 0; q < w->ranks; q++) {
        const world_rank *o = &w->rank[q];
        if (!(r->members & BIT(q))) continue;
        if (o->restores) return 0;
        if (o->epoch != r->epoch || (o->step <= r->step && (o->step < r->step || !o->inside)))
            return 0;
    }
    return 1;
}

static void add(world_step steps[], int *count, world_step_kind kind, int a, int b)
{
    if (*count < WORLD_STEPS) steps[(*count)++] = (world_step){.kind = kind, .a = a, .b = b};
}

int world_list(const world *w, world_step steps[WORLD_STEPS])
{
    int count = 0;
    for (int a = 0; a < w->ranks; a++) {
        const world_rank *r = &w->rank[a];
        if (!r->here) continue;
        if (r->leaves) add(steps, &count, WORLD_LEFT, a, 0);
        if (r->restores && w->epoch[r->epoch].known) add(steps, &count, WORLD_RESTORED, a, 0);
        if (r->machine.phase == TUTTI_MEMBERSHIP_SETTLING) add(steps, &count, WORLD_SETTLE, a, 0);
        if (can_train(w, a)) add(steps, &count, WORLD_TRAIN, a, 0);
        for (int b = 0; b < w->ranks; b++) {
            const world_channel *c = &w->channel[b][a];
            if (a == b) continue;
            if (passes(w, a, b) && (c->count || c->closed == 1))
                add(steps, &count, WORLD_DELIVER, a, b);
            if (!passes(w, a, b) && !(w->silenced[a] & BIT(b)) && w->channel[b][a].closed < 2)
                add(steps, &count, WORLD_SILENT, a, b);
            if (r->connects & BIT(b)) add(steps, &count, WORLD_CONNECT, a, b);
        }
    }
    return count;
}

static void deliver(world *w, int to, int from)
{
    world_channel *c = &w->channel[from][to];
    if (c->count) {
        static tutti_membership_message m;
        memset(&m, 0, sizeof m);
        memcpy(&m, kept[c->message[0]], bytes_of(kept[c->message[0]]));
        memmove(c->message, c->message + 1, --c->count * sizeof *c->message);
        c->message[c->count] = 0;
        tutti_membership_receive(&w->rank[to].machine, from, &m);
    } else if (c->closed == 1) {
        c->closed = 2;
        tutti_membership_lost(&w->rank[to].machine, from, 1);
    }
}

static void train(world *w, int rank)
{
    world_rank *r = &w->rank[rank];
    if (r->epoch < w->worked)
        wrong(w, "two runs: rank %d ends a step of epoch %d after one of epoch %d", rank,
            (int)r->epoch, (int)w->worked);
    w->worked = r->epoch;
    r->step++;
    r->value = (r->value ^ r->members) * 0x9E3779B97F4A7C15u;
    if (r->step % 2) return;
    r->before = r->newest;
    r->newest = (world_snapshot){.step = r->step, .value = r->value};
    tutti_membership_snapshot(&r->machine, r->newest.step, r->before.step);
}

static void connect_to(world *w, int a, int b)
{
    const tutti_membership_hello hello = {
        .version = TUTTI_MEMBERSHIP_VERSION, .id = a, .run = 7, .options = 8, .address = "new:1"};
    char why[TUTTI_MEMBERSHIP_WHY];
    const tutti_membership_entry to = entry_of(b);
    w->rank[a].connects &= (unsigned char)~BIT(b);
    if (!w->rank[b].here || !passes(w, a, b)) {
        tutti_membership_lost(&w->rank[a].machine, b, 0);
        return;
    }
    w->silenced[a] &= (unsigned char)~BIT(b);
    w->silenced[b] &= (unsigned char)~BIT(a);
    if (w->channel[a][b].closed != 2) return; /* the other has connected */
    w->channel[a][b] = w->channel[b][a] = (world_channel){0};
    actor = b;
    const tutti_membership_verdict verdict =
        tutti_membership_admit(&w->rank[b].machine, &hello, why);
    actor = a;
    if (!verdict) {
        tutti_membership_connected(&w->rank[a].machine, &to);
        return;
    }
    w->channel[a][b].closed = w->channel[b][a].closed = 2;
    if (verdict == TUTTI_MEMBERSHIP_REFUSED) tutti_membership_lost(&w->rank[a].machine, b, 0);
}

static void take(world *w, const world_step *s)
{
    world_rank *r = &w->rank[s->a];
    switch (s->kind) {
    case WORLD_DELIVER:
        deliver(w, s->a, s->b);
        break;
    case WORLD_LEFT:
        r->leaves = r->inside = r->restores = 0;
        tutti_membership_left(&r->machine, r->newest.step, r->before.step);
        break;
    case WORLD_TRAIN:
        train(w, s->a);
        break;
    case WORLD_RESTORED:
        r->restores = 0;
        r->step = w->epoch[r->epoch].snapshot;
        r->value = w->epoch[r->epoch].value;
        r->newest = (world_snapshot){.step = r->step, .value = r->value};
        tutti_membership_snapshot(&r->machine, r->newest.step, r->before.step);
        break;
    case WORLD_ARRIVE:
        open_rank(w, s->a, NULL); /* fall through */
    case WORLD_CONNECT:
        connect_to(w, s->a, s->b);
        break;
    case WORLD_SILENT:
        w->silenced[s->a] |= (unsigned char)BIT(s->b);
        w->suspicions++;
        tutti_membership_lost(&r->machine, s->b, 0);
        break;
    case WORLD_SETTLE:
        r->now_s = tutti_membership_due(&r->machine);
        tutti_membership_tick(&r->machine, r->now_s);
        break;
    case WORLD_FINISH:
        tutti_membership_finish(&r->machine);
        break;
    }
}

void world_kill(world *w, int rank)
{
    w->deaths++;
    close_all(w, rank);
    w->rank[rank].dead = 1;
}

int world_take(world *w, const world_step *s, int sends)
{
    w_now = w;
    actor = s->a;
    sent = 0;
    may_send = sends;
    if (s->kind != WORLD_ARRIVE) tutti_membership_tick(&w->rank[s->a].machine, w->rank[s->a].now_s);
    if (w->rank[s->a].here || s->kind == WORLD_ARRIVE) take(w, s);
    const int all = sent;
    if (sends < WORLD_ALL_SENT && w->rank[s->a].here) world_kill(w, s->a);
    may_send = WORLD_ALL_SENT;
    return all;
}

/* ---- time ---- */

static double left_of(const world_rank *r)
{
    return r->here ? tutti_membership_due(&r->machine) - r->now_s : INFINITY;
}

static void tick(world *w, int rank)
{
    w_now = w;
    actor = rank;
    sent = 0;
    may_send = WORLD_ALL_SENT;
    if (w->rank[rank].here) tutti_membership_tick(&w->rank[rank].machine, w->rank[rank].now_s);
}

int world_wait(world *w)
{
    double least = INFINITY;
    for (int r = 0; r < w->ranks; r++) least = fmin(least, left_of(&w->rank[r]));
    if (isinf(least)) return 0;
    if (newcomers_wait(w)) w->trains_more += 4; /* the next snapshot, however late it comes */
    for (int r = 0; r < w->ranks; r++) w->rank[r].now_s += fmax(least, 0);
    for (int r = 0; r < w->ranks; r++) tick(w, r);
    return 1;
}

int world_hurry(world *w, int rank)
{
    const double left = left_of(&w->rank[rank]);
    if (isinf(left)) return 0;
    w->rank[rank].now_s += fmax(left, 0);
    w->suspicions++;
    tick(w, rank);
    return 1;
}

int world_members(const world *w)
{
    int members = 0;
    for (int r = 0; r < w->ranks; r++) members |= w->rank[r].here && w->rank[r].epoch ? BIT(r) : 0;
    return members;
}

uint64_t world_hash(const world *w)
{
    uint64_t hash = 1;
    for (int r = 0; r < w->ranks; r++) {
        const world_rank *k = &w->rank[r];
        const double left = left_of(k);
        hash = hash_bytes(&k->machine, offsetof(tutti_membership_machine, now_s), hash);
        hash = hash_bytes(&k->here, sizeof *k - offsetof(world_rank, here) - sizeof k->now_s, hash);
        hash = hash_bytes(&left, sizeof left, hash);
    }
    return hash_bytes(w->channel, sizeof w->channel, hash ^ (uint64_t)w->deaths);
}
