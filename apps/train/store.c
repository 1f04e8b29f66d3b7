#include "apps/train/store.h"

#include "apps/session/weights.h"
#include "dag/base/conf.h"
#include "dag/base/log.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"
#include "designs/kv/jobs.h"
#include "designs/kv/kv.h"
#include "designs/kv/metered.h"
#include "designs/thread/deadline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Options that were refused may have none. */
static double setup_s(const tutti_train_options *options)
{
    static const double otherwise_s = 60;
    return options->exchange.setup_timeout_s > 0 ? options->exchange.setup_timeout_s : otherwise_s;
}

/* ---- who does what ---- */

static tutti_status check_layout(const tutti_placement *given, const tutti_jobs *jobs)
{
    const int servers = given->servers && given->servers != jobs->servers;
    const int clients = given->clients && given->clients != jobs->clients;
    char text[TUTTI_LAYOUT_TEXT];
    if (!servers && !clients) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout %s: the jobs of this run are %d servers and %d clients (TUTTI_KV_SERVERS, "
        "TUTTI_KV_CLIENTS): leave it out",
        tutti_layout_print(given, text), jobs->servers, jobs->clients);
}

/* A client's ranks are whole replicas. */
static tutti_status check_stages(
    const tutti_train_store *s, const tutti_placement *given, int stages, int serves)
{
    char text[TUTTI_LAYOUT_TEXT];
    if (serves || s->all.size % stages == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--layout %s: workers of %d stages cannot be formed of the %d ranks of this client: start "
        "a "
        "multiple of %d for each client",
        tutti_layout_print(given, text), stages, s->all.size, stages);
}

/* A server's job knows no client's ranks. */
static tutti_status take_role(tutti_train_store *s, const tutti_placement *given)
{
    tutti_jobs jobs;
    const tutti_kv_options none = {0};
    const int stages = given->stages ? given->stages : 1;
    tutti_status status = tutti_jobs_read(&none, &jobs);
    if (!status) status = check_layout(given, &jobs);
    if (!status) status = check_stages(s, given, stages, jobs.serves);
    if (status) return status;
    const int ranks = jobs.serves ? stages : s->all.size, last = jobs.clients - 1;
    const int client = jobs.any || jobs.number > last ? last : jobs.number;
    s->follows = jobs.any || (!jobs.serves && jobs.number > last);
    s->placement =
        (tutti_placement){.rank = jobs.serves ? jobs.clients * ranks : client * ranks + s->all.rank,
            .stages = stages,
            .replicas = jobs.clients * (ranks / stages),
            .clients = jobs.clients,
            .servers = jobs.servers};
    return tutti_placement_complete(&s->placement);
}

/* Of a client that does not report. */
static void forget_files(tutti_train_options *o)
{
    static const tutti_conf_int never = {.word = 1};
    o->checkpoint.file = o->outputs.json = o->outputs.csv = o->outputs.page = o->outputs.trace =
        o->outputs.metrics = o->outputs.tensorboard = NULL;
    o->checkpoint.keep_best = 0;
    o->checkpoint.every = never;
    o->checkpoint.minutes.word = 1;
    o->evaluation.every.word = TUTTI_EVAL_NEVER;
}

static tutti_status begin(
    const tutti_layout *layout, const char *settings, tutti_status parsed, tutti_train_store *s)
{
    const tutti_rank_role *own = &s->placement.own;
    tutti_status status = tutti_boot_init(TUTTI_THREAD_SERIALIZED, NULL, &s->all);
    if (status) return status;
    status = tutti_boot_compare(&s->all, settings);
    if (status) return status;
    if (!parsed)
        parsed = s->jobs ? take_role(s, &layout->placement)
                         : tutti_layout_place(layout, s->all.size, s->all.rank, &s->placement);
    status = tutti_boot_agree(&s->all, parsed);
    if (status) return status;
    s->follows |= own->works && own->client > 0;
    if (s->jobs) return TUTTI_OK;
    return tutti_boot_split(&s->all, own->works ? own->client + 1 : 0, &s->part);
}

tutti_status tutti_train_store_begin(tutti_train_options *options, const char *settings,
    tutti_status parsed, tutti_train_store *store)
{
    const tutti_strategy *strategy = options->strategy.kind;
    *store = (tutti_train_store){.jobs = options->strategy.jobs};
    tutti_deadline *deadline = tutti_deadline_open(TUTTI_DEADLINE_START, setup_s(options));
    tutti_status status = begin(&options->layout.value, settings, parsed, store);
    tutti_deadline_close(deadline);
    if (status) return status;
    const int apart = strategy && strategy->apart && strategy->apart(&options->strategy.settings);
    store->clients_apart = apart ? store->placement.clients : 1;
    if (store->follows) forget_files(options);
    return TUTTI_OK;
}

tutti_status tutti_train_store_agree(
    const tutti_train_options *options, tutti_train_store *store, tutti_status mine)
{
    tutti_deadline *deadline =
        tutti_deadline_open(TUTTI_DEADLINE_START, options->exchange.timeout_s);
    tutti_status status = tutti_boot_agree(&store->all, mine);
    tutti_deadline_close(deadline);
    return status;
}

/* ---- the store ---- */

/* A variable hides what is never: the attach options have that as a negative number. */
static double or_never(double seconds)
{
    return seconds > 0 ? seconds : -1;
}

/* Its name and parameters are the store's type. */
static const tutti_strategy *stored_strategy(const tutti_train_options *o)
{
    return tutti_strategy_with_store(o->strategy.kind ? o->strategy.kind : &tutti_strategy_sync);
}

/* Who waits for another client is warned; how long is for --timeout to say: an evaluation may take its time. */
static tutti_status open_kv(const tutti_train_options *o, tutti_meter *meter, tutti_train_store *s)
{
    const tutti_strategy *strategy = stored_strategy(o);
    char type[TUTTI_STRATEGY_TEXT];
    const tutti_attach_options attach = {.design = o->exchange.design->name,
        .lanes = (int)tutti_conf_int_or(o->exchange.lanes, 0),
        .may_abort = 1,
        .algorithm = strcmp(o->exchange.algorithm, "auto") ? o->exchange.algorithm : "direct",
        .verify = o->exchange.verify_name,
        .stall_warn_s = or_never(o->exchange.stall.warn_s),
        .stall_dump_s = -1,
        .stall_abort_s = -1,
        .setup_timeout_s = fmin(o->exchange.setup_timeout_s, o->exchange.timeout_s)};
    const tutti_kv_options options = {.servers = s->placement.servers,
        .clients = s->placement.clients,
        .type = tutti_strategy_print(strategy, &o->strategy.settings, type),
        .attach = &attach,
        .stages = s->placement.stages};
    return tutti_kv_open_metered(s->all.comm, &options, meter, &s->kv);
}

/* As tutti_kv_set_optimizer reads it. Gradients are those of the mean over the images of all clients: where a client's
 * are an update by themselves, it becomes the mean over its own. */
static tutti_status choose_optimizer(tutti_train_store *s, const tutti_training_session *on)
{
    const tutti_step_options *r = &on->recipe;
    char text[256];
    if (on->step->strategy->uses_store) return TUTTI_OK; /* clients update */
    if (r->rule == &tutti_update_sgd)
        snprintf(text, sizeof text, "sgd:rate=1,momentum=%.9g,decay=%.9g,nesterov=%d,scale=%d",
            (double)r->momentum, (double)r->weight_decay, r->nesterov, s->clients_apart);
    else
        snprintf(text, sizeof text,
            "%s:rate=1,beta1=%.17g,beta2=%.17g,epsilon=%.9g,decay=%.9g,scale=%d", r->rule->name,
            r->beta1, r->beta2, (double)r->epsilon, (double)r->weight_decay, s->clients_apart);
    return tutti_kv_set_optimizer(s->kv, text);
}

static tutti_handle handle(const tutti_training_session *on, int tensor)
{
    return on->runner->handle(on->run, tensor);
}

static int own_parameter(const tutti_training_session *on, int key)
{
    const tutti_step *step = on->step;
    const int tensor = tutti_weights_tensor(on, key);
    int i = 0;
    while (i < step->parameters && step->parameter[i] != tensor) i++;
    return i < step->parameters ? i : -1;
}

static tutti_status list_keys(tutti_train_store *store, const tutti_training_session *on)
{
    store->keys = tutti_weights_parameters(on);
    store->own = calloc((size_t)store->keys, sizeof *store->own);
    if (!store->own) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d keys", store->keys);
    for (int key = 0; key < store->keys; key++) store->own[key] = own_parameter(on, key);
    return TUTTI_OK;
}

static tutti_status init_key(tutti_train_store *store, tutti_training_session *on, int key)
{
    const int i = store->own[key];
    if (i >= 0)
        return tutti_kv_init(
            store->kv, key, handle(on, on->step->parameter[i]), tutti_several(TUTTI_F32));
    const tutti_tensor *weight = tutti_weights_get(on, key);
    return tutti_kv_init_elsewhere(store->kv, key, tutti_shape_count(&weight->shape), TUTTI_F32);
}

tutti_status tutti_train_store_open(
    const tutti_train_options *options, tutti_train_store *store, tutti_training_session *on)
{
    tutti_status status = open_kv(options, on->meter, store);
    if (!status) status = choose_optimizer(store, on);
    if (!status) status = list_keys(store, on);
    for (int key = 0; key < store->keys && !status; key++) status = init_key(store, on, key);
    on->stale = 1;
    return status ? status : tutti_train_store_finalize(store, options->exchange.timeout_s);
}

/* The store counts calls, and lets all but every period-th pass. */
static tutti_status mix_with_centre(tutti_train_store *store, tutti_training_session *on)
{
    tutti_status status = TUTTI_OK;
    for (int key = 0; key < store->keys && !status; key++) {
        const int i = store->own[key];
        if (i < 0) continue;
        tutti_handle weights = handle(on, on->step->parameter[i]);
        status = tutti_kv_pushpull(store->kv, key, weights, weights);
    }
    on->stale = 1;
    return status;
}

tutti_status tutti_train_store_step(
    tutti_train_store *store, tutti_training_session *on, double rate)
{
    const tutti_step *step = on->step;
    if (step->strategy->uses_store) return mix_with_centre(store, on);
    tutti_status status = tutti_kv_set_rate(store->kv, rate / store->clients_apart);
    for (int key = store->keys - 1; key >= 0 && !status; key--) {
        const int i = store->own[key];
        if (i >= 0) status = tutti_kv_push(store->kv, key, handle(on, step->gradient[i]));
    }
    for (int key = 0; key < store->keys && !status; key++) {
        const int i = store->own[key];
        if (i >= 0) status = tutti_kv_pull(store->kv, key, handle(on, step->parameter[i]));
    }
    on->stale = 1;
    return status;
}

tutti_status tutti_train_store_finalize(tutti_train_store *store, double timeout_s)
{
    return tutti_kv_wait(store->kv, timeout_s);
}

tutti_status tutti_train_store_close(tutti_train_store *store)
{
    tutti_kv *kv = store->kv;
    free(store->own);
    store->kv = NULL;
    store->own = NULL;
    return tutti_kv_close(kv);
}

/* ---- a server ---- */

static tutti_status serve_clients(const tutti_train_options *o, tutti_train_store *s)
{
    tutti_status status = open_kv(o, NULL, s);
    if (status) return status;
    status = tutti_kv_serve(s->kv);
    tutti_status closed = tutti_train_store_close(s);
    return status ? status : closed;
}

tutti_status tutti_train_store_serve(const tutti_train_options *options, tutti_train_store *store)
{
    tutti_training_session on;
    const tutti_training_session_options session = {.workers = (int)options->machine.workers};
    tutti_status status = tutti_training_session_open(&session, &on);
    if (!status) status = tutti_training_session_blank(&on);
    if (!status) status = tutti_training_session_apply(&on);
    if (!status) status = tutti_training_session_start(&on);
    status = tutti_train_store_agree(options, store, status);
    if (!status && !options->check_only) status = serve_clients(options, store);
    tutti_status closed = tutti_training_session_close(&on);
    return status ? status : closed;
}

/* ---- ending ---- */

void tutti_train_store_end(
    const tutti_train_options *options, tutti_train_store *store, tutti_status status)
{
    if (status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_COMM) return; /* others are missing */
    tutti_deadline *deadline = tutti_deadline_open(TUTTI_DEADLINE_END, setup_s(options));
    tutti_boot_finalize(&store->part);
    tutti_boot_finalize(&store->all);
    tutti_deadline_close(deadline);
}
