#include "tests/deadlock/kv_explore.h"

#include "dag/base/log.h"
#include "tests/deadlock/dice.h"
#include "tests/deadlock/kv_world.h"
#include "tests/deadlock/seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 2048, WHAT = 320 };

static char *describe(const kv_case *c, char *text, size_t size)
{
    snprintf(text, size, "%d workers, %d clients, %d servers, %s, %d keys%s", c->workers,
        c->clients, c->servers, c->type, c->keys, c->copies > 1 ? " in two copies" : "");
    return text;
}

/* ---- random ---- */

/* Some ranks are fast, some slow; servers die soon or late, and who notices does so soon or late. */
typedef struct pace {
    int rank[KV_MOST_RANKS], crash, notice;
} pace;

static void draw_pace(dice *d, pace *p)
{
    for (int r = 0; r < KV_MOST_RANKS; r++) p->rank[r] = 64 * (dice_below(d, 3) ? 8 : 1);
    p->crash = 1 << 3 * dice_below(d, 4);
    p->notice = 1 << 3 * dice_below(d, 4);
}

static int weight_of(const pace *p, const kv_step *step)
{
    return step->kind == KV_STEP_CRASH   ? p->crash
           : step->kind == KV_STEP_BREAK ? p->notice
                                         : p->rank[step->rank];
}

static int draw_step(dice *d, const pace *p, const kv_step list[], int n)
{
    int all = 0, at = 0;
    for (int i = 0; i < n; i++) all += weight_of(p, &list[i]);
    for (int left = dice_below(d, all); (left -= weight_of(p, &list[at])) >= 0;) at++;
    return at;
}

tutti_status kv_explore_random(const kv_case *c, uint64_t seed, explore_result *result)
{
    dice d = {.seed = wire_mix(seed, 21)};
    kv_step list[KV_MOST_STEPS];
    kv_world *w;
    char what[WHAT], text[128];
    pace p;
    tutti_status status = kv_world_open(c, &w);
    if (status) return status;
    draw_pace(&d, &p);
    for (int n; (n = kv_world_list(w, list));) kv_world_take(w, &list[draw_step(&d, &p, list, n)]);
    world_verdict verdict = kv_world_oracle(w, what, sizeof what);
    if (explore_ledger(result, verdict)) {
        result->first_bad_seed = seed;
        snprintf(result->what, sizeof result->what, "%s: %s (%s; seed %llu)",
            world_verdict_name(verdict), what, describe(c, text, sizeof text),
            (unsigned long long)seed);
    }
    kv_world_close(w);
    return TUTTI_OK;
}

/* ---- all ---- */

typedef struct search {
    const kv_case *c;
    kv_world *world;
    seen_states seen;
    int prepared, depth, fixed;
    int taken[MOST_DEPTH], offered[MOST_DEPTH];
} search;

/* Takes what makes no difference; what is left are choices. Returns how many. */
static int settle(kv_world *w, kv_step list[])
{
    for (;;) {
        int n = kv_world_list(w, list), choices = 0, moved = 0;
        for (int i = 0; i < n && !moved; i++) {
            moved = !kv_world_matters(w, &list[i]);
            if (moved)
                kv_world_take(w, &list[i]);
            else
                list[choices++] = list[i];
        }
        if (!moved) return choices;
    }
}

/* All make their keys, and have the first values, before there is a choice. */
static void prepare(kv_world *w)
{
    kv_step list[KV_MOST_STEPS];
    for (int n, i = 0; i < (n = kv_world_list(w, list));) {
        if (kv_world_prepares(w, &list[i])) {
            kv_world_take(w, &list[i]);
            i = 0;
        } else {
            i++;
        }
    }
}

/* 1: at the end, 0: cut, -1: no memory. */
static int follow(search *s)
{
    kv_step list[KV_MOST_STEPS];
    for (s->depth = 0; s->depth < MOST_DEPTH; s->depth++) {
        int n = settle(s->world, list), is_new = s->depth >= s->fixed;
        if (is_new) {
            int fresh = seen_add(&s->seen, kv_world_state(s->world));
            if (fresh <= 0) return fresh;
            s->taken[s->depth] = 0;
            s->offered[s->depth] = n;
        }
        if (!n) return 1;
        kv_world_take(s->world, &list[s->taken[s->depth]]);
    }
    return 0;
}

static int next(search *s)
{
    int d = s->depth < MOST_DEPTH ? s->depth : MOST_DEPTH - 1;
    while (d >= 0 && (d >= s->depth || s->taken[d] + 1 >= s->offered[d])) d--;
    if (d < 0) return 0;
    s->taken[d]++;
    s->fixed = d + 1;
    return 1;
}

static tutti_status one_schedule(search *s, explore_result *result)
{
    char what[WHAT], text[128];
    tutti_status status = kv_world_open(s->c, &s->world);
    if (status) return status;
    if (s->prepared) prepare(s->world);
    int ended = follow(s);
    if (ended > 0) {
        world_verdict verdict = kv_world_oracle(s->world, what, sizeof what);
        if (explore_ledger(result, verdict))
            snprintf(result->what, sizeof result->what, "%s: %s (%s; %d choices)",
                world_verdict_name(verdict), what, describe(s->c, text, sizeof text), s->depth);
    } else {
        result->schedules++;
    }
    kv_world_close(s->world);
    return ended < 0 ? tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory for states") : TUTTI_OK;
}

static tutti_status explore_every(
    const kv_case *c, const explore_options *options, explore_result *result)
{
    search *s = calloc(1, sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
    s->c = c;
    s->prepared = options->prepared;
    tutti_status status = TUTTI_OK;
    int more = 1;
    for (int64_t done = 0; more && !status && done < options->most; done++) {
        status = one_schedule(s, result);
        more = next(s);
    }
    result->cut |= more;
    result->states += (int64_t)s->seen.used;
    free(s->seen.slot);
    free(s);
    return status;
}

tutti_status kv_explore(const kv_case *c, const explore_options *options, explore_result *result)
{
    tutti_status status = TUTTI_OK;
    *result = (explore_result){0};
    if (options->exhaustive) return explore_every(c, options, result);
    for (uint64_t s = options->seed; !status && result->schedules < options->most; s++)
        status = kv_explore_random(c, s, result);
    return status;
}

/* ---- drawing cases ---- */

static void call(kv_case *c, int rank, kv_call_kind kind, int key, int after)
{
    if (c->calls[rank] < KV_MOST_CALLS)
        c->call[rank][c->calls[rank]++] = (kv_call){.kind = kind, .key = key, .after = after};
}

/* Every key is pushed, and pulled, in any order; what is pushed may wait for what was pulled in a
 * round before. */
static void draw_round(dice *d, kv_case *c, int rank, int round)
{
    int pushed[KV_MOST_KEYS] = {0}, pulled[KV_MOST_KEYS] = {0};
    for (int left = 2 * c->keys; left; left--) {
        int at = dice_below(d, 2 * c->keys);
        while (at % 2 ? pulled[at / 2] : pushed[at / 2]) at = (at + 1) % (2 * c->keys);
        int key = at / 2, after = dice_below(d, c->keys);
        if (at % 2) {
            call(c, rank, KV_PULL, key, -1);
            pulled[key] = 1;
        } else {
            call(c, rank, KV_PUSH, key, round && !pulled[after] && dice_below(d, 2) ? after : -1);
            pushed[key] = 1;
        }
    }
}

static void draw_program(dice *d, kv_case *c, int rank, int rounds, int dies)
{
    for (int r = 0; r < rounds; r++) draw_round(d, c, rank, r);
    if (!dies) return;
    int at = dice_below(d, c->calls[rank] + 1);
    c->calls[rank] = at;
    call(c, rank, KV_DIE, 0, -1);
    if (dice_below(d, 2)) return;
    call(c, rank, KV_RETURN, 0, -1);
    draw_round(d, c, rank, 0);
}

static void draw_type(dice *d, kv_case *c)
{
    static const char *const types[] = {"sync", "async", "bounded:0", "bounded:1", "bounded:2"};
    snprintf(c->type, sizeof c->type, "%s", types[dice_below(d, sizeof types / sizeof *types)]);
    tutti_consistency_read(c->type, &c->rule);
}

/* One server may die, or two that have no key in common. */
static void draw_copies(dice *d, kv_case *c)
{
    c->copies = 2;
    c->servers = 2 + dice_below(d, 3);
    int first = dice_below(d, c->servers), deaths = dice_below(d, 4);
    if (deaths) call(c, c->workers + first, KV_DIE, 0, -1);
    if (deaths > 1 && c->servers == 4) call(c, c->workers + (first + 2) % 4, KV_DIE, 0, -1);
}

void kv_draw(uint64_t seed, kv_case *c)
{
    dice d = {.seed = wire_mix(seed, 20)};
    int size = dice_below(&d, 4) ? 1 : 2;
    *c = (kv_case){.servers = 1 + dice_below(&d, 2),
        .copies = 1,
        .clients = 1 + dice_below(&d, 4),
        .keys = 1 + dice_below(&d, 3)};
    c->workers = c->clients * size;
    draw_type(&d, c);
    for (int k = 0; k < c->keys; k++) {
        snprintf(c->key[k], sizeof c->key[k], "%c", 'a' + k);
        c->count[k] = dice_below(&d, 3) ? 1 + dice_below(&d, 12) : TUTTI_KV_CUT + dice_below(&d, 5);
    }
    int mortal = c->rule.type != TUTTI_KV_SYNC && dice_below(&d, 2);
    int meets = dice_below(&d, 2) && !mortal, rounds = 1 + dice_below(&d, 3);
    for (int client = 0; client < c->clients; client++) {
        int first = client * size;
        /* Who meets has pushed as often as the others: while it waits for them it has not left. */
        draw_program(&d, c, first, meets ? rounds : dice_below(&d, 4),
            mortal && client && dice_below(&d, 2));
        if (meets) call(c, first, KV_MEET, 0, -1);
        for (int r = first + 1; r < first + size; r++) {
            c->calls[r] = c->calls[first];
            memcpy(c->call[r], c->call[first], sizeof c->call[r]);
        }
    }
    if (c->rule.type == TUTTI_KV_SYNC && dice_below(&d, 4)) draw_copies(&d, c);
}
