#include "collectives/priced.h"

#include "dag/base/log.h"

#include <stdlib.h>

enum { MOST_BYTES = 16 << 20, CANDIDATES = 32 };

/* What has been priced, in a list: a program has few kinds and sizes. */
typedef struct known {
    struct known *next;
    tutti_coll_kind kind;
    int root;
    size_t element;
    int64_t count;
    const tutti_algorithm *best;
} known;

struct tutti_priced {
    tutti_topology topology; /* the given one with these ranks: borrows its arrays */
    int *rank_point;
    const int *host;
    known *known;
};

/* ---- prices ---- */

int tutti_algorithm_candidates(tutti_coll_kind kind, const tutti_algorithm *candidate[], int most)
{
    const tutti_algorithm *tree = tutti_algorithm_find("tree");
    int n = 0;
    for (int i = 0; tutti_algorithms[i] && n < most; i++) {
        const tutti_algorithm *a = tutti_algorithms[i];
        /* most algorithms leave most kinds to the tree's */
        int seen =
            !a->build[kind] || a->chooses || (a != tree && a->build[kind] == tree->build[kind]);
        for (int k = 0; k < n; k++) seen |= candidate[k]->build[kind] == a->build[kind];
        if (!seen) candidate[n++] = a;
    }
    return n;
}

tutti_status tutti_price_choice(const tutti_topology *topology, const int *host,
    const tutti_choice_key *key, int root, const tutti_choice *choice, tutti_sched_price *price)
{
    tutti_sched **ranks = calloc((size_t)key->P, sizeof *ranks);
    tutti_status status =
        ranks ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d schedules", key->P);
    for (int r = 0; !status && r < key->P; r++) {
        const tutti_sched_shape shape = {.kind = key->kind,
            .rank = r,
            .P = key->P,
            .root = root,
            .count = key->count,
            .segment = choice->segment,
            .radix = choice->radix,
            .wide = choice->wide,
            .host = host,
            .in_place = 1};
        status = choice->build(&shape, &ranks[r]);
    }
    if (!status)
        status = tutti_sched_price_of(
            (const tutti_sched *const *)ranks, key->P, key->element, key->element, topology, price);
    for (int r = 0; ranks && r < key->P; r++) tutti_sched_free(ranks[r]);
    free(ranks);
    return status;
}

/* ---- the choice ---- */

tutti_status tutti_priced_new(
    const tutti_topology *topology, int P, const int of[], const int *host, tutti_priced **priced)
{
    if (P > topology->ranks)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%d ranks to price on a topology of %d", P, topology->ranks);
    tutti_priced *p = calloc(1, sizeof *p);
    int *point = malloc((size_t)P * sizeof *point);
    if (!p || !point) {
        free(p);
        free(point);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for prices");
    }
    for (int r = 0; r < P; r++) point[r] = topology->rank_point[of ? of[r] : r];
    p->topology = *topology;
    p->topology.ranks = P;
    p->topology.rank_point = p->rank_point = point;
    p->host = host;
    *priced = p;
    return TUTTI_OK;
}

void tutti_priced_free(tutti_priced *p)
{
    for (known *k = p ? p->known : NULL, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    if (p) free(p->rank_point);
    free(p);
}

static tutti_choice choose_named(const tutti_algorithm *a, const tutti_choice_key *key)
{
    tutti_choice_key named = *key;
    named.radix = a->radix;
    return tutti_coll_choose(a, &named);
}

static tutti_status find_cheapest(
    tutti_priced *p, const tutti_choice_key *key, int root, const tutti_algorithm **best)
{
    const tutti_algorithm *candidate[CANDIDATES];
    const int n = tutti_algorithm_candidates(key->kind, candidate, CANDIDATES);
    double least_s = 0;
    *best = NULL;
    for (int i = 0; i < n; i++) {
        tutti_sched_price price;
        const tutti_choice choice = choose_named(candidate[i], key);
        tutti_status status = tutti_price_choice(&p->topology, p->host, key, root, &choice, &price);
        if (status) return status;
        if (*best && price.time_s >= least_s) continue;
        *best = candidate[i];
        least_s = price.time_s;
    }
    return TUTTI_OK;
}

/* Elements of the next power of two of bytes. */
static int64_t rounded_count(const tutti_choice_key *key)
{
    int64_t bytes = (int64_t)key->element;
    while (bytes < key->count * (int64_t)key->element && bytes < MOST_BYTES) bytes *= 2;
    return bytes / (int64_t)key->element;
}

static int is_priced(const tutti_choice_key *key)
{
    int plain = !key->wide && !key->ordered && !key->whole && key->count > 0 && key->P > 1;
    return plain && (key->kind == TUTTI_ALLREDUCE || key->kind == TUTTI_BROADCAST ||
                        key->kind == TUTTI_REDUCE);
}

tutti_status tutti_priced_choose(
    tutti_priced *p, const tutti_choice_key *key, int root, tutti_choice *choice)
{
    if (!is_priced(key)) {
        *choice = tutti_coll_choose(tutti_algorithm_find(NULL), key);
        return TUTTI_OK;
    }
    tutti_choice_key rounded = *key;
    rounded.count = rounded_count(key);
    known *k = p->known;
    while (k && !(k->kind == key->kind && k->root == root && k->element == key->element &&
                    k->count == rounded.count))
        k = k->next;
    if (!k) {
        k = malloc(sizeof *k);
        if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for prices");
        *k = (known){.next = p->known,
            .kind = key->kind,
            .root = root,
            .element = key->element,
            .count = rounded.count};
        tutti_status status = find_cheapest(p, &rounded, root, &k->best);
        if (status) {
            free(k);
            return status;
        }
        p->known = k;
    }
    *choice = choose_named(k->best, key);
    return TUTTI_OK;
}
