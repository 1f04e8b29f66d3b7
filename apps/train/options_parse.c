#include "apps/train/options.h"

#include "apps/architecture/architecture.h"
#include "apps/train/config_file.h"
#include "designs/elastic/elastic_start.h"
#include "dag/codecs/codecs.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"
#include "dag/strategies/strategies.h"
#include "designs/exchange/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_setting *find_setting(tutti_train_options *o, const char *name)
{
    for (tutti_setting *s = o->setting; s->kind != TUTTI_CONF_END; s++)
        if (s->name && strcmp(s->name, name) == 0) return s;
    return NULL;
}

static void set_defaults(
    tutti_train_options *o, const tutti_train_default defaults[], const char *source)
{
    for (const tutti_train_default *d = defaults; d->option; d++) {
        tutti_setting *setting = find_setting(o, d->option);
        setting->fallback = d->value;
        setting->source = source;
    }
}

/* The same of words "--batch=64", which this cuts. */
static void set_config(tutti_train_options *o, char **words, const char *source)
{
    for (; words && *words; words++) {
        (*words)[strcspn(*words, "=")] = '\0'; /* the first time */
        tutti_setting *setting = find_setting(o, *words + 2);
        setting->fallback = *words + strlen(*words) + 1;
        setting->source = source;
        setting->flags &= ~TUTTI_CONF_REQUIRED;
    }
}

/* The table as this program has it. */
static void adapt(tutti_train_options *o, const tutti_train_program *program)
{
    o->program = program;
    o->conf = (tutti_conf){.program = program->name,
        .usage = "--data DIR [OPTION]...",
        .summary = program->summary,
        .epilogue = program->epilogue,
        .settings = o->setting,
        .brief = tutti_train_brief};
    memcpy(o->setting, tutti_train_settings, sizeof o->setting);
    find_setting(o, "model")->choice = program->model;
    find_setting(o, "format")->choice = program->format;
    find_setting(o, "recipe")->choice = program->recipe;
    set_defaults(o, program->defaults, NULL);
}

/* Texts become values. The first that is not understood ends the run, unless that has ended already. */
typedef struct reading {
    tutti_train_options *o;
    int tells;
    tutti_status status;
} reading;

static void refuse(reading *r, const char *name, const char *value, const char *reason)
{
    if (r->tells && !r->status) r->status = tutti_conf_refuse(&r->o->conf, name, value, reason);
}

static void read_strategy(reading *r)
{
    tutti_train_strategy *s = &r->o->strategy;
    char fault[256];
    const char *role = getenv("TUTTI_KV_ROLE");
    if (strcmp(s->name, "auto") != 0 &&
        !tutti_strategy_read(s->name, &s->kind, &s->settings, fault, sizeof fault)) {
        s->kind = NULL;
        refuse(r, "strategy", s->name, fault);
    }
    s->jobs = role && *role;
    s->stored = s->jobs || (s->kind && s->kind->pushes);
    /* With a store it may have fewer parameters. */
    const tutti_strategy *stored = s->jobs && s->kind ? tutti_strategy_with_store(s->kind) : NULL;
    tutti_strategy_print(stored ? stored : s->kind, &s->settings, s->text);
}

/* --compress bf16 and --wire bf16 are one setting. */
static void read_travel(reading *r)
{
    tutti_train_travel *t = &r->o->travel;
    char fault[256] = "";
    t->wire = tutti_setting_wire_dtype(t->wire_name);
    if (t->compress_name &&
        tutti_codec_read(t->compress_name, &t->codec, &t->codec_value, fault, sizeof fault)) {
        if (t->wire != TUTTI_F32 && t->wire != t->codec->wire)
            snprintf(fault, sizeof fault,
                "and --wire %s both say how gradients travel: leave out --wire", t->wire_name);
        t->wire = t->codec->wire;
        t->wire_name = t->wire == TUTTI_F32 ? "f32" : t->codec->name;
    }
    if (*fault) refuse(r, "compress", t->compress_name, fault);
    if (!t->codec && t->wire != TUTTI_F32)
        snprintf(t->text, sizeof t->text, "%s", t->wire_name);
    else
        tutti_codec_print(t->codec, t->codec_value, t->text);
}

static void read_layout(reading *r)
{
    const tutti_train_layout *text = &r->o->layout;
    tutti_layout *l = &r->o->layout.value;
    const char *fault = text->text ? tutti_layout_read(text->text, l) : NULL;
    if (fault) {
        l->placement = (tutti_placement){0};
        refuse(r, "layout", text->text, fault);
    }
    if (!tutti_layout_read_layers(text->stage_layers, l))
        refuse(r, "stage-layers", text->stage_layers,
            "must be auto, timed, or the number of layers of each stage, such as 10,12");
    l->order = tutti_pipeline_order_of(text->pipeline_name);
    l->micro_batches = (int)tutti_conf_int_or(text->micro_batches, 0);
}

static void read_images(reading *r)
{
    const tutti_data_settings *text = &r->o->images;
    tutti_train_data *data = &r->o->data;
    data->augment = tutti_augment_find(text->augment);
    if (!tutti_rand_augment_read(text->rand_augment, &data->rand_augment))
        refuse(r, "rand-augment", text->rand_augment,
            "must be none, or how many operations (1 to 8) and their magnitude (0 to 30), such as "
            "2,9");
    if (!tutti_jitter_read(text->jitter, &data->jitter))
        refuse(r, "jitter", text->jitter,
            "must be none, or three numbers from 0 to 1 for brightness, contrast and saturation, "
            "such as 0.4,0.4,0.4");
    if (text->split && !tutti_held_out_read(text->split, &data->held_out, &data->held_out_seed))
        refuse(r, "split", text->split,
            "must be a share from 0.001 to 0.9, and may be followed by a seed, such as 0.2,7");
    if (!tutti_shuffle_read(text->shuffle, &data->window))
        refuse(r, "shuffle", text->shuffle,
            "must be full, or window:G for shuffling within runs of G images, 2 to 1000000000");
}

static void read_rate(reading *r)
{
    tutti_train_rate *rate = &r->o->rate;
    char reason[128];
    rate->schedule = tutti_rate_schedule_find(rate->schedule_name);
    rate->milestones = tutti_rate_schedule_read(rate->milestones_text, rate->milestone);
    if (rate->milestones) return;
    snprintf(reason, sizeof reason,
        "must be up to %d ascending epochs from 1 on, separated by commas", TUTTI_RATE_MILESTONES);
    refuse(r, "milestones", rate->milestones_text, reason);
}

static void read_exchange(reading *r)
{
    tutti_train_exchange *x = &r->o->exchange;
    const tutti_strategy *strategy = r->o->strategy.kind;
    x->design_auto = strcmp(x->design_name, "auto") == 0;
    x->design = tutti_design_find(!x->design_auto                      ? x->design_name
                                  : tutti_conf_int_or(x->lanes, 1) > 1 ? "concurrent"
                                                                       : "funneled");
    x->verify = tutti_verify_mode_find(x->verify_name);
    /* Nothing is there to be put in an order where replicas train alone, or ranks have different collectives. */
    const int ordered = !(strategy && strategy->alone) &&
                        !tutti_placement_is_divided(&r->o->layout.value.placement);
    x->priority = ordered && strcmp(x->priority_name, "off") != 0;
    x->priority_free = ordered && strcmp(x->priority_name, "auto") == 0;
}

/* A mistake in a file that an option names is one in the options. */
static void read_model(reading *r)
{
    if (!r->tells || r->status) return;
    r->status = tutti_architecture_open(r->o->model_name, &r->o->model);
    if (r->status == TUTTI_ERR_FORMAT) r->status = TUTTI_ERR_USAGE;
}

static tutti_status read_texts(tutti_train_options *o, int tells)
{
    reading r = {o, tells, TUTTI_OK};
    o->check_only |= o->remote_buffers;
    o->update.rule = tutti_update_rule_find(o->update.name);
    o->elastic.on = tutti_elastic_start_asked() != NULL;
    o->elastic.batch_global = strcmp(o->elastic.batch_rule_name, "global") == 0;
    read_rate(&r);
    read_layout(&r);
    read_strategy(&r);
    read_exchange(&r);
    read_travel(&r);
    read_images(&r);
    o->evaluation.views =
        (int)tutti_conf_int_or(o->evaluation.views_asked, o->data.augment ? 2 : 1);
    read_model(&r);
    return r.status;
}

/* The command line and --config, over the defaults of the program, and then of --recipe. */
static tutti_status read_table(
    tutti_train_options *o, int argc, char *const argv[], tutti_conf_wish *wish)
{
    const char *file = tutti_train_config_find(argc, argv);
    char **config = NULL;
    tutti_status status = file ? tutti_train_config_read(o, file, &config) : TUTTI_OK;
    snprintf(o->config_source, sizeof o->config_source, "config %.200s", file ? file : "");
    set_config(o, config, o->config_source);
    const tutti_status read = tutti_conf_parse(&o->conf, argc, argv, o, NULL, wish);
    if (!status) status = read;
    o->recipe = tutti_train_recipe_find(o->recipe_name);
    if (!status && o->recipe->defaults->option) { /* once more, with its defaults */
        snprintf(o->source, sizeof o->source, "recipe %s", o->recipe_name);
        set_defaults(o, o->recipe->defaults, o->source);
        set_config(o, config, o->config_source);
        status = tutti_conf_parse(&o->conf, argc, argv, o, NULL, wish);
    }
    return status;
}

/* What an exchange would refuse. */
static void set_harmless(tutti_train_exchange *x)
{
    x->lanes = (tutti_conf_int){.word = TUTTI_CONF_AUTO};
    x->unsafe = 1;
    x->comm_core = NULL;
    x->stall.warn_s = x->stall.dump_s = x->stall.abort_s = 0;
}

tutti_status tutti_train_options_parse(const tutti_train_program *program, int argc,
    char *const argv[], tutti_train_options *options, tutti_conf_wish *wish)
{
    *options = (tutti_train_options){.words = argv,
        .exchange.stall = {.on = 1, .name = {"--stall-warn", "--stall-dump", "--stall-abort"}}};
    adapt(options, program);
    tutti_status status = read_table(options, argc, argv, wish);
    const int runs = !status && wish->what == TUTTI_CONF_RUN;
    const tutti_status read = read_texts(options, runs);
    if (!status) status = read;
    if (!status && runs) status = tutti_train_options_check(options);
    if (status) set_harmless(&options->exchange);
    return status;
}
