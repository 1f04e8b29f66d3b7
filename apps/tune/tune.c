#include "apps/tune/tune.h"

#include "apps/tune/file.h"
#include "apps/tune/key.h"
#include "apps/tune/search.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/passes/bucket.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 20, LEAST_STEPS = 2, FIRST_STEPS = 2, ORDER_AT = 2 };
static const double block_s = 0.3, least_most_s = 5, share_of_run = 0.02, short_step_s = 0.1;

/* What rank 0 has all ranks do next. */
typedef struct turn {
    int try; /* 0: the configuration is the choice */
    int warm, steps;
    tutti_configuration configuration;
} turn;

typedef struct tuner {
    const tutti_tune_options *o;
    tutti_training_session *session;
    tutti_exchange_options base; /* that candidates change */
    int together;
    double begun_s;
    tutti_tune_result *result;

    /* Rank 0 only. */
    char key[TUTTI_KEY_TEXT];
    tutti_search search;
    int started;            /* the first block has been timed, so the length of a step is known */
    int cut;                /* time ran out before the search was over */
    int steps;              /* of a block */
    double most_s, spent_s; /* on the last block */
    double gain;            /* over all ended races: the default's time over the best one's */
} tuner;

/* ---- together ---- */

static tutti_status call(tuner *t, const char *name, const tutti_coll_args *args)
{
    tutti_status status = tutti_exchange_call(t->session->exchange, name, args);
    if (status) t->together = 0;
    return status;
}

static tutti_status agree(tuner *t, tutti_status mine)
{
    return tutti_exchange_agree(t->session->exchange, mine, NULL);
}

/* Rank 0's turn on all ranks. */
static tutti_status share(tuner *t, turn *what)
{
    enum { NUMBERS = 3 + TUTTI_CONFIGURATION_NUMBERS };
    int64_t number[NUMBERS] = {what->try, what->warm, what->steps};
    if (t->session->placement.rank == 0) tutti_configuration_pack(&what->configuration, &number[3]);
    tutti_status status = call(t, "the tuner's turn",
        &(tutti_coll_args){
            .kind = TUTTI_BROADCAST, .dtype = TUTTI_I64, .count = NUMBERS, .recv = number});
    if (status) return status;
    *what = (turn){(int)number[0], (int)number[1], (int)number[2], {0}};
    tutti_configuration_unpack(&number[3], &what->configuration);
    return TUTTI_OK;
}

static tutti_status slowest(tuner *t, double *step_s)
{
    return call(t, "the slowest step",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .recv = step_s});
}

/* ---- one block of steps ---- */

static tutti_status reopen(tuner *t, const tutti_configuration *configuration, int trial)
{
    tutti_exchange_options options = tutti_configuration_apply(configuration, &t->base);
    if (trial) options.order.at = ORDER_AT;
    tutti_status status = tutti_training_session_reopen(t->session, &options);
    if (status) t->together = 0;
    return status;
}

/* After a failure not shared by all ranks the run stays: its steps may not have ended. */
static tutti_status run_workload(tuner *t, const turn *what, double *step_s, double *hidden_pct)
{
    const tutti_workload *workload = &t->o->workload;
    tutti_pace pace = {0};
    tutti_exchange_set_activity(t->session->exchange, "prepares steps to try a design with", 1);
    int ends = t->o->interrupted && t->o->interrupted(t->o->ctx);
    tutti_status status = agree(t, ends ? TUTTI_ERR_INTERRUPTED : TUTTI_OK);
    if (!status) status = tutti_workload_begin(workload, t->session);
    tutti_exchange_set_activity(t->session->exchange, NULL, 0);
    if (!status) {
        status = tutti_workload_pace(workload, t->session, what->warm, what->steps, &pace);
        if (status) t->together = 0;
        *step_s = pace.step_s;
        *hidden_pct = pace.hidden_pct;
    }
    if (!status) status = slowest(t, step_s);
    if (t->together) tutti_training_session_stop(t->session);
    return status;
}

/* ---- rank 0 decides ---- */

static void report_race(const tuner *t)
{
    const tutti_search *s = &t->search;
    char text[TUTTI_CONFIGURATION_TEXT];
    int winner = tutti_race_winner(&s->race);
    for (int c = 0; c < s->race.candidates; c++) {
        double hidden = 0;
        int times = s->race.times[c];
        for (int r = 0; r < times; r++) hidden += s->hidden_pct[c][r] / times;
        tutti_log(TUTTI_LOG_INFO, "  %-48s %9.2f ms per step, %3.0f %% hidden, %.3f%s",
            tutti_configuration_text(&s->configuration[c], text),
            1e3 * tutti_race_median(&s->race, c), hidden, tutti_race_ratio(&s->race, c, 0),
            c == winner ? " *" : "");
    }
}

static void keep_figures(tuner *t)
{
    const tutti_race *race = &t->search.race;
    int winner = tutti_race_winner(race);
    if (!race->rounds) return;
    t->gain *= tutti_race_ratio(race, 0, winner);
    t->result->step_ms = 1e3 * tutti_race_median(race, winner);
    t->result->hidden_pct = t->search.hidden_pct[winner][race->times[winner] - 1];
}

/* The first block gives the length of a step, from which the length of blocks and of the search follow. It does not
 * count: connections and caches were cold. */
static void plan(tuner *t, double step_s)
{
    double run_s = share_of_run * (double)t->o->steps * step_s;
    t->started = 1;
    t->steps = (int)fmin(MOST_STEPS, fmax(LEAST_STEPS, ceil(block_s / step_s)));
    t->most_s = t->o->time_auto ? fmax(least_most_s, run_s) : t->o->most_s;
    t->spent_s += (t->steps - FIRST_STEPS) * step_s;
}

static void record(tuner *t, double step_s, double hidden_pct)
{
    t->result->tried++;
    if (!t->started) {
        plan(t, step_s);
    } else if (tutti_search_time(&t->search, step_s, hidden_pct)) {
        report_race(t);
        keep_figures(t);
        tutti_search_step(&t->search);
    }
}

/* Whether there is time for another round; a round that has begun is completed. */
static int has_time(const tuner *t)
{
    const tutti_race *race = &t->search.race;
    int left = tutti_race_left(race), all = 0;
    for (int c = 0; c < race->candidates; c++) all += !race->out[c];
    return left < all || tutti_clock_s() - t->begun_s + left * t->spent_s <= t->most_s;
}

static turn decide(tuner *t)
{
    turn next = {.warm = ORDER_AT, .steps = FIRST_STEPS};
    next.try = tutti_search_next(&t->search, &next.configuration);
    if (next.try && !t->started && (t->o->time_auto || t->o->most_s > 0)) return next;
    next.steps = t->steps;
    if (t->result->step_ms > 0 && 1e-3 * t->result->step_ms < short_step_s) next.warm++;
    if (next.try && !has_time(t)) {
        t->cut = 1;
        if (t->search.race.rounds) report_race(t);
        keep_figures(t);
        next.try = 0;
    }
    if (!next.try) next.configuration = tutti_search_best(&t->search);
    return next;
}

static void report_choice(const tuner *t)
{
    const tutti_tune_result *r = t->result;
    char text[TUTTI_CONFIGURATION_TEXT], base[TUTTI_CONFIGURATION_TEXT];
    const tutti_configuration first = tutti_search_default(&t->search.space);
    tutti_configuration_text(&r->configuration, text);
    tutti_configuration_text(&first, base);
    if (r->step_ms <= 0 && !t->cut)
        tutti_log(TUTTI_LOG_INFO, "auto: %s, as nothing else is left to choose from", text);
    else if (r->step_ms <= 0)
        tutti_log(TUTTI_LOG_INFO, "auto: %s, as %.3g s leave no time to compare", text, t->most_s);
    else if (tutti_configuration_equal(&first, &r->configuration))
        tutti_log(
            TUTTI_LOG_INFO, "auto: %s: nothing that was tried is more than 1 %% faster", text);
    else
        tutti_log(TUTTI_LOG_INFO, "auto: %s: %.1f %% less time per step than %s", text,
            100 * (1 - r->step_ms / r->default_ms), base);
}

/* ---- the space, the file ---- */

static void measure_marks(const tutti_graph *graph, tutti_search_space *space)
{
    space->default_bytes = tutti_bucket_default_bytes(graph);
    for (int n = 0; n < tutti_graph_nodes(graph); n++) {
        const tutti_node *node = tutti_graph_get_node(graph, n);
        if (node->kind != TUTTI_NODE_MARK) continue;
        int64_t bytes = (int64_t)tutti_graph_get_tensor(graph, node->access[0].tensor)->bytes;
        space->all_bytes += bytes;
        if (bytes > space->largest_bytes) space->largest_bytes = bytes;
    }
}

static tutti_status open_search(tuner *t)
{
    const tutti_exchange_options *e = &t->base;
    tutti_search_space space = {.design_free = t->o->design_free,
        .lanes = e->lanes,
        .bucket_bytes = e->bucket_bytes,
        .chunk_bytes = e->chunk_bytes,
        .priority = t->o->priority_free ? -1 : e->order.on,
        .base = e->design};
    tutti_status status = tutti_workload_build(&t->o->workload, t->session);
    if (status) return status;
    measure_marks(t->session->graph, &space);
    tutti_training_session_clear(t->session);
    tutti_search_begin(&t->search, &space);
    t->gain = 1;
    return TUTTI_OK;
}

/* Makes the key, with what the user has fixed. */
static tutti_status make_key(tuner *t)
{
    const tutti_exchange_options *e = &t->base;
    char fixed[320], chosen_by[32] = "";
    uint64_t hash = tutti_exchange_chosen_by(t->session->exchange);
    if (hash) snprintf(chosen_by, sizeof chosen_by, ":%016llx", (unsigned long long)hash);
    snprintf(fixed, sizeof fixed,
        "design=%s lanes=%d bucket=%lld chunk=%lld priority=%d algorithm=%.*s%s verify=%s "
        "comm_core=%s",
        t->o->design_free ? "auto" : e->design->name, e->lanes, (long long)e->bucket_bytes,
        (long long)e->chunk_bytes, t->o->priority_free ? -1 : e->order.on,
        (int)(e->algorithm ? strcspn(e->algorithm, hash ? ":" : "") : 4),
        e->algorithm ? e->algorithm : "auto", chosen_by, tutti_verify_mode_name(e->verify),
        e->comm_core ? e->comm_core : "none");
    tutti_status status = tutti_tune_key(t->session, &t->o->workload, fixed, t->key);
    if (status) t->together = 0;
    return status;
}

/* Whether the resumed run already had a choice, which is then used. */
static int go_on(tuner *t, tutti_configuration *configuration)
{
    char text[TUTTI_CONFIGURATION_TEXT];
    if (!t->o->known) return 0;
    tutti_configuration_text(t->o->known, text);
    if (!tutti_search_allows(&t->search.space, t->o->known)) {
        tutti_log(TUTTI_LOG_WARN,
            "auto: the run had chosen %s, which these options rule out: its sums may get other "
            "last "
            "bits",
            text);
        return 0;
    }
    *configuration = *t->o->known;
    t->result->remembered = 1;
    tutti_log(TUTTI_LOG_INFO, "auto: %s, as before the run was interrupted", text);
    return 1;
}

/* Whether the file has a choice, which is then used. */
static int remember(tuner *t, const char *path, tutti_configuration *configuration)
{
    tutti_tuning known;
    char text[TUTTI_CONFIGURATION_TEXT];
    if (!path || !tutti_tuning_find(path, t->key, &known)) return 0;
    if (!tutti_search_allows(&t->search.space, &known.configuration)) return 0;
    *configuration = known.configuration;
    t->result->remembered = 1;
    t->result->step_ms = known.step_ms;
    t->result->default_ms = known.default_ms;
    t->result->hidden_pct = known.hidden_pct;
    tutti_log(TUTTI_LOG_INFO, "auto: %s, as tried on %s (%s)",
        tutti_configuration_text(configuration, text), known.date, path);
    return 1;
}

/* The result of a complete search is remembered for all runs like this one, another only for its restarts. */
static void save(tuner *t, const char *path)
{
    const tutti_tune_result *r = t->result;
    const tutti_tuning tuning = {
        r->configuration, r->step_ms, r->default_ms, r->hidden_pct, t->cut, ""};
    int saved = path && (t->cut || r->step_ms > 0) && tutti_tuning_save(path, t->key, &tuning);
    if (t->cut)
        tutti_log(TUTTI_LOG_INFO,
            "%.3g s were not enough to try all: this choice is %s (--tuning-time)", t->most_s,
            saved ? "remembered for restarts of this run only" : "not remembered");
    else if (saved)
        tutti_log(TUTTI_LOG_INFO, "remembered in %s", path);
}

/* ---- the whole search ---- */

static tutti_status try_all(tuner *t, turn *next)
{
    double step_s = 0, hidden_pct = 0;
    tutti_status status = share(t, next);
    while (!status && next->try) {
        double begun_s = tutti_clock_s();
        status = reopen(t, &next->configuration, 1);
        if (!status) status = run_workload(t, next, &step_s, &hidden_pct);
        if (status) break;
        t->spent_s = tutti_clock_s() - begun_s;
        if (t->session->placement.rank == 0) {
            record(t, step_s, hidden_pct);
            *next = decide(t);
        }
        status = share(t, next);
    }
    return status;
}

/* An empty run, which keeps StarPU from restarting with every block. */
static tutti_status hold_starpu(const tuner *t, tutti_training_session *held)
{
    const tutti_training_session_options options = {
        .workers = t->session->options.workers, .place = t->session->place};
    tutti_status status = tutti_training_session_open(&options, held);
    if (!status) status = tutti_training_session_blank(held);
    if (!status) status = tutti_training_session_apply(held);
    if (!status) status = tutti_training_session_start(held);
    return status;
}

static tutti_status choose(tuner *t)
{
    char place[PATH_MAX];
    const char *path =
        t->session->placement.rank == 0 ? tutti_tuning_path(t->o->file, place) : NULL;
    tutti_training_session held = {0};
    turn next = {0};
    tutti_status status = make_key(t);
    if (!status) status = agree(t, t->session->placement.rank == 0 ? open_search(t) : TUTTI_OK);
    if (status) return status;
    if (t->session->placement.rank == 0 && !go_on(t, &next.configuration) &&
        !remember(t, path, &next.configuration))
        next = decide(t);
    if (!status) status = agree(t, hold_starpu(t, &held));
    if (!status) status = try_all(t, &next);
    if (!t->together) return status;
    tutti_training_session_close(&held);
    if (!status) status = reopen(t, &next.configuration, 0);
    if (status) return status;
    t->result->configuration = next.configuration;
    if (t->session->placement.rank != 0 || t->result->remembered) return TUTTI_OK;
    t->result->default_ms = t->result->step_ms * t->gain;
    report_choice(t);
    save(t, path);
    return TUTTI_OK;
}

tutti_status tutti_tune(const tutti_tune_options *options, tutti_training_session *session,
    tutti_tune_result *result, int *together)
{
    tuner t = {.o = options,
        .session = session,
        .base = session->options.exchange,
        .together = 1,
        .begun_s = tutti_clock_s(),
        .result = result};
    *result = (tutti_tune_result){.configuration = {.design = t.base.design,
                                      .lanes = tutti_exchange_lanes(session->exchange),
                                      .bucket_bytes = t.base.bucket_bytes,
                                      .chunk_bytes = t.base.chunk_bytes,
                                      .priority = t.base.order.on}};
    tutti_status status = TUTTI_OK;
    if (session->placement.ranks > 1)
        status = choose(&t);
    else
        tutti_log(TUTTI_LOG_INFO,
            "auto: --design %s, because one rank has no other to exchange with",
            t.base.design->name);
    result->seconds = tutti_clock_s() - t.begun_s;
    *together = t.together;
    return status;
}
