#include "config.h" /* first: it makes libc declare asprintf */

#include "apps/train/trainer.h"

#include "apps/data/class_names.h"
#include "apps/session/device.h"
#include "apps/session/precision.h"
#include "apps/session/rank_step.h"
#include "apps/session/weights.h"
#include "apps/train/agree.h"
#include "apps/train/elastic_run.h"
#include "apps/train/find_rate.h"
#include "apps/train/hash.h"
#include "apps/train/initial.h"
#include "apps/train/stages_choose.h"
#include "apps/train/stages_data.h"
#include "apps/train/state.h"
#include "collectives/links/run.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/loss.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPANS_TRACED = 1 << 16 /* per worker, with --trace */ };

/* ---- joining ---- */

char *tutti_trainer_settings(const tutti_train_options *options, tutti_status parsed)
{
    char *text = NULL, *settings = parsed ? strdup("") : tutti_conf_text(&options->conf, options);
    if (settings &&
        asprintf(&text, "options=%s\n%s", parsed ? "refused" : "accepted", settings) < 0)
        text = NULL;
    free(settings);
    return text;
}

/* For a rank that should have ended and has not: its main thread is stuck. */
static void give_up(void)
{
    tutti_boot_abort(1);
}

static tutti_exchange_options exchange_options(const tutti_train_options *o, const char *settings)
{
    const tutti_train_exchange *x = &o->exchange;
    const tutti_strategy *strategy = o->strategy.kind;
    const tutti_placement *placement = &o->layout.value.placement;
    const int stored = o->strategy.stored;
    tutti_exchange_options options = {.design = x->design,
        .lanes = (int)tutti_conf_int_or(x->lanes, 0),
        .algorithm = tutti_rank_step_algorithm(o->layout.text || strategy || stored, x->algorithm),
        .topology = x->topology,
        .link_mbit = tutti_conf_real_or(x->link_mbit, 0),
        .messages = stored ? placement->stages > 1 : tutti_rank_step_messages(placement, strategy),
        .chunk_bytes = tutti_conf_bytes(x->chunk_mb),
        .order = {.on = x->priority},
        .bucket_bytes = tutti_conf_bytes(x->bucket_mb),
        .comm_core = x->comm_core,
        .unsafe = x->unsafe,
        .verify = x->verify,
        .timeout_s = x->timeout_s,
        .setup_timeout_s = fmin(x->setup_timeout_s, x->timeout_s),
        .watch = x->stall,
        .reopens = x->design_auto,
        .settings = settings};
    options.watch.give_up = give_up;
    return options;
}

/* The links are those of all ranks, clients and servers, not of the session's. */
static tutti_status read_links(
    const tutti_train_store *store, tutti_training_session_options *session)
{
    tutti_exchange_options *x = &session->exchange;
    tutti_topology *links = NULL;
    tutti_status status = tutti_topology_of_run(x->topology, x->link_mbit, store->all.size, &links);
    if (!status)
        status =
            tutti_topology_ring_rate(links, store->all.size, &session->layout.link_bytes_per_s);
    tutti_topology_free(links);
    x->topology = NULL;
    x->link_mbit = 0;
    return tutti_boot_agree(store->part.comm ? &store->part : &store->all, status);
}

/* Of a client's workers alone, each of which is a replica. */
static tutti_status join_client(
    const tutti_train_store *store, tutti_training_session_options *session)
{
    session->comm = tutti_train_store_comm(store);
    session->device = "cpu";
    const tutti_placement *all = &store->placement;
    session->layout.placement = (tutti_placement){.stages = all->stages,
        .replicas = all->workers,
        .stored = 1,
        .first_replica = all->own.client * all->workers,
        .global_replicas = all->replicas};
    return read_links(store, session);
}

tutti_status tutti_trainer_join(const tutti_train_options *options, tutti_interrupt *interrupt,
    tutti_status parsed, tutti_train_store *store, tutti_train_elastic *elastic,
    tutti_trainer *trainer)
{
    *trainer = (tutti_trainer){.options = options,
        .interrupt = interrupt,
        .store = store,
        .elastic = elastic,
        .restored = elastic && elastic->epoch.snapshot > 0,
        .readers = tutti_data_threads(options->images.threads, (int)options->machine.workers)};
    tutti_status made = strcmp(options->machine.engines, "timed") == 0
                            ? tutti_engines_new(&trainer->engines)
                            : TUTTI_OK;
    if (made) return made;
    char *settings = tutti_trainer_settings(options, parsed);
    if (!settings) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the options' text");
    tutti_training_session_options session = {.workers = (int)options->machine.workers,
        .device = options->machine.device,
        .transport = options->machine.transport,
        .cuda_aware = options->machine.cuda_aware,
        .place = {.tf32 = options->machine.tf32, .engines = trainer->engines},
        .region_s = tutti_device_region_s(options->machine.region_us),
        .layout = options->layout.value,
        .rates = options->rate.layers,
        .metered = 1,
        .eval_size = (int)tutti_conf_int_or(options->images.eval_size, 0),
        .spans = options->outputs.trace ? SPANS_TRACED : 0,
        .readers = trainer->readers,
        .connect = elastic ? tutti_train_elastic_connect : NULL,
        .connect_ctx = elastic,
        .exchange = exchange_options(options, settings)};
    tutti_status status = store ? join_client(store, &session) : TUTTI_OK;
    if (!status) status = tutti_training_session_open(&session, &trainer->session);
    if (status == TUTTI_ERR_TIMEOUT) return status; /* the settings may still be read */
    free(settings);
    if (status) return status;
    if (!tutti_trainer_reports(trainer)) tutti_interrupt_hush(interrupt);
    return tutti_trainer_agree(trainer, parsed);
}

/* ---- files ---- */

/* Whether this run has begun before, with other ranks. */
static int continues(const tutti_trainer *s)
{
    return s->elastic && tutti_train_elastic_continues(s->elastic);
}

static tutti_status claim_outputs(tutti_trainer *s)
{
    return s->session.placement.rank == 0
               ? tutti_outputs_claim(s->options, continues(s), s->restored, &s->outputs)
               : TUTTI_OK;
}

/* The engines of the run that continues, before any kernel is opened. */
static tutti_status read_engines(tutti_trainer *s)
{
    return s->outputs.resumed ? tutti_state_engines(s, s->outputs.resumed) : TUTTI_OK;
}

/* ---- the session ---- */

static tutti_status build(tutti_trainer *s)
{
    const tutti_model_input input = tutti_trainer_input(s);
    const tutti_step_options recipe = tutti_trainer_recipe(s);
    tutti_status status =
        tutti_training_session_build(&s->session, s->options->model, &input, &recipe);
    if (!status && s->options->rate.layers.freeze && tutti_trainer_reports(s)) {
        int layers;
        const int64_t numbers = tutti_layer_rates_frozen(s->session.net, &layers);
        tutti_log(TUTTI_LOG_INFO,
            "--freeze: %" PRId64 " of %" PRId64 " numbers, in %d layer%s, stay as they are",
            numbers, tutti_net_parameters(s->session.net), layers, layers == 1 ? "" : "s");
    }
    return status;
}

/* Rank 0 has it (tutti_train_elastic_enter). */
static tutti_status restore_snapshot(tutti_trainer *s)
{
    const tutti_snapshot *from = tutti_train_elastic_restores(s->elastic);
    if (s->session.placement.rank != 0) return TUTTI_OK;
    return from ? tutti_snapshot_restore(from, s)
                : tutti_fail(TUTTI_ERR_INTERNAL,
                      "rank 0 does not have the snapshot of step %" PRId64,
                      s->elastic->epoch.snapshot);
}

static tutti_status begin_weights(tutti_trainer *s)
{
    if (s->restored) return restore_snapshot(s);
    if (!s->options->checkpoint.resume) {
        if (!s->options->checkpoint.init_from && strstr(s->options->model->name, ".onnx#") &&
            tutti_trainer_reports(s))
            tutti_log(TUTTI_LOG_INFO,
                "--model %s: only its layers are taken; --init-from takes the weights of a file",
                s->options->model->name);
        return tutti_training_session_init(&s->session);
    }
    if (s->session.placement.rank != 0) return TUTTI_OK;
    return tutti_state_load(s, s->outputs.resumed, &s->first_step);
}

/* What rank 0 reads from a file: in a pipeline each tensor goes to the ranks that have it. */
static tutti_status load_weights(tutti_trainer *s)
{
    tutti_status status = TUTTI_OK;
    if (s->restored) {
        const int has = s->session.placement.rank == 0;
        const tutti_snapshot *from = has ? tutti_train_elastic_restores(s->elastic) : NULL;
        return s->session.whole ? tutti_snapshot_spread(from, s) : TUTTI_OK;
    }
    if (s->options->checkpoint.resume) {
        if (s->session.whole) status = tutti_weights_spread(&s->session, tutti_state_fill, s);
        if (!status && s->session.placement.rank == 0) status = tutti_outputs_resumed(&s->outputs);
        return tutti_trainer_agree(s, status);
    }
    return s->options->checkpoint.init_from ? tutti_initial_load(s) : TUTTI_OK;
}

static tutti_status share_tensor(void *trainer, const tutti_tensor *t, void *data)
{
    return tutti_trainer_broadcast(trainer, t->name, t->dtype, tutti_shape_count(&t->shape), data);
}

/* The sums of the epoch in which the checkpoint is. */
static tutti_status share_sums(tutti_trainer *s)
{
    int64_t replicas = s->sums.replicas;
    tutti_status status =
        tutti_trainer_broadcast(s, "how many replicas' sums there are", TUTTI_I64, 1, &replicas);
    if (status || !replicas) return status;
    if (!s->sums.value) s->sums.value = calloc((size_t)replicas * TUTTI_METRICS, sizeof(double));
    status = tutti_trainer_agree(s,
        s->sums.value ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums"));
    if (status) return status;
    s->sums.replicas = (int)replicas;
    return tutti_trainer_broadcast(
        s, "the epoch's sums so far", TUTTI_F64, replicas * TUTTI_METRICS, s->sums.value);
}

static tutti_status share_weights(tutti_trainer *s)
{
    enum { NUMBERS = 11 };
    tutti_rate_plateau *plateau = &s->rate_schedule.plateau;
    tutti_train_elastic *e = s->elastic;
    int64_t first[NUMBERS] = {s->first_step, s->outputs.resumed_here, s->best.step, s->best.since,
        0, plateau->since, plateau->drops, 0, e ? e->saved : 0, e ? e->origin : 0,
        s->owes_evaluation};
    memcpy(&first[4], &s->best.accuracy, sizeof s->best.accuracy);
    memcpy(&first[7], &plateau->best, sizeof plateau->best);
    tutti_status status = tutti_trainer_broadcast(s, "the first step", TUTTI_I64, NUMBERS, first);
    s->first_step = first[0];
    s->resumed_here = first[1] != 0;
    s->best.step = first[2];
    s->best.since = first[3];
    memcpy(&s->best.accuracy, &first[4], sizeof s->best.accuracy);
    plateau->since = first[5];
    plateau->drops = first[6];
    memcpy(&plateau->best, &first[7], sizeof plateau->best);
    if (e) e->saved = first[8];
    if (e) e->origin = first[9];
    s->owes_evaluation = first[10] && !s->options->evaluation.only;
    const tutti_conf_int *patience = &s->options->evaluation.patience;
    if (s->options->evaluation.only || (!patience->word && s->best.since >= patience->value))
        s->last_step = s->first_step;
    if (!status) status = share_sums(s);
    if (status || s->session.whole) return status; /* each has those of its stage */
    return tutti_weights_walk(
        &s->session, tutti_weights_count(&s->session), TUTTI_READWRITE, share_tensor, s);
}

tutti_status tutti_trainer_prepare(tutti_trainer *s)
{
    tutti_status status = tutti_trainer_check_precision(s);
    tutti_exchange_set_activity(s->session.exchange, "opens its files", 1);
    if (!status) status = tutti_trainer_agree(s, claim_outputs(s));
    if (!status) status = tutti_trainer_agree(s, read_engines(s));
    tutti_exchange_set_activity(s->session.exchange, "opens the data set", 1);
    if (!status) status = tutti_trainer_open_data(s);
    if (!status) status = tutti_trainer_agree(s, tutti_trainer_plan(s));
    tutti_exchange_set_activity(s->session.exchange, "times its kernels", 1);
    if (!status) status = tutti_trainer_choose_precision(s);
    if (!status) status = tutti_trainer_time_layers(s);
    if (!status && s->options->exchange.design_auto) status = tutti_trainer_choose_design(s);
    tutti_exchange_set_activity(s->session.exchange, "builds the model and starts StarPU", 1);
    if (!status) status = tutti_trainer_agree(s, build(s));
    if (!status) status = tutti_trainer_agree(s, tutti_training_session_apply(&s->session));
    if (!status) status = tutti_trainer_agree(s, tutti_training_session_start(&s->session));
    if (!status) status = tutti_trainer_agree(s, begin_weights(s));
    if (!status) status = load_weights(s);
    tutti_exchange_set_activity(s->session.exchange, NULL, 0);
    if (!status) status = share_weights(s);
    if (!status && s->elastic)
        status = tutti_trainer_agree(s, tutti_train_elastic_begin(s->elastic, s));
    return status;
}

/* The input, which belongs to the first stage, is not counted. */
static void count_stage_layers(const tutti_training_session *s, char *text, size_t size)
{
    const int stages = s->placement.stages, *end = s->placement.end;
    size_t used = 0;
    *text = '\0';
    for (int q = 0; stages > 1 && q < stages && used < size; q++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%d", q ? "," : "", end[q] - (q ? end[q - 1] : 1));
    if (used >= size) *text = '\0';
}

static void name_divided(const tutti_training_session *s, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int l = 0; l < s->net->layers && used < size; l++)
        if (tutti_layer_is_divided(&s->net->layer[l], &s->placement))
            used += (size_t)snprintf(
                text + used, size - used, "%s%s", used ? ", " : "", s->net->layer[l].name);
}

int tutti_trainer_ranks(const tutti_trainer *s)
{
    return s->store ? s->store->placement.ranks : s->session.placement.ranks;
}

void tutti_trainer_describe(const tutti_trainer *s, tutti_report_start *start)
{
    const tutti_step_options *recipe = &s->session.recipe;
    *start = (tutti_report_start){.design = tutti_exchange_design(s->session.exchange)->name,
        .design_auto = s->options->exchange.design_auto,
        .options = s->options,
        .algorithm = s->options->exchange.algorithm,
        .wire = s->options->travel.wire_name,
        .compress = s->options->travel.text,
        .sent_bytes = s->session.step->sent_bytes,
        .plain_bytes = s->session.step->plain_bytes,
        .precision = tutti_precision_word(s->precision),
        .transport = s->session.transport->chosen,
        .engines = s->session.place.engines,
        .thread_level = s->elastic
                            ? NULL
                            : tutti_thread_level_name(tutti_exchange_granted(s->session.exchange)),
        .runner = tutti_run_starpu_version(),
        .library = s->session.place.device == TUTTI_CPU ? tutti_kernel_library() : "CUDA",
        .model = s->options->model->name,
        .data = s->train.source->name,
        .ranks = tutti_trainer_ranks(s),
        .replicas = s->session.placement.global_replicas,
        .layout = s->store                  ? &s->store->placement
                  : s->options->layout.text ? &s->session.placement
                                            : NULL,
        .micro_batches = s->session.step->micro_batches,
        .lanes = tutti_exchange_lanes(s->session.exchange),
        .workers = (int)s->options->machine.workers,
        .comm_core = tutti_exchange_comm_core(s->session.exchange),
        .collectives = tutti_training_session_collectives(&s->session),
        .parameters = tutti_net_parameters(s->session.net),
        .train_images = s->train_images,
        .test_images = s->test_images,
        .height = s->train.height,
        .width = s->train.width,
        .channels = s->train.channels,
        .classes = s->train.classes,
        .eval_size = s->test.height != s->train.height ? s->test.height : 0,
        .batch = s->options->batch,
        .accumulate = s->options->accumulate,
        .steps = s->steps,
        .steps_per_epoch = s->steps_per_epoch,
        .first_step = s->first_step,
        .last_step = s->last_step,
        .seed = s->options->seed,
        .program = s->options->program->name,
        .recipe = s->options->recipe->name,
        .optimizer = s->session.step->rule->name,
        .strategy = s->options->strategy.text,
        .rate = s->rate_schedule.rate,
        .momentum = (double)recipe->momentum,
        .nesterov = recipe->nesterov,
        .weight_decay = (double)recipe->weight_decay,
        .weights_only = recipe->weights_only,
        .zero_last_scale = recipe->zero_last_scale,
        .label_smoothing = (double)recipe->label_smoothing,
        .mixup = recipe->mixup,
        .cutmix = recipe->cutmix,
        .class_names = s->class_names,
        .evaluates = s->options->evaluation.only};
    tutti_rate_schedule_print(&s->rate_schedule, start->rate_schedule);
    name_divided(&s->session, start->divided, sizeof start->divided);
    count_stage_layers(&s->session, start->stage_layers, sizeof start->stage_layers);
    tutti_device_text(&s->session.place, start->device, sizeof start->device);
}

/* ---- leaving ---- */

static tutti_status add_tensor(void *hash, const tutti_tensor *tensor, void *data)
{
    tutti_hash_add(hash, data, tensor->bytes);
    return TUTTI_OK;
}

tutti_status tutti_trainer_hash(const tutti_trainer *s, char *text)
{
    tutti_hash *hash;
    tutti_status status = tutti_hash_new(&hash);
    if (status) return status;
    status =
        tutti_weights_collect(&s->session, tutti_weights_parameters(&s->session), add_tensor, hash);
    tutti_hash_text(hash, text);
    tutti_hash_free(hash);
    return status;
}

tutti_status tutti_trainer_leave(tutti_trainer *s)
{
    tutti_status status = tutti_training_session_close(&s->session);
    if (s->train.source) tutti_dataset_close(&s->train);
    if (s->test.source) tutti_dataset_close(&s->test);
    tutti_class_names_free(s->class_names);
    free(s->layer_seconds);
    free(s->sums.value);
    free(s->mean);
    free(s->deviation);
    tutti_bad_images_free(&s->bad_train);
    tutti_bad_images_free(&s->bad_test);
    tutti_outputs_release(&s->outputs);
    tutti_engines_free(s->engines);
    tutti_find_rate_free(s->find_rate);
    *s = (tutti_trainer){0};
    return status;
}
