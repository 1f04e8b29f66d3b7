#include "tests/deadlock/kv_world_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <string.h>

typedef struct heard {
    char *text;
    size_t size;
} heard;

static void remember(void *ctx, tutti_log_level level, const char *sentence)
{
    heard *h = ctx;
    if (level <= TUTTI_LOG_WARN && !h->text[0]) snprintf(h->text, h->size, "%s", sentence);
}

/* What the servers say after 5 s. */
static void ask_servers(kv_world *w, char *what, size_t size)
{
    static const double waited_s = 5;
    heard h = {what, size};
    tutti_log_set_level(TUTTI_LOG_WARN);
    tutti_log_to(remember, &h);
    for (int r = w->c->workers; r < w->ranks; r++) {
        tutti_server *s = w->rank[r].server;
        if (w->rank[r].state == DEAD) continue;
        ground_enter(w->ground, r);
        for (int slot = 0; slot < s->keys; slot++)
            for (int client = 0; s->key[slot].of && client < s->clients; client++)
                for (tutti_pull *p = s->key[slot].of[client].pulls; p; p = p->next)
                    p->since_s = p->reported_s = tutti_clock_s() - waited_s;
        tutti_server_report_waiting(s);
    }
    tutti_log_to(NULL, NULL);
    tutti_log_set_level(TUTTI_LOG_ERROR); /* of explorers */
}

static void name_hang(kv_world *w, char *what, size_t size)
{
    what[0] = '\0';
    ask_servers(w, what, size);
    for (int r = 0; r < w->ranks && !what[0]; r++)
        if (!kv_world_is_over(w, r))
            snprintf(what, size, "rank %d waits for ever%s", r,
                w->rank[r].state == MEETING ? " for the others to meet it" : "");
}

static int has_ended(const kv_world *w)
{
    for (int r = 0; r < w->ranks; r++)
        if (!kv_world_is_over(w, r)) return 0;
    return 1;
}

/* The value of a part in the end, on one of its servers; NULL: it does not know the part, or has died. */
static const float *find_part(const kv_world *w, const tutti_portion *of, int copy)
{
    const kv_rank *k = &w->rank[w->c->workers + (copy ? of->second : of->server)];
    int slot = copy ? of->second_slot : of->slot;
    int knows = k->state != DEAD && tutti_server_knows(k->server, slot);
    return knows ? ground_memory(k->server->key[slot].value) : NULL;
}

/* The value of a key in the end, from its parts on the servers: this copy, or the other where that is gone. */
static int gather_key(const kv_world *w, tutti_portions *portions, int key, int copy, float value[])
{
    tutti_portion of;
    int64_t count = w->count[key];
    int parts = tutti_portions_parts(portions, count), all = 1;
    for (int64_t e = 0; e < count; e++) value[e] = -1;
    for (int p = 0; p < parts; p++) {
        tutti_portions_partition(portions, count, sizeof *value, parts, p, &of);
        const float *part = find_part(w, &of, copy);
        if (!part && w->c->copies > 1) part = find_part(w, &of, !copy);
        if (part) memcpy(value + of.first, part, (size_t)of.count * sizeof *value);
        all &= part != NULL;
    }
    return all;
}

static world_verdict check_copy(const kv_world *w, int copy, char *what, size_t size)
{
    tutti_portions portions;
    float value[2 * CUT];
    if (tutti_portions_open(w->c->servers, CUT, &portions)) return WORLD_ERROR;
    portions.copies = w->c->copies;
    world_verdict verdict = WORLD_RIGHT;
    for (int key = 0; key < w->c->keys && !verdict; key++)
        if (gather_key(w, &portions, key, copy, value) &&
            kv_case_differs(w->c, 0, key, 0, 1, value, w->count[key], what, size))
            verdict = WORLD_WRONG;
    tutti_portions_close(&portions);
    return verdict;
}

static world_verdict check_servers(const kv_world *w, char *what, size_t size)
{
    world_verdict verdict = WORLD_RIGHT;
    for (int copy = 0; copy < w->c->copies && !verdict; copy++)
        verdict = check_copy(w, copy, what, size);
    return verdict;
}

/* Whether a run, so far, has gone wrong for a rank: a sentence in `what`. */
static world_verdict check_ends(const kv_world *w, char *what, size_t size)
{
    for (int r = 0; r < w->ranks; r++) {
        if (!w->rank[r].status) continue;
        snprintf(what, size, "rank %d: %s", r,
            r < w->c->workers && w->rank[r].kv && w->rank[r].kv->inbox.why[0]
                ? w->rank[r].kv->inbox.why
                : tutti_status_text(w->rank[r].status));
        return w->rank[r].status == TUTTI_ERR_MISMATCH ? WORLD_MISMATCH : WORLD_ERROR;
    }
    return WORLD_RIGHT;
}

static world_verdict check_pulls(const kv_world *w, char *what, size_t size)
{
    for (int r = 0; r < w->c->workers; r++)
        for (int i = 0; i < w->rank[r].pulls; i++) {
            const pulled *p = &w->rank[r].pull[i];
            int lost = ground_is_lost(p->data);
            if (lost && w->rank[r].status)
                continue; /* who waits for it hears that the run has failed */
            if (lost) {
                snprintf(what, size, "a pull of rank %d has not come, and nobody hears of it", r);
                return WORLD_WRONG;
            }
            if (kv_case_differs(w->c, kv_case_client(w->c, r), p->key, p->pushes, 0,
                    ground_memory(p->data), w->count[p->key], what, size))
                return WORLD_WRONG;
        }
    return WORLD_RIGHT;
}

world_verdict kv_world_oracle(kv_world *w, char *what, size_t size)
{
    what[0] = '\0';
    if (ground_mismatch(w->ground)[0]) {
        snprintf(what, size, "%s", ground_mismatch(w->ground));
        return WORLD_MISMATCH;
    }
    if (!has_ended(w)) {
        name_hang(w, what, size);
        return WORLD_HANG;
    }
    world_verdict pulls = check_pulls(w, what, size);
    world_verdict verdict = pulls ? pulls : check_ends(w, what, size);
    return verdict ? verdict : check_servers(w, what, size);
}
