#include "tests/deadlock/kv_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kv_call_words[] = {[KV_PUSH] = "push",
    [KV_PULL] = "pull",
    [KV_MEET] = "meet",
    [KV_LEAVE] = "leave",
    [KV_DIE] = "die",
    [KV_RETURN] = "return",
    NULL};

int kv_case_client_size(const kv_case *kv)
{
    return kv->workers / kv->clients;
}

int kv_case_client(const kv_case *kv, int rank)
{
    return rank / kv_case_client_size(kv);
}

int kv_case_calls(const kv_case *kv, int rank, kv_call_kind kind, int key)
{
    int n = 0;
    for (int i = 0; i < kv->calls[rank]; i++)
        n += kv->call[rank][i].kind == kind && (kind != KV_PUSH || kv->call[rank][i].key == key);
    return n;
}

int kv_case_is_mortal(const kv_case *kv)
{
    int n = 0;
    for (int r = 0; r < kv->workers; r++) n += kv_case_calls(kv, r, KV_DIE, 0);
    return n > 0;
}

int kv_case_crashes(const kv_case *kv, int server)
{
    return kv_case_calls(kv, kv->workers + server, KV_DIE, 0) > 0;
}

int kv_case_loses_keys(const kv_case *kv, int *server, int *other)
{
    for (int s = 0; s < kv->servers; s++) {
        int next = (s + 1) % kv->servers, two = kv->copies > 1;
        if (!kv_case_crashes(kv, s) || (two && !kv_case_crashes(kv, next))) continue;
        *server = s;
        *other = two ? next : -1;
        return 1;
    }
    return 0;
}

int kv_case_has_jobs(const kv_case *kv)
{
    int crashes = 0;
    for (int s = 0; s < kv->servers; s++) crashes += kv_case_crashes(kv, s);
    return kv->copies > 1 || crashes || kv_case_is_mortal(kv);
}

/* ---- the language ---- */

static tutti_status read_serve_detail(case_words *words, const char *word, kv_case *kv)
{
    if (!strcmp(word, "clients"))
        return case_read_int(words, "clients", 1, KV_MOST_CLIENTS, &kv->clients);
    if (!strcmp(word, "copies")) return case_read_int(words, "copies", 1, 2, &kv->copies);
    kv->one_group |= !strcmp(word, "one-group");
    return !strcmp(word, "one-group")
               ? TUTTI_OK
               : case_refuse(
                     words, "serve: '%.40s' is not known; known: clients, copies, one-group", word);
}

/* As tutti_kv_open does. */
static tutti_status check_copies(const case_words *words, const kv_case *kv)
{
    if (kv->copies == 1 || (kv->servers > 1 && kv->rule.type == TUTTI_KV_SYNC)) return TUTTI_OK;
    return case_refuse(words, "serve: two copies of keys take two servers, and sync");
}

tutti_status kv_case_read_serve(case_words *words, int ranks, kv_case *kv)
{
    const char *word;
    if (kv->servers) return case_refuse(words, "serve: given twice");
    tutti_status status = case_read_int(words, "serve", 1, ranks - 1, &kv->servers);
    if (status) return status;
    kv->copies = 1;
    kv->workers = kv->clients = ranks - kv->servers;
    word = case_next_word(words);
    if (!word || strlen(word) >= sizeof kv->type || tutti_consistency_read(word, &kv->rule))
        return case_refuse(words, "serve: a type is missing: sync, async or bounded:S");
    strcpy(kv->type, word);
    while (!status && (word = case_next_word(words))) status = read_serve_detail(words, word, kv);
    if (status) return status;
    if (kv->clients > KV_MOST_CLIENTS || kv->workers % kv->clients)
        return case_refuse(words,
            "serve: %d workers cannot be %d clients of equal size, at most %d", kv->workers,
            kv->clients, KV_MOST_CLIENTS);
    return check_copies(words, kv);
}

static int find_key(const kv_case *kv, const char *name)
{
    for (int k = 0; k < kv->keys; k++)
        if (!strcmp(kv->key[k], name)) return k;
    return -1;
}

tutti_status kv_case_read_key(case_words *words, kv_case *kv)
{
    enum { MOST_COUNT = 1 << 20 };
    const char *name;
    int count;
    tutti_status status = case_read_name(words, "key", KV_NAME - 1, &name);
    if (status) return status;
    if (kv->keys == KV_MOST_KEYS) return case_refuse(words, "more than %d keys", KV_MOST_KEYS);
    if (find_key(kv, name) >= 0) return case_refuse(words, "key: '%s' again", name);
    strcpy(kv->key[kv->keys], name);
    status = case_read_int(words, "count", 1, MOST_COUNT, &count);
    if (!status) kv->count[kv->keys++] = count;
    return status;
}

static tutti_status read_known_key(case_words *words, const kv_case *kv, const char *what, int *key)
{
    const char *name;
    tutti_status status = case_read_name(words, what, KV_NAME - 1, &name);
    if (status) return status;
    *key = find_key(kv, name);
    return *key >= 0 ? TUTTI_OK : case_refuse(words, "%s: no key '%s' stands above", what, name);
}

static int has_pulled(const kv_case *kv, int rank, int key)
{
    int pulled = 0;
    for (int i = 0; i < kv->calls[rank]; i++) {
        const kv_call *c = &kv->call[rank][i];
        pulled = c->kind != KV_RETURN && (pulled || (c->kind == KV_PULL && c->key == key));
    }
    return pulled;
}

/* Behind `leave` there is nothing; behind `die` nothing but `return`. A server dies once, and does nothing else. */
static tutti_status may_follow(
    const case_words *words, const kv_case *kv, int rank, const kv_call *call)
{
    const kv_call *last = kv->calls[rank] ? &kv->call[rank][kv->calls[rank] - 1] : NULL;
    int gone = last && (last->kind == KV_LEAVE || last->kind == KV_DIE);
    if (rank >= kv->workers && (call->kind != KV_DIE || last))
        return case_refuse(words, "rank %d serves: it makes no calls, but dies, once", rank);
    if (call->kind == KV_RETURN)
        return last && last->kind == KV_DIE
                   ? TUTTI_OK
                   : case_refuse(words, "return: rank %d has not died", rank);
    if (gone) return case_refuse(words, "rank %d is gone by now", rank);
    if (call->after >= 0 && !has_pulled(kv, rank, call->after))
        return case_refuse(words, "after: rank %d has not pulled '%s'", rank, kv->key[call->after]);
    if (kv->calls[rank] == KV_MOST_CALLS)
        return case_refuse(words, "rank %d makes more than %d calls", rank, KV_MOST_CALLS);
    return TUTTI_OK;
}

tutti_status kv_case_read_call(
    case_words *words, kv_case *kv, kv_call_kind kind, const int on[KV_MOST_RANKS])
{
    kv_call call = {.kind = kind, .after = -1};
    const char *word;
    tutti_status status = TUTTI_OK;
    if (!kv->servers)
        return case_refuse(words, "%s: 'serve N TYPE' stands above it", kv_call_words[kind]);
    if (kind == KV_PUSH || kind == KV_PULL)
        status = read_known_key(words, kv, kv_call_words[kind], &call.key);
    if (!status && kind == KV_PUSH && (word = case_next_word(words)))
        status = strcmp(word, "after")
                     ? case_refuse(words, "push: '%.40s' is not known; known: after", word)
                     : read_known_key(words, kv, "after", &call.after);
    for (int rank = 0; rank < KV_MOST_RANKS && !status; rank++) {
        if (!on[rank]) continue;
        status = may_follow(words, kv, rank, &call);
        if (!status) kv->call[rank][kv->calls[rank]++] = call;
    }
    return status;
}

static tutti_status repeat(const case_words *words, kv_case *kv, int rank, int steps)
{
    int n = kv->calls[rank];
    const kv_call *last = n ? &kv->call[rank][n - 1] : NULL;
    if (steps == 1 || !n) return TUTTI_OK;
    if (steps < 1 || last->kind == KV_LEAVE || kv_case_calls(kv, rank, KV_DIE, 0) ||
        n * steps > KV_MOST_CALLS)
        return case_refuse(words,
            "steps: rank %d cannot repeat its %d calls %d times (at most %d in all; who leaves or "
            "dies does it once)",
            rank, n, steps, KV_MOST_CALLS);
    for (int s = 1; s < steps; s++)
        memcpy(&kv->call[rank][s * n], kv->call[rank], (size_t)n * sizeof(kv_call));
    kv->calls[rank] = n * steps;
    return TUTTI_OK;
}

static tutti_status check_pushes(const case_words *words, const kv_case *kv, int rank)
{
    for (int k = 0; k < kv->keys; k++)
        if (kv_case_calls(kv, rank, KV_PUSH, k) > KV_MOST_PUSHES)
            return case_refuse(
                words, "rank %d pushes '%s' more than %d times", rank, kv->key[k], KV_MOST_PUSHES);
    return TUTTI_OK;
}

tutti_status kv_case_finish(const case_words *words, const int steps[KV_MOST_RANKS], kv_case *kv)
{
    tutti_status status = TUTTI_OK;
    int calls = 0;
    for (int rank = 0; rank < kv->workers && !status; rank++) {
        status = repeat(words, kv, rank, steps[rank]);
        if (!status) status = check_pushes(words, kv, rank);
        calls += kv->calls[rank];
    }
    return !status && !calls ? case_refuse(words, "no rank pushes or pulls a key") : status;
}

/* ---- values ---- */

enum { DIGIT = 16 };

static int rounds_off(const kv_case *kv, int64_t e)
{
    return kv->rule.type == TUTTI_KV_SYNC && e % 2 == 1;
}

static int place_of(const kv_case *kv, int client, int64_t e)
{
    return (int)((client + e) % kv->clients);
}

/* What all workers of a client push together. */
static float client_pushes(const kv_case *kv, int client, int64_t e)
{
    static const float rounding[] = {1 << 24, 1, -(1 << 24)};
    float digit = 1;
    if (rounds_off(kv, e)) return rounding[client % 3];
    for (int i = place_of(kv, client, e); i; i--) digit *= DIGIT;
    return digit;
}

/* The first worker has what the others lack. */
float kv_case_pushes(const kv_case *kv, int rank, int64_t e)
{
    int size = kv_case_client_size(kv), worker = rank % size;
    if (rounds_off(kv, e)) return worker ? 0 : client_pushes(kv, rank / size, e);
    return worker ? (float)worker
                  : client_pushes(kv, rank / size, e) - (float)(size * (size - 1) / 2);
}

static int pushes_of(const kv_case *kv, int client, int key)
{
    return kv_case_calls(kv, client * kv_case_client_size(kv), KV_PUSH, key);
}

static int dies(const kv_case *kv, int client)
{
    return kv_case_calls(kv, client * kv_case_client_size(kv), KV_DIE, 0) > 0;
}

/* A value of sync after so many rounds, added as a server adds. */
static float after_rounds(const kv_case *kv, int key, int rounds, int64_t e)
{
    float value = 0;
    for (int r = 1; r <= rounds; r++) {
        float sum = 0;
        int any = 0;
        for (int c = 0; c < kv->clients; c++) {
            if (pushes_of(kv, c, key) < r) continue;
            sum = any ? sum + client_pushes(kv, c, e) : client_pushes(kv, c, e);
            any = 1;
        }
        value += sum;
    }
    return value;
}

static int is_after_rounds(
    const kv_case *kv, int key, int rounds, const float value[], int64_t count)
{
    for (int64_t e = 0; e < count; e++)
        if (value[e] != after_rounds(kv, key, rounds, e)) return 0;
    return 1;
}

/* The rounds that its own client has pushed for, and none beyond. */
static int differs_in_sync(const kv_case *kv, int client, int key, int pushes, int whole,
    const float value[], int64_t count, char *what, size_t size)
{
    int rounds = pushes;
    for (int c = 0; c < kv->clients && whole; c++)
        if (pushes_of(kv, c, key) > rounds) rounds = pushes_of(kv, c, key);
    if (is_after_rounds(kv, key, rounds, value, count)) return 0;
    snprintf(what, size,
        "client %d does not have '%s' as %d rounds in the order of clients leave it", client,
        kv->key[key], rounds);
    return 1;
}

/* How often each client's push is in an element; returns 0 if it is no such sum. */
static int read_digits(const kv_case *kv, float value, int64_t e, int times[])
{
    int64_t rest = (int64_t)value;
    int digit[KV_MOST_CLIENTS];
    if (value < 0 || (float)rest != value) return 0;
    for (int i = 0; i < kv->clients; i++, rest /= DIGIT) digit[i] = (int)(rest % DIGIT);
    for (int c = 0; c < kv->clients; c++) times[c] = digit[place_of(kv, c, e)];
    return !rest;
}

/* Of a client, so many pushes must be in a value at least; all of it, or the bound. */
static int least_of(const kv_case *kv, int c, int client, int key, int pushes, int whole)
{
    int all = pushes_of(kv, c, key), mortal = kv_case_is_mortal(kv);
    int64_t bound = pushes - kv->rule.bound;
    if (whole) return dies(kv, c) ? 0 : all;
    if (c == client) return pushes;
    if (kv->rule.type != TUTTI_KV_BOUNDED || mortal || bound < 0) return 0;
    return bound < all ? (int)bound : all;
}

int kv_case_differs(const kv_case *kv, int client, int key, int pushes, int whole,
    const float value[], int64_t count, char *what, size_t size)
{
    int times[KV_MOST_CLIENTS];
    if (kv->rule.type == TUTTI_KV_SYNC)
        return differs_in_sync(kv, client, key, pushes, whole, value, count, what, size);
    for (int64_t e = 0; e < count; e++) {
        if (!read_digits(kv, value[e], e, times)) {
            snprintf(what, size, "'%s' [%lld] is %g, no sum of whole pushes", kv->key[key],
                (long long)e, (double)value[e]);
            return 1;
        }
        for (int c = 0; c < kv->clients; c++) {
            int least = least_of(kv, c, client, key, pushes, whole), most = pushes_of(kv, c, key);
            if (times[c] >= least && times[c] <= most) continue;
            snprintf(what, size, "%s %d: '%s' [%lld] has %d pushes of client %d, not %d to %d",
                whole ? "in the end, from client" : "a pull of client", client, kv->key[key],
                (long long)e, times[c], c, least, most);
            return 1;
        }
    }
    return 0;
}
