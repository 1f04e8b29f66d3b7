#include "designs/thread/rendezvous.h"

#include "dag/base/log.h"
#include "dag/run/latch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WAITED_FOR, ARRIVED, LEFT };

struct tutti_rendezvous {
    tutti_token token; /* first member */
    tutti_latch arrived;
    atomic_int state; /* the token's end and the waiting thread's leave: the second one frees it */
    tutti_coll_args args;
    size_t recv_bytes;
    _Alignas(64) char memory[]; /* recv, then send */
};

static void free_it(tutti_rendezvous *r)
{
    tutti_latch_destroy(&r->arrived);
    free(r);
}

static void finish_token(tutti_token *token, tutti_status status)
{
    tutti_rendezvous *r = (tutti_rendezvous *)token;
    if (atomic_exchange(&r->state, ARRIVED) == LEFT)
        free_it(r);
    else
        tutti_latch_open(&r->arrived, status);
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

tutti_status tutti_rendezvous_new(
    const tutti_coll_args *args, int ranks, tutti_rendezvous **rendezvous)
{
    if (tutti_coll_trait_of(args->kind)->parts && args->kind != TUTTI_ALLGATHER)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "the main thread cannot wait for this collective: %s",
            tutti_coll_kind_name(args->kind));
    int known = (unsigned)args->dtype < TUTTI_DTYPE_COUNT;
    size_t element = known && args->kind != TUTTI_BARRIER ? tutti_dtype_bytes(args->dtype) : 0;
    size_t count = args->count > 0 ? (size_t)args->count : 0, bytes = 0;
    if (__builtin_mul_overflow(count, element * 2 * (size_t)ranks, &bytes))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "a collective of %zu elements on %d ranks: too many bytes", count, ranks);
    bytes = count * element;
    size_t recv = args->kind == TUTTI_ALLGATHER ? bytes * (size_t)ranks : bytes;
    size_t send = args->out_of_place && args->send ? bytes : 0;
    tutti_rendezvous *r = aligned_alloc(64, round_up(sizeof *r + round_up(recv) + send));
    if (!r) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a collective of %zu bytes", recv);
    r->token.finish = finish_token;
    tutti_latch_init(&r->arrived);
    atomic_init(&r->state, WAITED_FOR);
    r->args = *args;
    r->recv_bytes = args->recv ? recv : 0;
    if (r->recv_bytes && !send) memcpy(r->memory, args->recv, recv);
    if (args->recv) r->args.recv = r->memory;
    if (send) r->args.send = memcpy(r->memory + round_up(recv), args->send, send);
    *rendezvous = r;
    return TUTTI_OK;
}

const tutti_coll_args *tutti_rendezvous_args(const tutti_rendezvous *rendezvous)
{
    return &rendezvous->args;
}

tutti_token *tutti_rendezvous_token(tutti_rendezvous *rendezvous)
{
    return &rendezvous->token;
}

int tutti_rendezvous_arrived(tutti_rendezvous *rendezvous, double timeout_s)
{
    return tutti_latch_wait(&rendezvous->arrived, timeout_s);
}

tutti_status tutti_rendezvous_take(tutti_rendezvous *rendezvous, const tutti_coll_args *args)
{
    const tutti_rendezvous *r = rendezvous;
    tutti_status status = r->arrived.status;
    if (!status && r->recv_bytes) memcpy(args->recv, r->memory, r->recv_bytes);
    return status;
}

/* If the token is being finished right now, the latch opens in a moment: wait for that. */
void tutti_rendezvous_leave(tutti_rendezvous *rendezvous, int given)
{
    tutti_rendezvous *r = rendezvous;
    if (!r || (given && atomic_exchange(&r->state, LEFT) == WAITED_FOR)) return;
    while (given && !tutti_latch_wait(&r->arrived, 1)) continue;
    free_it(r);
}
