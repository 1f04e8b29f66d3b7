#include "apps/train/finite.h"

#include "apps/session/weights.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- this rank's values ---- */

/* An exponent of all ones means infinity or NaN. */
static int is_finite(const uint32_t *bits, int64_t count)
{
    static const uint32_t exponent = 0x7f800000;
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad |= (bits[i] & exponent) == exponent;
    return !bad;
}

int tutti_finite_block(const float *data, int64_t count)
{
    enum { AT_ONCE = 1024 }; /* compilers vectorise a loop of known length */
    uint32_t bits[AT_ONCE];
    int64_t i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE) {
        memcpy(bits, data + i, sizeof bits);
        if (!is_finite(bits, AT_ONCE)) return 0;
    }
    memcpy(bits, data + i, (size_t)(count - i) * sizeof *bits);
    return is_finite(bits, count - i);
}

/* Ends at a tensor that is not finite, and leaves it in *last. */
static tutti_status look_at(void *ctx, const tutti_tensor *tensor, void *data)
{
    const tutti_tensor **last = ctx;
    *last = tensor;
    return tensor->dtype == TUTTI_F32 &&
                   !tutti_finite_block(data, tutti_shape_count(&tensor->shape))
               ? TUTTI_ERR_KERNEL
               : TUTTI_OK;
}

int tutti_finite_find(const tutti_training_session *session)
{
    int tensors = tutti_weights_count(session), i = 0;
    const tutti_tensor *last = NULL;
    if (!tutti_weights_walk(session, tensors, TUTTI_READ, look_at, &last)) return -1;
    /* A tensor that cannot be read (logged) counts as one that is not finite: it must not be saved. */
    while (i < tensors - 1 && tutti_weights_get(session, i) != last) i++;
    return i;
}

/* ---- all ranks' findings ---- */

/* What is saved: "; FILE has the weights after step 40". */
static const char *kept(const tutti_trainer *s, int64_t saved, char *text, size_t size)
{
    text[0] = '\0';
    if (saved)
        snprintf(text, size, "; %s has the weights after step %" PRId64,
            s->options->checkpoint.file, saved);
    return text;
}

tutti_status tutti_finding_refuse(
    const tutti_trainer *s, int64_t step, int64_t saved, int rank, const tutti_finding *found)
{
    char text[512], who[32] = "on the test images";
    kept(s, saved, text, sizeof text);
    if (rank >= 0) snprintf(who, sizeof who, "on rank %d", rank);
    if (s->session.placement.rank != 0) return TUTTI_ERR_KERNEL;
    if (found->kind == TUTTI_FINDING_WEIGHTS) {
        return tutti_fail(TUTTI_ERR_KERNEL,
            "after step %" PRId64 " the tensor \"%s\" of rank %d holds a value that is not finite, "
            "and is not saved: try a lower --lr%s",
            step, tutti_weights_get(&s->session, (int)found->what)->name, rank, text);
    }
    int after = found->kind == TUTTI_FINDING_AFTER;
    return tutti_fail(TUTTI_ERR_KERNEL,
        "the loss %s step %" PRId64 " is not a finite number %s: try a lower --lr%s",
        after ? "after" : "of", after ? step : found->what, who, text);
}

/* Whether a signal ends the run: one that asks all, or, to each rank, one that asks it alone. */
static int ends_all(int ranks, const tutti_finding all[], const tutti_finding *worst)
{
    int leaving = 0;
    for (int r = 0; r < ranks; r++) leaving += all[r].kind == TUTTI_FINDING_LEAVES;
    return worst->kind == TUTTI_FINDING_SIGNAL || leaving == ranks;
}

tutti_status tutti_finding_agree(
    const tutti_trainer *s, int64_t step, int64_t saved, const tutti_finding *mine, int *signal)
{
    tutti_finding *all = calloc((size_t)s->session.placement.ranks, sizeof *all);
    if (!all)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for what %d ranks found", s->session.placement.ranks);
    tutti_status status = tutti_exchange_call(s->session.exchange, "what the ranks found",
        &(tutti_coll_args){.kind = TUTTI_ALLGATHER,
            .dtype = TUTTI_I64,
            .count = sizeof *mine / sizeof(int64_t),
            .out_of_place = 1,
            .send = mine,
            .recv = all});
    int worst = 0;
    for (int r = 1; r < s->session.placement.ranks && !status; r++)
        if (all[r].kind > all[worst].kind) worst = r;
    if (!status && all[worst].kind > TUTTI_FINDING_SIGNAL)
        status = tutti_finding_refuse(s, step, saved, worst, &all[worst]);
    else if (!status)
        *signal = ends_all(s->session.placement.ranks, all, &all[worst]) ? (int)all[worst].what : 0;
    free(all);
    return status;
}
