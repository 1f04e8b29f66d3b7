/* The type elastic: clients train independently. In every `period`-th pushpull of a key a client mixes its weights with
 * the centre, which the servers have, asynchronously.
 *
 *   root        pulls the centre      d = alpha (x - centre)   pushes d
 *   client      d from the root       x  <-  x - d
 *   server      answers               centre  <-  centre + d   when d arrives, in a round of its own
 *
 * The root broadcasts the difference, not the centre: every worker subtracts the same bits that the server adds, even
 * if their processors round products differently. So the sum of the centre and all x is preserved, exactly if values
 * are integers and alpha is a power of two; otherwise x and the centre are each rounded once. If a client's root dies
 * before the server has all of d, the server adds nothing.
 *
 * No client waits for another: an answer waits for this client's own differences only, and a difference for the answer
 * before it. While clients times alpha is at most 1, the centre does not pass the clients' mean, even if all have taken
 * their differences from the same centre.
 *
 * Source: Zhang, Choromanska & LeCun 2015, "Deep learning with Elastic Averaging SGD", arXiv:1412.6651, algorithm 1
 * (asynchronous EASGD); with MPI clients: Mamidala et al. 2018, arXiv:1801.03855. */
#include "designs/kv/kv_parts.h"

#include "dag/base/log.h"

#include <stdlib.h>

typedef struct difference {
    int64_t first, count; /* of the key */
    float alpha;
} difference;

static void take_difference(void *arg, void *const buf[])
{
    const difference *d = arg;
    const float *x = (const float *)buf[1] + d->first, *centre = buf[2];
    float *to = buf[0];
    for (int64_t i = 0; i < d->count; i++) to[i] = d->alpha * (x[i] - centre[i]);
}

/* part->pushed = alpha (x - part->value) */
static tutti_status submit_difference(
    const tutti_kv *kv, const tutti_kv_part *part, tutti_handle weights)
{
    difference *d = malloc(sizeof *d);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "tutti_kv_pushpull: no memory for a difference");
    *d = (difference){part->portion.first, part->portion.count, (float)kv->rule.alpha};
    const tutti_datum_task task = {.name = "kv difference",
        .brief = tutti_kv_is_brief(d->count, TUTTI_F32),
        .work = take_difference,
        .arg = d,
        .release = free,
        .count = 3,
        .data = {part->pushed, weights, part->value},
        .mode = {TUTTI_WRITE, TUTTI_READ, TUTTI_READ}};
    tutti_status status = tutti_datum_submit(&task);
    if (status) free(d);
    return status;
}

/* The client's own workers get the difference first: they wait for it. */
static tutti_status exchange_difference(
    tutti_kv *kv, const tutti_kv_key *k, tutti_kv_part *part, tutti_handle weights)
{
    int root = tutti_kv_is_root(kv, part);
    tutti_status status = root ? tutti_kv_request_value(kv, k, part, part->value) : TUTTI_OK;
    part->pushes++;
    if (!status && root) status = submit_difference(kv, part, weights);
    if (!status && kv->pulling)
        status = tutti_broadcast(kv->pulling, part->pushed, k->dtype, part->root);
    return status || !root ? status : tutti_kv_send_push(kv, k, part);
}

/* data -= the differences of all parts */
static void subtract_all(void *arg, void *const buf[])
{
    const tutti_kv_key *k = arg;
    for (int p = 0; p < k->parts; p++) {
        float *x = (float *)buf[0] + k->part[p].portion.first;
        const float *d = buf[p + 1];
        for (int64_t i = 0; i < k->part[p].portion.count; i++) x[i] -= d[i];
    }
}

tutti_status tutti_kv_mix_with_centre(tutti_kv *kv, tutti_kv_key *key, tutti_handle weights)
{
    const tutti_kv_parts_task task = {"kv mix", subtract_all, key, weights, TUTTI_READWRITE, 1};
    tutti_status status = TUTTI_OK;
    if (++key->calls % kv->rule.period) return TUTTI_OK;
    for (int p = 0; p < key->parts && !status; p++)
        status = exchange_difference(kv, key, &key->part[p], weights);
    return status ? status : tutti_kv_submit_parts_task(&task);
}
