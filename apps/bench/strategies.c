#include "apps/bench/choices.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/strategies_run.h"
#include "apps/session/precision.h"
#include "dag/base/log.h"
#include "dag/codecs/codecs.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 24 };

#define AT(member) .offset = offsetof(tutti_strategies_options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "data", "DIR", .flags = TUTTI_CONF_REQUIRED, .environment = "TUTTI_DATA",
        AT(data), .help = "data set, as for tutti-cifar"},
    {TUTTI_CONF_CHOICE, "model", "NAME", .fallback = "mlp", .choice = tutti_choice_model, AT(model),
        .help = "model"},
    {TUTTI_CONF_REAL, "accuracy", "PCT", .fallback = "80", .low = 0.001, .high = 100,
        AT(accuracy_pct),
        .help = "the accuracy on the test set up to which seconds and bytes count"},
    {TUTTI_CONF_INT, "epochs", "N", .fallback = "2", .low = 1, .high = TUTTI_STRATEGIES_EVALS,
        AT(epochs), .help = "passes over the training set, each with an evaluation"},
    {TUTTI_CONF_INT, "batch", "N", .fallback = "32", .low = 1, .high = 65536, AT(batch),
        .help = "images per rank and step"},
    {TUTTI_CONF_REAL_OR, "lr", "X", .fallback = "auto", .low = 0, .high = 1000, .words = {"auto"},
        AT(lr),
        .help = "learning rate; auto: the model's own, in proportion to the images per step, up to "
                "256"},
    TUTTI_SETTING_PRECISION(AT(precision)),
    {TUTTI_CONF_INT, "seed", "N", .fallback = "1", .low = 0, .high = 1e9, AT(seed),
        .help = "seed of weights and of the order of images"},
    {TUTTI_CONF_INT_OR, "hosts", "N", .fallback = "4", .low = 2, .high = 64, .words = {"none"},
        AT(hosts),
        .help = "hosts of the box (tutti-box, which needs root), a rank on each; none: --ranks on "
                "this machine, whose bytes are not counted"},
    {TUTTI_CONF_INT, "ranks", "N", .fallback = "2", .low = 1, .high = 64, AT(ranks),
        .help = "ranks where --hosts is none"},
    {TUTTI_CONF_REAL, "link-mbit", "R", .fallback = "100", .low = 0.1, .high = 1e6, AT(link_mbit),
        .help = "rate of the box's links"},
    {TUTTI_CONF_REAL, "cell-timeout", "S", .fallback = "3600", .low = 1, .high = 1e6,
        AT(cell_timeout_s), .help = "seconds after which a training is abandoned"},
    {TUTTI_CONF_TEXT, "strategy", "TRAINING...", .flags = TUTTI_CONF_OPERAND, .high = MOST_ROWS,
        AT(wish), .help = "what to train with"},
    TUTTI_BENCH_SETTINGS_RESULT(tutti_strategies_options),
    {0},
};
static const tutti_conf_brief brief[] = {{"data", NULL}, {"model", NULL}, {"accuracy", NULL},
    {"epochs", NULL}, {"batch", NULL}, {"hosts", NULL}, {"link-mbit", NULL}, {"json", NULL},
    {"csv", NULL}, {0}};

static const tutti_conf conf = {
    .program = "tutti-bench strategies",
    .usage = "--data DIR [OPTION]... [TRAINING]...",
    .summary =
        "Trains the same model with every strategy and every codec, one after the other, in "
        "a box with slow links, and prints seconds and bytes to an accuracy. A TRAINING is "
        "STRATEGY[/CODEC][@LAYOUT], each as of tutti-cifar (local:period=16, sync/powersgd:4, "
        "sync@servers=1); servers come on top of the other ranks. Without any, all of its tables. "
        "tutti-bench plot draws what --json has.",
    .epilogue = "Exit status: 0, even if the accuracy is not reached; 1 if a training failed.",
    .settings = settings,
    .brief = brief,
};

typedef struct bench {
    tutti_strategies_options o;
    tutti_result *result;
    int rows;
    tutti_strategies_row row[MOST_ROWS];
} bench;

/* ---- what is trained with ---- */

static tutti_status add(bench *b, const char *strategy, const char *compress, const char *layout)
{
    if (b->rows == MOST_ROWS)
        return tutti_fail(TUTTI_ERR_USAGE, "these are more than %d trainings", MOST_ROWS);
    tutti_strategies_row *r = &b->row[b->rows++];
    const int codes = strcmp(compress, "none") != 0;
    snprintf(r->strategy, sizeof r->strategy, "%s", strategy);
    snprintf(r->compress, sizeof r->compress, "%s", compress);
    snprintf(r->layout, sizeof r->layout, "%s", layout);
    snprintf(r->name, sizeof r->name, "%.40s%s%.20s%s%.28s", strategy, codes ? ", " : "",
        codes ? compress : "", *layout ? ", " : "", layout);
    return TUTTI_OK;
}

/* Each strategy of the table, with each of the words that it takes, and with a server if it goes with servers. */
static tutti_status add_strategies(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; tutti_strategies[i] && !status; i++) {
        const tutti_strategy *s = tutti_strategies[i];
        const char *const *words = s->parameter ? s->parameter->words : NULL;
        if (!words && !s->needs_servers) status = add(b, s->name, "none", "");
        for (int w = 0; words && words[w] && !status; w++) {
            char text[TUTTI_STRATEGIES_NAME];
            snprintf(text, sizeof text, "%s:%s", s->name, words[w]);
            status = add(b, text, "none", "");
        }
        if (tutti_strategy_with_servers(s) && !status)
            status = add(b, s->name, "none", "servers=1");
    }
    return status;
}

/* Each codec of the table but the first, none, with the number of its example. */
static tutti_status add_codecs(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 1; tutti_codecs[i] && !status; i++) {
        char text[TUTTI_CODEC_TEXT];
        status = add(b, tutti_strategy_sync.name,
            tutti_codec_print(tutti_codecs[i], tutti_codecs[i]->example, text), "");
    }
    return status;
}

/* "sync/powersgd:4", "sync@servers=1,clients=2" */
static tutti_status add_wish(bench *b, const char *wish)
{
    char text[TUTTI_STRATEGIES_NAME], fault[512];
    const tutti_strategy *strategy;
    const tutti_codec *codec;
    tutti_strategy_settings values;
    double value;
    snprintf(text, sizeof text, "%s", wish);
    char *at = strchr(text, '@');
    if (at) *at++ = '\0';
    char *slash = strchr(text, '/');
    if (slash) *slash++ = '\0';
    if (!tutti_strategy_read(text, &strategy, &values, fault, sizeof fault))
        return tutti_conf_refuse(&conf, "strategy", wish, fault);
    if (strategy->needs_servers && !at)
        return tutti_conf_refuse(
            &conf, "strategy", wish, "needs parameter servers: put @servers=1 behind it");
    if (slash && !tutti_codec_read(slash, &codec, &value, fault, sizeof fault))
        return tutti_conf_refuse(&conf, "strategy", wish, fault);
    return add(b, text, slash ? slash : "none", at ? at : "");
}

static tutti_status add_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; b->o.wish[i] && !status; i++) status = add_wish(b, b->o.wish[i]);
    if (b->o.wish[0] || status) return status;
    status = add_strategies(b);
    return status ? status : add_codecs(b);
}

/* ---- results ---- */

static void report_head(const bench *b)
{
    if (b->o.hosts.word)
        printf("%s in %s, batch %" PRId64 ", %" PRId64 " ranks on this machine", b->o.model,
            b->o.precision, b->o.batch, b->o.ranks);
    else
        printf("%s in %s, batch %" PRId64 ", %" PRId64 " hosts, %g Mbit/s", b->o.model,
            b->o.precision, b->o.batch, b->o.hosts.value, b->o.link_mbit);
    printf("; %" PRId64 " epochs, to %g %%\n", b->o.epochs, b->o.accuracy_pct);
    printf("%-36s %8s %10s %9s %9s %8s %9s %9s\n", "", "last %", "s in all", "MB", "epochs", "s to",
        "MB to", "/ first");
    fflush(stdout);
}

static void write_events(bench *b, const tutti_strategies_row *r)
{
    for (int i = 0; i < r->evals; i++) {
        const tutti_strategies_eval *e = &r->eval[i];
        json_t *event =
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:i, s:I, s:s, s:[f]}",
                "event", "strategy", "name", r->name, "strategy", r->strategy, "compress",
                r->compress, "model", b->o.model, "precision", b->o.precision, "epoch",
                (json_int_t)e->epoch, "step", (json_int_t)e->step, "seconds", e->seconds,
                "accuracy_pct", e->accuracy_pct, "ranks", (int)tutti_strategies_ranks(&b->o, r),
                "batch", (json_int_t)b->o.batch, "unit", "%", "samples", e->accuracy_pct);
        if (e->mb > 0) json_object_set_new(event, "mb", json_real(e->mb));
        if (!b->o.hosts.word) json_object_set_new(event, "link_mbit", json_real(b->o.link_mbit));
        if (i == r->reached) json_object_set_new(event, "reached", json_true());
        tutti_result_event(b->result, event);
    }
}

/* "-" for what is not there. */
static void put(int decimals, double value, int width)
{
    char text[32] = "-";
    if (value > 0) snprintf(text, sizeof text, "%.*f", decimals, value);
    printf(" %*s", width, text);
}

static void report_training(bench *b, const tutti_strategies_row *r)
{
    const tutti_strategies_row *first = &b->row[0];
    if (r->failed) {
        printf("%-36s failed\n", r->name);
        return;
    }
    const tutti_strategies_eval *last = &r->eval[r->evals - 1];
    const tutti_strategies_eval *to = r->reached < 0 ? NULL : &r->eval[r->reached];
    const double base =
        first->failed || first->reached < 0 ? 0 : first->eval[first->reached].seconds;
    printf("%-36s %8.2f", r->name, last->accuracy_pct);
    put(1, last->seconds, 10);
    put(1, last->mb, 9);
    put(0, to ? (double)to->epoch : 0, 9);
    put(1, to ? to->seconds : 0, 8);
    put(1, to ? to->mb : 0, 9);
    put(3, to && base > 0 ? to->seconds / base : 0, 9);
    puts("");
    fflush(stdout);
    write_events(b, r);
}

static tutti_status run(int argc, char **argv)
{
    static bench b; /* too large for the stack */
    int go, failed = 0;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    status = add_all(&b);
    if (!status) status = tutti_result_open(b.o.json, b.o.csv, &b.result);
    if (status) return status;
    report_head(&b);
    for (int i = 0; i < b.rows; i++) {
        failed += tutti_strategies_train(&b.o, &b.row[i]) != TUTTI_OK;
        report_training(&b, &b.row[i]);
    }
    puts("s: of the steps, without evaluations. MB: sent by the host that sends most. / first: "
         "seconds to the accuracy, over those of the first row.");
    status = tutti_result_close(b.result);
    if (failed && !status)
        status = tutti_fail(TUTTI_ERR_IO, "%d of %d trainings failed", failed, b.rows);
    return status;
}

const tutti_bench tutti_bench_strategies = {
    "strategies", "seconds and bytes to an accuracy, of every strategy and codec", run};
