#include "tests/deadlock/kv_run.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/init_starpu.h"
#include "designs/kv/kv_parts.h"

#include <starpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pulled {
    tutti_handle data;
    float *value;
    int key, pushes;
} pulled;

typedef struct program {
    const kv_case *c;
    tutti_kv *kv;
    int rank;
    double deadline_s;
    float *value[KV_MOST_KEYS], *zeros[KV_MOST_KEYS];
    tutti_handle data[KV_MOST_KEYS], first[KV_MOST_KEYS], last[KV_MOST_KEYS];
    int pushes[KV_MOST_KEYS], pulls;
    pulled pull[KV_MOST_CALLS];
    tutti_status status;
    atomic_int ended;
} program;

static tutti_status open_vector(int64_t count, float **value, tutti_handle *data)
{
    *value = calloc((size_t)count, sizeof **value);
    if (!*value) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a key");
    return tutti_datum_open_in(*value, count, TUTTI_F32, data);
}

static tutti_status open_keys(program *p)
{
    tutti_status status = tutti_kv_set_optimizer(p->kv, "add");
    for (int k = 0; k < p->c->keys && !status; k++) {
        status = open_vector(p->c->count[k], &p->value[k], &p->data[k]);
        for (int64_t e = 0; !status && e < p->c->count[k]; e++)
            p->value[k][e] = kv_case_pushes(p->c, p->rank, e);
        if (!status) status = open_vector(p->c->count[k], &p->zeros[k], &p->first[k]);
        if (!status) status = tutti_kv_init(p->kv, k, p->first[k], TUTTI_F32);
    }
    return status;
}

static void compute(void *arg, void *const buf[])
{
    (void)arg, (void)buf;
}

static tutti_status push(program *p, const kv_call *call)
{
    tutti_status status = TUTTI_OK;
    if (call->after >= 0) {
        const tutti_datum_task task = {.name = "compute",
            .work = compute,
            .count = 2,
            .data = {p->data[call->key], p->last[call->after]},
            .mode = {TUTTI_READWRITE, TUTTI_READ}};
        status = tutti_datum_submit(&task);
    }
    p->pushes[call->key]++;
    return status ? status : tutti_kv_push(p->kv, call->key, p->data[call->key]);
}

static tutti_status pull(program *p, const kv_call *call)
{
    pulled *of = &p->pull[p->pulls++];
    of->key = call->key;
    of->pushes = p->pushes[call->key];
    tutti_status status = open_vector(p->c->count[call->key], &of->value, &of->data);
    p->last[call->key] = of->data;
    return status ? status : tutti_kv_pull(p->kv, call->key, of->data);
}

static tutti_status meet(program *p)
{
    tutti_status status = tutti_kv_wait(p->kv, p->deadline_s);
    return status ? status : tutti_kv_barrier(p->kv);
}

static tutti_status make_calls(program *p)
{
    tutti_status status = open_keys(p);
    for (int i = 0; i < p->c->calls[p->rank] && !status; i++) {
        const kv_call *call = &p->c->call[p->rank][i];
        if (call->kind == KV_PUSH) status = push(p, call);
        if (call->kind == KV_PULL) status = pull(p, call);
        if (call->kind == KV_MEET) status = meet(p);
    }
    return status ? status : tutti_kv_wait(p->kv, p->deadline_s);
}

static void *run(void *arg)
{
    program *p = arg;
    p->status = tutti_kv_serves(p->kv) ? tutti_kv_serve(p->kv) : make_calls(p);
    if (!p->status) p->status = tutti_kv_close(p->kv);
    atomic_store(&p->ended, 1);
    return NULL;
}

static int is_wrong(program *p, char *what, size_t size)
{
    int wrong = 0;
    for (int i = 0; i < p->pulls; i++) {
        const pulled *of = &p->pull[i];
        tutti_datum_close(of->data);
        wrong = wrong || kv_case_differs(p->c, kv_case_client(p->c, p->rank), of->key, of->pushes,
                             0, of->value, p->c->count[of->key], what, size);
    }
    for (int k = 0; k < p->c->keys; k++) {
        tutti_datum_close(p->data[k]);
        tutti_datum_close(p->first[k]);
    }
    return wrong;
}

static void free_program(program *p)
{
    for (int i = 0; i < p->pulls; i++) free(p->pull[i].value);
    for (int k = 0; k < p->c->keys; k++) {
        free(p->value[k]);
        free(p->zeros[k]);
    }
    free(p);
}

static tutti_status open_store(const deadlock_case *c, MPI_Comm ranks, program *p)
{
    struct starpu_conf conf;
    const tutti_attach_options attach = {
        .design = c->design->name, .lanes = c->lanes, .verify = c->verify};
    const tutti_kv_options options = {
        .servers = c->kv.servers, .clients = c->kv.clients, .type = c->kv.type, .attach = &attach};
    starpu_conf_init(&conf);
    conf.ncpus = c->workers;
    conf.ncuda = conf.nopencl = 0;
    tutti_status status = tutti_run_init_starpu(&conf);
    if (!status) status = tutti_kv_open(ranks, &options, &p->kv);
    if (!status && c->kv.one_group) p->kv->pulling = p->kv->pushing;
    return status;
}

/* On a thread of its own: who waits for ever is left behind. */
tutti_status kv_run_rank(
    const deadlock_case *c, MPI_Comm ranks, double deadline_s, int *wrong, char *what, size_t size)
{
    pthread_t thread;
    program *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a rank");
    p->c = &c->kv;
    p->deadline_s = deadline_s;
    MPI_Comm_rank(ranks, &p->rank);
    *wrong = 0;
    tutti_status status = open_store(c, ranks, p);
    if (!status && pthread_create(&thread, NULL, run, p)) status = TUTTI_ERR_INTERNAL;
    if (status) return status;
    double until_s = tutti_clock_s() + deadline_s;
    while (!atomic_load(&p->ended) && tutti_clock_s() < until_s) tutti_clock_sleep(1e-3);
    if (!atomic_load(&p->ended)) return TUTTI_ERR_TIMEOUT;
    pthread_join(thread, NULL);
    status = p->status;
    if (status) return status;
    *wrong = is_wrong(p, what, size);
    starpu_shutdown();
    free_program(p);
    return TUTTI_OK;
}
