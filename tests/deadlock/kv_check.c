#include "tests/deadlock/kv_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A client so far: which of its calls are done. */
typedef struct client {
    int rank;
    const kv_call *call;
    int calls, left;
    char done[KV_MOST_CALLS];
} client;

typedef struct check {
    const kv_case *c;
    client client[KV_MOST_CLIENTS];
} check;

static void say(tutti_verdict *v, tutti_clause clause, int rank, int other, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void say(tutti_verdict *v, tutti_clause clause, int rank, int other, const char *format, ...)
{
    char text[512];
    va_list args;
    if (v->clause) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    v->clause = clause;
    v->rank = rank;
    v->other = other;
    snprintf(v->text, sizeof v->text, "%s: %s", tutti_clause_names[clause], text);
}

/* ---- calls that must be the same ---- */

static void compare_workers(const kv_case *c, tutti_verdict *v)
{
    int size = kv_case_client_size(c);
    for (int r = 0; r < c->workers; r++) {
        int first = r / size * size;
        for (int i = 0; i < c->calls[r] && i < c->calls[first]; i++)
            if (memcmp(&c->call[r][i], &c->call[first][i], sizeof c->call[r][i]))
                say(v, TUTTI_CLAUSE_ORDER, first, r,
                    "ranks %d and %d are one client, and call number %d differs", first, r, i);
        if (c->calls[r] != c->calls[first])
            say(v, TUTTI_CLAUSE_MISSING, first, r,
                "ranks %d and %d are one client, and make %d and %d calls", first, r,
                c->calls[first], c->calls[r]);
    }
}

static void compare_mixings(const kv_case *c, tutti_verdict *v)
{
    for (int r = 1; r < c->workers && !kv_case_is_mortal(c); r++) {
        int mine = kv_case_calls(c, r, KV_MEET, 0), first = kv_case_calls(c, 0, KV_MEET, 0);
        if (mine != first)
            say(v, TUTTI_CLAUSE_MISSING, 0, r, "rank 0 meets the others %d times, rank %d %d times",
                first, r, mine);
    }
}

static void look_for_deaths(const kv_case *c, tutti_verdict *v)
{
    for (int r = 0; r < c->workers && c->rule.type == TUTTI_KV_SYNC; r++)
        if (kv_case_calls(c, r, KV_DIE, 0))
            say(v, TUTTI_CLAUSE_MISSING, r, -1,
                "client %d dies: with sync the run cannot go on without it", kv_case_client(c, r));
}

static void look_for_lost_keys(const kv_case *c, tutti_verdict *v)
{
    int server, other;
    if (!kv_case_loses_keys(c, &server, &other)) return;
    if (other < 0)
        say(v, TUTTI_CLAUSE_MISSING, c->workers + server, -1,
            "server %d dies, and no other has its keys", server);
    else
        say(v, TUTTI_CLAUSE_MISSING, c->workers + server, c->workers + other,
            "servers %d and %d die, and no other has the keys of both", server, other);
}

/* ---- who waits for whom ---- */

/* Pushes of a key among the calls before `end`, or those of them that have gone. */
static int pushes_before(const client *me, int key, int end, int gone)
{
    int n = 0;
    for (int i = 0; i < end; i++)
        n += me->call[i].kind == KV_PUSH && me->call[i].key == key && (!gone || me->done[i]);
    return n;
}

/* Whether all calls of a kind before this one are done. */
static int are_done(const client *me, int call, int kind)
{
    for (int i = 0; i < call; i++)
        if ((int)me->call[i].kind == kind && !me->done[i]) return 0;
    return 1;
}

static int last_pull(const client *me, int call, int key)
{
    int i = call - 1;
    while (i >= 0 && !(me->call[i].kind == KV_PULL && me->call[i].key == key)) i--;
    return i;
}

/* Collectives of a group start in the order of the calls. */
static int lane_is_free(const check *k, const client *me, int i)
{
    int kind = (int)me->call[i].kind, other = kind == KV_PUSH ? KV_PULL : KV_PUSH;
    if (kv_case_client_size(k->c) == 1) return 1;
    return are_done(me, i, kind) && (!k->c->one_group || are_done(me, i, other));
}

/* The client that a pull waits for, and how many pushes it lacks of it: as tutti_push_ledger_awaits. -1: nobody. */
static int awaits(const check *k, const client *me, int i, int *needed)
{
    int key = me->call[i].key, type = (int)k->c->rule.type, pushes = pushes_before(me, key, i, 0);
    int self = (int)(me - k->client);
    *needed = pushes;
    if (pushes_before(me, key, i, 1) < pushes) return self;
    *needed = type == TUTTI_KV_SYNC ? pushes : pushes - (int)k->c->rule.bound;
    for (int c = 0; c < k->c->clients && type != TUTTI_KV_ASYNC; c++) {
        const client *other = &k->client[c];
        if (!other->left && pushes_before(other, key, other->calls, 1) < *needed) return c;
    }
    return -1;
}

static int mixings_before(const client *me, int i)
{
    int n = 0;
    for (int j = 0; j < i; j++) n += me->call[j].kind == KV_MEET;
    return n;
}

/* Whether a client has come to its meeting number n. */
static int has_come(const client *me, int n)
{
    int i = 0;
    while (i < me->calls && !(me->call[i].kind == KV_MEET && mixings_before(me, i) == n)) i++;
    return me->left || (i < me->calls && are_done(me, i, KV_PUSH) && are_done(me, i, KV_PULL) &&
                           are_done(me, i, KV_MEET));
}

static int may_be_done(const check *k, const client *me, int i)
{
    int needed;
    const kv_call *call = &me->call[i];
    if (!are_done(me, i, KV_MEET)) return 0;
    if (call->kind == KV_PUSH)
        return lane_is_free(k, me, i) &&
               (call->after < 0 || me->done[last_pull(me, i, call->after)]);
    if (call->kind == KV_PULL) return lane_is_free(k, me, i) && awaits(k, me, i, &needed) < 0;
    for (int c = 0; c < k->c->clients && call->kind == KV_MEET; c++)
        if (!has_come(&k->client[c], mixings_before(me, i))) return 0;
    return 1;
}

/* Does what may be done. Returns whether there was anything. */
static int go_on(check *k)
{
    int moved = 0;
    for (int c = 0; c < k->c->clients; c++) {
        client *me = &k->client[c];
        int left = me->left, all = 1;
        for (int i = 0; i < me->calls && !left; i++) {
            if (!me->done[i] && may_be_done(k, me, i)) me->done[i] = (char)(moved = 1);
            all &= me->done[i];
        }
        me->left |= all;
        moved |= me->left != left;
    }
    return moved;
}

static void name_who_waits(const check *k, tutti_verdict *v)
{
    for (int c = 0; c < k->c->clients; c++) {
        const client *me = &k->client[c];
        for (int i = 0; i < me->calls && !me->left; i++) {
            int needed, other;
            if (me->done[i] || me->call[i].kind != KV_PULL || !are_done(me, i, KV_MEET)) continue;
            if ((other = awaits(k, me, i, &needed)) < 0 || other == c) continue;
            const client *they = &k->client[other];
            int pushes = pushes_before(they, me->call[i].key, they->calls, 0);
            say(v, pushes < needed ? TUTTI_CLAUSE_MISSING : TUTTI_CLAUSE_CYCLE, me->rank,
                they->rank,
                "client %d waits in its pull of '%s' for push number %d of client %d, which %s", c,
                k->c->key[me->call[i].key], needed, other,
                pushes < needed ? "makes no more, and does not leave" : "waits, too");
        }
        if (!me->left)
            say(v, TUTTI_CLAUSE_CYCLE, me->rank, -1,
                "client %d waits for itself, or for those that it should meet", c);
    }
}

void kv_check(const kv_case *c, tutti_verdict *v)
{
    check k = {.c = c};
    *v = (tutti_verdict){.rank = -1, .other = -1};
    compare_workers(c, v);
    compare_mixings(c, v);
    look_for_deaths(c, v);
    look_for_lost_keys(c, v);
    for (int i = 0; i < c->clients; i++) {
        int rank = i * kv_case_client_size(c), leaves = kv_case_calls(c, rank, KV_LEAVE, 0);
        k.client[i] = (client){.rank = rank,
            .call = c->call[rank],
            .calls = c->calls[rank] - leaves,
            .left = kv_case_calls(c, rank, KV_DIE, 0) > 0};
    }
    while (go_on(&k)) continue;
    name_who_waits(&k, v);
    if (!v->clause) snprintf(v->text, sizeof v->text, "nobody waits for ever");
}
