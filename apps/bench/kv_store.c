#include "apps/bench/kv_store.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/scheduler.h"
#include "designs/kv/kv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const tutti_kv_ops[TUTTI_KV_OPS] = {"push", "pull", "pushpull"};

tutti_status tutti_store_start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    if (!getenv("STARPU_SCHED")) conf.sched_policy = &tutti_scheduler;
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    tutti_status status = tutti_start_starpu(&conf);
    if (!status) starpu_pause();
    return status;
}

void tutti_store_stop(void)
{
    starpu_resume();
    starpu_shutdown();
}

/* A worker's keys: what it pushes, and where it pulls to. */
typedef struct keys {
    const tutti_store_plan *plan;
    tutti_kv *kv;
    int64_t count; /* elements of a key */
    float **from, **to;
    tutti_handle *in, *out;
} keys;

/* ---- memory ---- */

static tutti_handle vector(float *x, int64_t count)
{
    tutti_handle handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)count, sizeof *x);
    return handle;
}

static void close_keys(keys *k)
{
    for (int i = 0; i < k->plan->keys; i++) {
        if (k->in && k->in[i]) starpu_data_unregister(k->in[i]);
        if (k->out && k->out[i]) starpu_data_unregister(k->out[i]);
        if (k->from) free(k->from[i]);
        if (k->to) free(k->to[i]);
    }
    free(k->from);
    free(k->to);
    free(k->in);
    free(k->out);
}

static tutti_status open_keys(const tutti_store_plan *plan, tutti_kv *kv, keys *k)
{
    const size_t n = (size_t)plan->keys;
    *k = (keys){.plan = plan,
        .kv = kv,
        .count = plan->bytes / (int64_t)sizeof(float),
        .from = calloc(n, sizeof *k->from),
        .to = calloc(n, sizeof *k->to),
        .in = calloc(n, sizeof(tutti_handle)),
        .out = calloc(n, sizeof(tutti_handle))};
    int whole = k->from && k->to && k->in && k->out;
    for (size_t i = 0; i < n && whole; i++) {
        k->from[i] = calloc((size_t)k->count, sizeof(float));
        k->to[i] = calloc((size_t)k->count, sizeof(float));
        whole = k->from[i] && k->to[i];
        if (!whole) break;
        k->in[i] = vector(k->from[i], k->count);
        k->out[i] = vector(k->to[i], k->count);
    }
    return whole ? TUTTI_OK
                 : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d keys of %" PRId64 " bytes",
                       plan->keys, plan->bytes);
}

/* ---- verifying ---- */

/* Small integers, whose sums are exact in any order. */
static float value_of(int worker, int key, int64_t i)
{
    return (float)((i * 7 + worker * 3 + key) % 64);
}

static void fill_keys(keys *k, int zeros)
{
    for (int i = 0; i < k->plan->keys; i++) {
        starpu_data_acquire(k->in[i], STARPU_W);
        for (int64_t e = 0; e < k->count; e++)
            k->from[i][e] = zeros ? 0 : value_of(tutti_kv_rank(k->kv), i, e);
        starpu_data_release(k->in[i]);
    }
}

static tutti_status compare(keys *k, int key)
{
    tutti_status status = TUTTI_OK;
    starpu_data_acquire(k->out[key], STARPU_R);
    for (int64_t e = 0; e < k->count && !status; e++) {
        float sum = 0;
        for (int w = 0; w < k->plan->workers; w++) sum += value_of(w, key, e);
        if (k->to[key][e] != sum)
            status = tutti_fail(TUTTI_ERR_INTERNAL,
                "%s, %d servers, %d clients: element %" PRId64 " of key %d is %g, not %g",
                k->plan->type, k->plan->servers, k->plan->clients, e, key, (double)k->to[key][e],
                (double)sum);
    }
    starpu_data_release(k->out[key]);
    return status;
}

/* One round of an op on all keys. */
static tutti_status run_round(keys *k, int op)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < k->plan->keys && !status; i++) {
        if (op == TUTTI_KV_PUSHES) status = tutti_kv_push(k->kv, i, k->in[i]);
        if (op == TUTTI_KV_PULLS) status = tutti_kv_pull(k->kv, i, k->out[i]);
        if (op == TUTTI_KV_PUSHPULLS) status = tutti_kv_pushpull(k->kv, i, k->in[i], k->out[i]);
    }
    return status;
}

/* What every worker has pushed is there once all have pulled, and none is there twice. Zeros are pushed
 * afterwards, so that values stay as they are. */
static tutti_status verify(keys *k)
{
    fill_keys(k, 0);
    tutti_status status = run_round(k, TUTTI_KV_PUSHPULLS);
    if (!status) status = tutti_kv_barrier(k->kv);
    if (!status) status = run_round(k, TUTTI_KV_PULLS);
    if (!status) status = tutti_kv_wait(k->kv, k->plan->timeout_s);
    for (int i = 0; i < k->plan->keys && !status; i++) status = compare(k, i);
    fill_keys(k, 1);
    return status;
}

/* ---- timing ---- */

static tutti_status time_op(keys *k, int op, tutti_store_result *r)
{
    int64_t sent, received, sent_before, received_before;
    tutti_status status = tutti_kv_bytes(k->kv, &sent_before, &received_before);
    if (!status) status = tutti_kv_barrier(k->kv);
    double begun = tutti_clock_s();
    for (int64_t n = 0; n < k->plan->rounds[op] && !status; n++) status = run_round(k, op);
    if (!status) status = tutti_kv_wait(k->kv, k->plan->timeout_s);
    r->op_s[op] = (tutti_clock_s() - begun) / (double)k->plan->rounds[op];
    if (!status) status = tutti_kv_barrier(k->kv);
    if (!status) status = tutti_kv_bytes(k->kv, &sent, &received);
    if (status) return status;
    r->sent[op] = (double)(sent - sent_before);
    r->received[op] = (double)(received - received_before);
    return TUTTI_OK;
}

static tutti_status work(const tutti_store_plan *plan, tutti_kv *kv, tutti_store_result *r)
{
    keys k;
    int64_t sent = 0, received = 0;
    tutti_status status = open_keys(plan, kv, &k);
    if (!status) status = tutti_kv_set_optimizer(kv, strcmp(plan->type, "sync") ? "add" : "assign");
    for (int i = 0; i < plan->keys && !status; i++)
        status = tutti_kv_init(kv, i, k.out[i], TUTTI_F32);
    if (!status && plan->verifies) status = verify(&k);
    if (!status) status = tutti_kv_bytes(kv, &sent, &received);
    r->first_sent = (double)sent;
    r->first_received = (double)received;
    for (int op = 0; op < TUTTI_KV_OPS && !status; op++) status = time_op(&k, op, r);
    tutti_status ended = tutti_kv_wait(kv, plan->timeout_s);
    if (!ended) close_keys(&k); /* else they may still be read and written */
    return status ? status : ended;
}

/* ---- a store on part of the ranks ---- */

static tutti_status run_on(MPI_Comm comm, const tutti_store_plan *plan, tutti_store_result *r)
{
    const tutti_attach_options attach = {.design = plan->design};
    const tutti_kv_options options = {
        .servers = plan->servers, .clients = plan->clients, .type = plan->type, .attach = &attach};
    tutti_kv *kv;
    int64_t sent = 0, received = 0;
    tutti_status status = tutti_kv_open(comm, &options, &kv);
    if (status) return status;
    if (tutti_kv_serves(kv)) {
        status = tutti_kv_serve(kv);
        if (!status) status = tutti_kv_bytes(kv, &sent, &received);
        r->served_out = (double)sent;
        r->served_in = (double)received;
    } else {
        status = work(plan, kv, r);
    }
    tutti_status closed = tutti_kv_close(kv);
    return status ? status : closed;
}

tutti_status tutti_store_run(
    tutti_world *world, const tutti_store_plan *plan, tutti_store_result *result)
{
    MPI_Comm comm;
    int takes_part = world->boot.rank < plan->workers + plan->servers;
    tutti_status status = TUTTI_OK;
    *result = (tutti_store_result){.served_in = 0};
    if (MPI_Comm_split(
            *(MPI_Comm *)world->boot.comm, takes_part ? 0 : MPI_UNDEFINED, world->boot.rank, &comm))
        return tutti_fail(TUTTI_ERR_COMM, "the ranks could not be divided");
    if (takes_part) {
        starpu_resume();
        status = run_on(comm, plan, result);
        starpu_pause();
        MPI_Comm_free(&comm);
    }
    return tutti_world_agree(world, status);
}
