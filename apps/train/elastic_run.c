#include "config.h"

#include "apps/train/elastic_run.h"

#include "apps/train/agree.h"
#include "designs/elastic/elastic_start.h"
#include "apps/train/hash.h"
#include "dag/base/clock.h"
#include "dag/base/lock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank leaves its epoch after the step, evaluation or checkpoint that it is in: this many times --timeout. */
static const double patience = 10;

/* ---- --batch-rule global ---- */

/* For some number of ranks that may train; 0: they all divide the images of these. */
static int find_indivisible(const tutti_elastic_start *s, int64_t batch)
{
    for (int ranks = s->least; ranks <= s->most; ranks++)
        if (batch * s->ranks % ranks) return ranks;
    return 0;
}

static tutti_status refuse_division(
    const tutti_train_options *o, const tutti_elastic_start *s, int ranks)
{
    enum { LARGEST = 65536 /* of --batch */ };
    char reason[256], advice[64] = "use other bounds";
    int64_t batch = o->batch + 1;
    while (batch <= LARGEST && find_indivisible(s, batch)) batch++;
    if (batch <= LARGEST)
        snprintf(advice, sizeof advice, "use --batch %" PRId64 ", or other bounds", batch);
    snprintf(reason, sizeof reason,
        "%d x --batch %" PRId64 " images cannot be divided among %d ranks, and from %d to %d may "
        "train: %s",
        s->ranks, o->batch, ranks, s->least, s->most, advice);
    return tutti_conf_refuse(&o->conf, "batch-rule", o->elastic.batch_rule_name, reason);
}

/* Before the run begins, so that it does not end when a rank has died. */
static tutti_status check_division(tutti_train_options *o, const tutti_elastic_start *s)
{
    const int64_t given = o->batch;
    const int wrong = find_indivisible(s, given);
    tutti_status status = wrong ? refuse_division(o, s, wrong) : TUTTI_OK;
    for (int ranks = s->least; ranks <= s->most && !status; ranks++) {
        o->batch = given * s->ranks / ranks;
        status = tutti_train_options_check(o);
        if (status)
            tutti_fail(status, "with --batch-rule global, each of %d ranks has --batch %" PRId64,
                ranks, o->batch);
    }
    o->batch = given;
    return status;
}

/* Fewer than the least train nothing: they only save what they have. */
void tutti_train_elastic_share(const tutti_train_elastic *e, tutti_train_options *options)
{
    if (e->images && e->epoch.n >= e->least) options->batch = e->images / e->epoch.n;
}

int tutti_train_elastic_can_lose_one(const tutti_train_elastic *e)
{
    return e->epoch.n - 1 >= (e->start->lasting ? e->least : 1);
}

/* ---- opening ---- */

/* Another version may compute otherwise. */
static uint64_t hash_settings(const char *settings)
{
    static const char version[] = PACKAGE_VERSION;
    const uint64_t both[] = {
        tutti_hash_block(version, sizeof version), tutti_hash_block(settings, strlen(settings))};
    return tutti_hash_block(both, sizeof both);
}

/* *door: NULL, if the launcher has opened it. */
static tutti_status find_others(
    const tutti_train_options *o, tutti_elastic_start *start, tutti_tcp_listener **door)
{
    if (o->elastic.least) return tutti_elastic_start_mpi((int)o->elastic.least, start, door);
    const char *wrong = tutti_elastic_start_read(tutti_elastic_start_asked(), start);
    return wrong ? tutti_fail(TUTTI_ERR_USAGE,
                       "TUTTI_ELASTIC %s: it is set by tutti-run --elastic, and by nothing else",
                       wrong)
                 : TUTTI_OK;
}

tutti_status tutti_train_elastic_open(tutti_train_options *o, const char *settings,
    tutti_interrupt *interrupt, tutti_train_elastic *e)
{
    static tutti_elastic_start start;
    tutti_tcp_listener *door = NULL;
    tutti_elastic_options options;
    *e = (tutti_train_elastic){.interrupt = interrupt, .start = &start};
    tutti_status status = find_others(o, &start, &door);
    if (!status && o->elastic.batch_global) status = check_division(o, &start);
    if (status) return status;
    options = tutti_elastic_start_options(&start);
    options.options = hash_settings(settings);
    options.ack_s = patience * o->exchange.timeout_s;
    tutti_interrupt_hush(interrupt); /* what a signal asks for depends on those of the others */
    static char run[32];
    const char *named = getenv("TUTTI_RUN"); /* by tutti-run, or by who started the job */
    snprintf(run, sizeof run, "elastic.%016" PRIx64, (uint64_t)start.run);
    if (!named || !*named) tutti_lock_name_run(run);
    e->id = start.self.id;
    e->least = start.least;
    e->images = o->elastic.batch_global ? start.ranks * o->batch : 0;
    o->elastic.batch_given = o->elastic.batch_global ? o->batch : 0;
    tutti_snapshots_begin(&e->kept, start.first.n > 0);
    options.door = door;
    if (!door) status = tutti_tcp_listener_adopt(start.door, start.token, &options.door);
    return status ? status : tutti_elastic_open(&options, &e->elastic);
}

/* ---- entering ---- */

/* The ranks of a list that another one lacks, as "rank 2 (number 5)"; returns how many. */
static int name_lacking(
    const tutti_membership *of, const tutti_membership *in, char *text, size_t size)
{
    int lacking = 0;
    size_t used = 0;
    *text = '\0';
    for (int r = 0; r < of->n; r++) {
        if (tutti_elastic_rank(in, of->entry[r].id) >= 0) continue;
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%srank %d (number %" PRId64 ")",
                lacking ? ", " : "", r, of->entry[r].id);
        lacking++;
    }
    return lacking;
}

/* The step before the first one of this epoch. Without a snapshot all begin anew. */
static int64_t first_of(const tutti_train_elastic *e)
{
    return e->epoch.snapshot > 0 ? e->epoch.snapshot : e->origin;
}

/* It was asked to, alone. */
static void say_leaving(const tutti_train_elastic *e)
{
    tutti_log(TUTTI_LOG_WARN, "%s: this rank leaves the run after step %" PRId64,
        tutti_interrupt_name(tutti_interrupt_asked(e->interrupt)), e->kept.newest.step);
}

/* The whole run is to end, or its last rank: what is left of it saves its snapshot, however few ranks that are. */
static int is_ending(const tutti_train_elastic *e)
{
    const int asked = tutti_interrupt_asked(e->interrupt);
    return asked == SIGINT || (asked && e->epoch.n == 1);
}

static void report_change(const tutti_train_elastic *e, const tutti_membership *before)
{
    char lost[512], come[512];
    const tutti_membership *now = &e->epoch;
    const int losses = name_lacking(before, now, lost, sizeof lost);
    const int joins = name_lacking(now, before, come, sizeof come);
    const int64_t again = e->again;
    tutti_log(TUTTI_LOG_WARN,
        "%s%s%s%s%s%s: %d rank%s go%s on from step %" PRId64 "; %" PRId64 " step%s computed again",
        lost,
        losses == 0  ? ""
        : losses > 1 ? " are lost"
                     : " is lost",
        losses && joins ? ", and " : "", come,
        joins == 0  ? ""
        : joins > 1 ? " have joined"
                    : " has joined",
        losses || joins ? "" : "the epoch has ended early", now->n, now->n == 1 ? "" : "s",
        now->n == 1 ? "es" : "", first_of(e), again, again == 1 ? " is" : "s are");
}

static int is_asked(const void *ctx)
{
    const tutti_train_elastic *e = ctx;
    return tutti_interrupt_asked(e->interrupt) != 0;
}

static tutti_status await_others(tutti_train_elastic *e)
{
    const tutti_status status = tutti_elastic_await_others(
        e->elastic, e->least, e->kept.newest.step, e->kept.before.step, is_asked, e);
    if (status || tutti_train_elastic_wishes(e) || is_ending(e)) return status;
    say_leaving(e);
    return TUTTI_ERR_INTERRUPTED;
}

static tutti_status enter_epoch(tutti_train_elastic *e)
{
    const tutti_membership before = e->epoch;
    const int64_t newest = e->kept.newest.step, earlier = e->kept.before.step;
    tutti_status status = tutti_elastic_enter(e->elastic, newest, earlier, &e->epoch);
    if (status) return status;
    const int rank = tutti_elastic_rank(&e->epoch, e->id);
    tutti_log_set_rank(rank);
    if (rank == 0 && e->epoch.entry[0].fresh && e->epoch.snapshot > 0)
        return tutti_fail(TUTTI_ERR_COMM, "this rank is new, and has become rank 0 before it had a "
                                          "snapshot: the others continue without it");
    tutti_snapshots_cut(&e->kept, e->epoch.snapshot);
    e->halted = 0;
    const int64_t from = first_of(e);
    e->again = e->done > from ? e->done - from : 0;
    if (rank == 0 && before.n) report_change(e, &before);
    e->done = from;
    tutti_elastic_start_entered(e->start);
    tutti_log_put_off(); /* if a rank is lost, others report what follows from it */
    return TUTTI_OK;
}

tutti_status tutti_train_elastic_enter(tutti_train_elastic *e)
{
    tutti_status status = enter_epoch(e);
    if (!status && e->epoch.n < e->least && e->start->lasting) {
        tutti_log_resolve(TUTTI_LOG_ERROR);
        return tutti_fail(TUTTI_ERR_COMM, "%d rank%s left, and the run needs %d", e->epoch.n,
            e->epoch.n == 1 ? " is" : "s are", e->least);
    }
    while (!status && e->epoch.n < e->least && !is_ending(e)) {
        status = await_others(e);
        if (!status && tutti_train_elastic_wishes(e)) status = enter_epoch(e);
    }
    return status;
}

tutti_status tutti_train_elastic_connect(void *ctx, int lanes, tutti_transport **transport)
{
    const tutti_train_elastic *e = ctx;
    return tutti_elastic_mesh(e->elastic, lanes, transport);
}

int tutti_train_elastic_continues(const tutti_train_elastic *e)
{
    return e->epoch.epoch > 1;
}

const tutti_snapshot *tutti_train_elastic_restores(const tutti_train_elastic *e)
{
    return tutti_snapshots_find(&e->kept, e->epoch.snapshot);
}

/* ---- snapshots ---- */

static void note_snapshot(tutti_train_elastic *e, int64_t step)
{
    e->begun_s = tutti_clock_s();
    e->begun = step;
}

static int has_newcomer(const tutti_train_elastic *e)
{
    int fresh = 0;
    for (int r = 0; r < e->epoch.n; r++) fresh |= e->epoch.entry[r].fresh;
    return fresh;
}

tutti_status tutti_train_elastic_begin(tutti_train_elastic *e, tutti_trainer *s)
{
    enum { FIRST = 8 /* steps that are timed for the second snapshot */ };
    tutti_status status = TUTTI_OK;
    const int64_t step = e->epoch.snapshot;
    if (e->kept.newest.step < 0 && step > 0)
        status = tutti_snapshots_take(&e->kept, s, step);
    else if (has_newcomer(e) && step > 0 && s->session.whole)
        status = tutti_snapshots_attend(s);
    if (e->kept.newest.step < 0) tutti_snapshots_begin(&e->kept, 1);
    const tutti_conf_int *every = &s->options->elastic.snapshot_steps;
    if (step <= 0) e->origin = s->first_step;
    e->done = s->first_step;
    e->due = s->first_step + FIRST;
    if (!every->word) e->due = (s->first_step / every->value + 1) * every->value;
    note_snapshot(e, s->first_step);
    return status;
}

int tutti_train_elastic_wishes(const tutti_train_elastic *e)
{
    return tutti_elastic_look(e->elastic) != TUTTI_ELASTIC_STAY;
}

int tutti_train_elastic_is_over(const tutti_train_elastic *e)
{
    return tutti_elastic_look(e->elastic) == TUTTI_ELASTIC_LEAVE;
}

/* So that making them takes a hundredth of the time, by the clock of rank 0. The step after a snapshot does not overlap
 * with the one before, which counts as a tenth of a step. */
static int64_t choose_interval(const tutti_train_elastic *e, int64_t step, double since_s)
{
    static const double share = 0.01, alone = 0.1;
    const double took_s = tutti_clock_s() - since_s;
    const int64_t steps = step > e->begun ? step - e->begun : 1;
    const double step_s = fmax((since_s - e->begun_s) / (double)steps, 1e-6);
    return (int64_t)fmin(fmax(ceil((took_s / step_s + alone) / share), 1), 1e9);
}

tutti_status tutti_train_elastic_keep(
    tutti_train_elastic *e, tutti_trainer *s, int64_t step, double since_s)
{
    const tutti_conf_int *every = &s->options->elastic.snapshot_steps;
    tutti_status status = TUTTI_OK;
    if (e->kept.newest.step < step) status = tutti_snapshots_take(&e->kept, s, step);
    if (status) return status;
    if (step < s->last_step) /* at the end no rank is taken in */
        tutti_elastic_snapshot(e->elastic, e->kept.newest.step, e->kept.before.step);
    int64_t interval = every->value;
    if (every->word) {
        interval = choose_interval(e, step, since_s);
        status =
            tutti_trainer_broadcast(s, "when the next snapshot is due", TUTTI_I64, 1, &interval);
    }
    e->due = every->word ? step + interval : (step / interval + 1) * interval;
    if (s->session.placement.rank == 0)
        tutti_log(TUTTI_LOG_DEBUG,
            "a snapshot of step %" PRId64 " took %.1f ms; the next one is due after step %" PRId64,
            step, 1e3 * (tutti_clock_s() - since_s), e->due);
    note_snapshot(e, step);
    return status;
}

/* ---- leaving ---- */

static int decide(tutti_train_elastic *e, tutti_status *status)
{
    int finished = 1;
    e->all_there = *status == TUTTI_ERR_INTERRUPTED;
    if (*status == TUTTI_ERR_COMM || *status == TUTTI_ERR_TIMEOUT)
        return tutti_elastic_await_loss(e->elastic);
    if (*status) return 0;
    if (e->halted && tutti_interrupt_asked(e->interrupt)) {
        say_leaving(e);
        *status = TUTTI_ERR_INTERRUPTED;
        return 0;
    }
    if (e->halted) return 1;
    *status = tutti_elastic_finish(e->elastic, &finished);
    e->all_there = !*status && finished;
    if (e->all_there) tutti_elastic_start_ended(e->start);
    return !*status && !finished;
}

int tutti_train_elastic_goes_on(tutti_train_elastic *e, tutti_status *status)
{
    const int goes_on = decide(e, status);
    tutti_log_resolve(goes_on ? TUTTI_LOG_DEBUG : TUTTI_LOG_ERROR);
    return goes_on;
}

void tutti_train_elastic_close(tutti_train_elastic *e)
{
    const int all_there = e->epoch.epoch <= 1 && (e->all_there || !e->elastic);
    tutti_elastic_close(e->elastic);
    if (e->start) tutti_lasting_close(e->start->lasting, all_there);
    tutti_snapshots_free(&e->kept);
    *e = (tutti_train_elastic){0};
}
