#include "collectives/check_args.h"

#include "collectives/transport/transport.h"
#include "dag/base/log.h"

static tutti_status check_operator(const tutti_coll_args *a)
{
    int own = a->op >= TUTTI_USER_OP && a->op < TUTTI_USER_OPS_END && a->user && a->user->function;
    const char *kind = tutti_coll_kind_name(a->kind);
    if ((unsigned)a->dtype >= TUTTI_DTYPE_COUNT)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: unknown element type %d", kind, (int)a->dtype);
    if (a->kind == TUTTI_REDUCE_SCATTER && tutti_coll_is_whole(a))
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s: the operator %s takes whole vectors, which are not divided into blocks", kind,
            a->user->name);
    if (!tutti_coll_trait_of(a->kind)->reduces || own) return TUTTI_OK;
    if (!tutti_reduce_op_takes(a->op, a->dtype) || a->user)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the operator %s (%d) does not apply to %s", kind,
            tutti_reduce_op_name(a->op), (int)a->op, tutti_dtype_name(a->dtype));
    return TUTTI_OK;
}

/* Checks the counts of parts. *all: the elements of a buffer with all parts, or count without
 * counts. */
static tutti_status check_counts(const tutti_coll_args *a, int rank, int P, int64_t *all)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    int64_t sum[2] = {0, 0};
    *all = a->count;
    if (!a->counts) return TUTTI_OK;
    if (!tutti_coll_trait_of(a->kind)->parts)
        return tutti_fail(TUTTI_ERR_INVAL, "%s has no parts: it takes no counts", kind);
    for (int i = 0; i < tutti_coll_counts(a, P); i++)
        if (a->counts[i] < 0 || __builtin_add_overflow(sum[i / P], a->counts[i], &sum[i / P]))
            return tutti_fail(
                TUTTI_ERR_INVAL, "%s: count %d is %lld", kind, i, (long long)a->counts[i]);
    int64_t wanted = a->kind == TUTTI_ALLTOALL ? 0 : sum[0];
    if (a->count != wanted)
        return tutti_fail(TUTTI_ERR_INVAL, "%s: the counts add up to %lld, but count is %lld", kind,
            (long long)wanted, (long long)a->count);
    if (a->kind == TUTTI_ALLTOALL && !a->out_of_place && (sum[0] || sum[1]))
        return tutti_fail(TUTTI_ERR_INVAL, "alltoall with counts cannot work in place");
    if (a->kind == TUTTI_ALLTOALL && a->counts[rank] != a->counts[P + rank])
        return tutti_fail(TUTTI_ERR_INVAL,
            "alltoall: rank %d sends itself %lld elements but receives %lld", rank,
            (long long)a->counts[rank], (long long)a->counts[P + rank]);
    *all = sum[0] > sum[1] ? sum[0] : sum[1];
    return TUTTI_OK;
}

static tutti_status check_extras(const tutti_coll_args *a)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    if (a->extras < 0 || a->extras > TUTTI_MOST_EXTRAS)
        return tutti_fail(TUTTI_ERR_INVAL, "%s of %d extra vectors: must be 0 to %d", kind,
            a->extras, TUTTI_MOST_EXTRAS);
    if (a->extras && !tutti_coll_trait_of(a->kind)->reduces)
        return tutti_fail(TUTTI_ERR_INVAL, "%s does not reduce: it takes no extra vectors", kind);
    if (a->extras && a->memory == TUTTI_MEMORY_DEVICE)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "%s of %d vectors in the memory of a GPU: combine them first", kind, a->extras + 1);
    for (int k = 0; k < a->extras && a->count; k++)
        if (!a->extra[k])
            return tutti_fail(TUTTI_ERR_INVAL, "%s: extra vector %d has no buffer", kind, k);
    return TUTTI_OK;
}

/* Checks that the device can combine elements with this operator. */
static tutti_status check_device(const tutti_transport *t, const tutti_coll_args *a)
{
    const tutti_arithmetic *there = t->arithmetic;
    if (!there || !tutti_coll_trait_of(a->kind)->reduces) return TUTTI_OK;
    if (!a->user && there->ops->combines(there, a->dtype, a->op)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: the operator %s of %s in the memory of a GPU",
        tutti_coll_kind_name(a->kind), tutti_coll_op_name(a), tutti_dtype_name(a->dtype));
}

tutti_status tutti_coll_check_args(const tutti_transport *t, const tutti_coll_args *a)
{
    int rank = t->rank, P = t->size;
    if ((unsigned)a->kind >= TUTTI_COLL_KINDS)
        return tutti_fail(TUTTI_ERR_INVAL, "unknown kind of collective: %d", (int)a->kind);
    if (a->kind == TUTTI_BARRIER) return TUTTI_OK;
    const char *kind = tutti_coll_kind_name(a->kind);
    if (a->kind == TUTTI_MESSAGE && P != 2)
        return tutti_fail(TUTTI_ERR_INVAL, "a message between %d ranks: must be 2", P);
    if (a->memory == TUTTI_MEMORY_DEVICE && !tutti_transport_takes_device(t))
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "%s in the memory of a GPU, which the transport %s cannot reach", kind, t->ops->name);
    int64_t bytes, all;
    tutti_status status = check_operator(a);
    if (!status) status = check_counts(a, rank, P, &all);
    if (!status) status = check_extras(a);
    if (!status && a->memory == TUTTI_MEMORY_DEVICE) status = check_device(t, a);
    if (status) return status;
    if (tutti_coll_trait_of(a->kind)->rooted && (a->root < 0 || a->root >= P))
        return tutti_fail(TUTTI_ERR_INVAL, "%s with root %d on %d ranks", kind, a->root, P);
    if (a->count < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "%s of %lld elements", kind, (long long)a->count);
    if (__builtin_mul_overflow(all, 2 * P * (int64_t)tutti_dtype_bytes(a->dtype), &bytes))
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s of %lld elements on %d ranks: too many bytes",
            kind, (long long)all, P);
    if (tutti_coll_recv_count(a, rank, P) && !a->recv)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s of %lld elements: recv is NULL", kind, (long long)a->count);
    if (tutti_coll_has_send(a, rank) && !a->send)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s of %lld elements: send is NULL", kind, (long long)a->count);
    if (tutti_coll_trait_of(a->kind)->sends && !a->out_of_place && a->send)
        return tutti_fail(TUTTI_ERR_INVAL, "%s in place, with a buffer to send", kind);
    return TUTTI_OK;
}

tutti_coll_args tutti_coll_normalize_args(const tutti_coll_args *args, unsigned char here[2])
{
    tutti_coll_args a = *args;
    const tutti_coll_trait *trait = tutti_coll_trait_of(a.kind);
    if (a.kind == TUTTI_BARRIER)
        a = (tutti_coll_args){.kind = TUTTI_BARRIER,
            .dtype = TUTTI_U8,
            .op = TUTTI_MAX,
            .count = 1,
            .out_of_place = 1,
            .send = &here[0],
            .recv = &here[1],
            .identity = args->identity};
    if (!trait->rooted) a.root = 0;
    if (!trait->reduces && trait->data) a.user = NULL;
    if (a.kind == TUTTI_BROADCAST || a.kind == TUTTI_MESSAGE) a.out_of_place = 0;
    if (!a.out_of_place) a.send = NULL;
    return a;
}
