#include "designs/watch/watch.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rank.h"
#include "designs/watch/dump.h"
#include "designs/watch/usr1.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double grace_s = 2;         /* from a failure until the process should be gone */
static const double longest_sleep_s = 2; /* of a process that runs */
static const double deaf_s = 0.5; /* if no pass has taken an abort by then, no thread passes */
static const double longest_silence_s = 600; /* between warnings of one stall */
/* The first warning about an announced activity comes this many times later. */
static const double announced_later = 6;
static const double longest_tick_s = 0.05, longest_recent_s = 1, longest_every_s = 0.2;

enum { FOLLOWED = 32 }; /* collectives, each of which blocks the one before it */

struct tutti_watch {
    tutti_watch_options options;
    tutti_driver *driver;
    tutti_inquiry *inquiry;
    int rank, ranks;
    /* After ask_s of a stall, the others are queried every every_s; answers are valid for recent_s. */
    double ask_s, every_s, recent_s, tick_s;
    double gap_s, gap_ended_s; /* the last interval in which this rank did not look, and its end */
    pthread_mutex_t lock;      /* protects the next four */
    pthread_cond_t stopping;
    int stop;
    int aborting; /* the sentence is to be sent in the next pass */
    char sentence[TUTTI_CONTROL_TEXT];
    pthread_t thread;
    /* Used by the thread only. */
    tutti_stall_state *state; /* [ranks] */
    int asked;                /* SIGUSR1 received so far */
    int warned, dumped, reported, aborted;
    double warn_at_s;      /* the length of the stall at which the next warning is due */
    double remind_at_s;    /* the same for the reminder of the missing call */
    double stalled_s;      /* at the last look */
    double looked_s;       /* when that was */
    double woken_s;        /* the process was stopped until then; 0: never stopped */
    int stuck;             /* its own tasks wait for each other */
    int64_t way[FOLLOWED]; /* from the first queried collective to the current one (find_subject) */
    int followed;          /* their number */
    double dumped_at_s, aborted_at_s, failed_at_s;
};

tutti_status tutti_watch_check(const tutti_watch_options *o)
{
    static const char *const fields[] = {"warn_s", "dump_s", "abort_s"};
    const double s[] = {o->warn_s, o->dump_s, o->abort_s};
    const char *name[3], *before = NULL;
    double before_s = 0;
    for (int i = 0; i < 3; i++) {
        name[i] = o->name[i] ? o->name[i] : fields[i];
        if (!(s[i] >= 0))
            return tutti_fail(
                TUTTI_ERR_USAGE, "%s is %g: must be seconds, or 0 for never", name[i], s[i]);
        if (!(s[i] > 0)) continue;
        if (before && s[i] <= before_s)
            return tutti_fail(TUTTI_ERR_USAGE,
                "%s is %g s: must be more than %s, which is %g s; or turn one of them off", name[i],
                s[i], before, before_s);
        before = name[i];
        before_s = s[i];
    }
    return TUTTI_OK;
}

/* ---- one look ---- */

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

/* A process that was stopped, or had no core for long, has received nothing meanwhile: its waits count from when it
 * woke. */
static void notice_sleep(tutti_watch *w, double now_s)
{
    double slept_s = now_s - w->looked_s;
    if (w->looked_s > 0 && slept_s > longest_sleep_s) {
        tutti_log(TUTTI_LOG_WARN, "this process did not run for %.1f s", slept_s);
        w->woken_s = now_s;
    }
    if (w->looked_s > 0 && slept_s > w->recent_s / 2) {
        w->gap_s = slept_s;
        w->gap_ended_s = now_s;
    }
    w->looked_s = now_s;
}

/* How long an answer is valid: longer if this rank has just had no core to receive a new one. */
static double recent_now_s(const tutti_watch *w, double now_s)
{
    return w->recent_s + (now_s - w->gap_ended_s < w->recent_s ? w->gap_s : 0);
}

static int is_due(double limit_s, double passed_s)
{
    return limit_s > 0 && passed_s >= limit_s;
}

/* Describes what this rank waits for. */
static void explain_wait(const tutti_watch *w, int64_t collective, char *text, size_t size)
{
    if (collective < 0)
        snprintf(
            text, size, "its own tasks, none of which runs; blocked by %s", w->state[w->rank].way);
    else
        tutti_stall_sentence(w->ranks, w->state, collective, text, size);
}

/* The interval doubles: a long wait does not fill the log. After the first warning, only one rank warns. */
static void log_warning(tutti_watch *w, int64_t collective)
{
    char text[1024];
    int speaks = !w->warned || tutti_stall_first_to_wait(w->ranks, w->state) == w->rank;
    w->warned = 1;
    w->warn_at_s = min_of(2 * w->stalled_s, w->stalled_s + longest_silence_s);
    if (!speaks) return;
    explain_wait(w, collective, text, sizeof text);
    tutti_log(TUTTI_LOG_WARN, "has waited %.1f s for %s", w->stalled_s, text);
}

/* An announced activity delays the warning. */
static int warning_is_due(const tutti_watch *w, int64_t collective)
{
    double first_s = w->options.warn_s;
    if (tutti_stall_announced(w->ranks, w->state, collective)) first_s *= announced_later;
    return is_due(first_s, w->stalled_s) && w->stalled_s >= w->warn_at_s;
}

/* For a program that does not make the call in which its collectives run. It may still make it: no stall. */
static void remind_program(tutti_watch *w, double now_s)
{
    double for_s;
    int left = tutti_inquiry_left_waiting(w->inquiry, now_s, &for_s);
    const tutti_watch_options *o = &w->options;
    if (!left || !o->call || for_s < o->warn_s) w->remind_at_s = o->warn_s;
    if (!left || !o->call || !is_due(w->remind_at_s, for_s)) return;
    w->remind_at_s = min_of(2 * for_s, for_s + longest_silence_s);
    tutti_log(TUTTI_LOG_WARN,
        "design %s runs collectives inside %s; the program has not called it for %.1f s while %d "
        "collective%s ready",
        o->design, o->call, for_s, left, left == 1 ? " is" : "s are");
}

/* A process has its file to itself in each session, whose ranks have numbers of their own. */
static void name_file(const tutti_watch *w, char *path, size_t size)
{
    const tutti_watch_options *o = &w->options;
    const int process = tutti_log_get_rank();
    char session[16] = "";
    if (o->session > 1) snprintf(session, sizeof session, ".%d", o->session);
    snprintf(path, size, "%s/tutti-stall.%d%s.json", o->folder ? o->folder : ".",
        process < 0 ? w->rank : process, session);
}

static void write_dump(tutti_watch *w, double now_s)
{
    char path[PATH_MAX];
    name_file(w, path, sizeof path);
    w->dumped = 1;
    w->reported = 0;
    w->dumped_at_s = now_s;
    /* A failure to write the file has been logged; the stall matters more. */
    (void)tutti_dump_write(path, w->rank, w->ranks, w->state, w->driver, now_s);
}

/* Reports who waits for whom, once all ranks have answered about the same collective, or have had time to answer. */
static void log_report(tutti_watch *w, int64_t collective, double now_s)
{
    int all = 1;
    for (int r = 0; r < w->ranks; r++)
        all &= w->state[r].answers && w->state[r].about == collective;
    if (!all && now_s - w->dumped_at_s < w->recent_s) return;
    w->reported = 1;
    int over = collective < 0 && !w->stuck; /* the stall has ended meanwhile */
    if (over || tutti_stall_spokesman(w->ranks, w->state) != w->rank) return;
    char text[1024];
    tutti_log(TUTTI_LOG_WARN, "stall report: who waits for whom in %s:",
        tutti_stall_title(w->ranks, w->state, collective, text, sizeof text));
    for (int r = 0; r < w->ranks; r++)
        tutti_log(TUTTI_LOG_WARN, "stall report: %s",
            tutti_stall_line(w->ranks, w->state, r, collective, text, sizeof text));
}

static void begin_abort(tutti_watch *w, int64_t collective, double now_s)
{
    char text[TUTTI_CONTROL_TEXT - 100];
    w->aborted = 1;
    w->aborted_at_s = now_s;
    explain_wait(w, collective, text, sizeof text);
    pthread_mutex_lock(&w->lock);
    w->aborting = 1;
    snprintf(w->sentence, sizeof w->sentence,
        "no rank has been able to continue for %g s, the stall limit: all ranks end. %s",
        w->options.abort_s, text);
    pthread_mutex_unlock(&w->lock);
}

static void end_warnings(tutti_watch *w)
{
    w->followed = 0;
    if (w->warned) tutti_log(TUTTI_LOG_INFO, "continues after %.1f s", w->stalled_s);
    w->warned = w->dumped = w->reported = 0;
    w->warn_at_s = 0;
}

/* The first collective to query: the lowest in which a rank waits, or this rank's next one when its own tasks are
 * stuck; -1: none. */
static int64_t first_subject(const tutti_watch *w)
{
    int64_t lowest = tutti_stall_lowest(w->ranks, w->state);
    int64_t next = tutti_driver_see(w->driver).oldest.sequence;
    if (w->stuck && next >= 0 && (lowest < 0 || next < lowest)) return next;
    return lowest;
}

/* Whether it has ended on a rank since it was found. */
static int has_ended(const tutti_watch *w, int64_t collective)
{
    for (int r = 0; r < w->ranks; r++)
        if (w->state[r].answers && !w->state[r].outside && w->state[r].about == collective &&
            w->state[r].place == TUTTI_STALL_ENDED)
            return 1;
    return 0;
}

static int has_followed(const tutti_watch *w, int64_t collective)
{
    for (int i = 0; i < w->followed; i++)
        if (w->way[i] == collective) return 1;
    return 0;
}

/* The collective to query. It starts at the first one; as answers come, it moves to the collective that keeps a rank
 * from arriving, group by group and edge by edge. Fills w->state. */
static int64_t find_subject(tutti_watch *w, double now_s)
{
    const double recent_s = recent_now_s(w, now_s);
    tutti_inquiry_states(w->inquiry, -1, now_s, recent_s, w->state);
    int64_t first = first_subject(w);
    if (!w->followed || w->way[0] != first) {
        w->way[0] = first;
        w->followed = 1;
    }
    int64_t collective = w->way[w->followed - 1];
    tutti_inquiry_states(w->inquiry, collective, now_s, recent_s, w->state);
    int64_t behind = tutti_stall_behind(w->ranks, w->state, collective);
    if (w->followed > 1 && has_ended(w, collective))
        w->followed = 0; /* begins anew at the next look */
    if (!w->followed || behind < 0 || w->followed == FOLLOWED || has_followed(w, behind))
        return collective;
    w->way[w->followed++] = behind;
    tutti_inquiry_states(w->inquiry, behind, now_s, recent_s, w->state);
    return behind;
}

static void check_stall(tutti_watch *w, double now_s)
{
    tutti_stall_state self = tutti_inquiry_self(w->inquiry, -1, now_s, &w->stuck);
    double stalled_s = self.waits >= 0 ? self.waits_s : w->stuck ? self.idle_s : 0;
    stalled_s = min_of(stalled_s, now_s - w->woken_s);
    int called = tutti_inquiry_called(w->inquiry);
    int gathers = w->dumped && !w->reported;
    if (stalled_s < w->ask_s && !called && !gathers) {
        end_warnings(w);
        w->stalled_s = stalled_s;
        tutti_inquiry_ask(w->inquiry, TUTTI_INQUIRY_NOTHING, w->every_s);
        return;
    }
    w->stalled_s = stalled_s;
    int64_t collective = find_subject(w, now_s);
    tutti_inquiry_ask(w->inquiry, collective, w->every_s);
    const tutti_watch_options *o = &w->options;
    double lasts_s = tutti_stall_lasts_s(w->ranks, w->state, collective, stalled_s);
    if (warning_is_due(w, collective)) log_warning(w, collective);
    if (!w->dumped && (called || is_due(o->dump_s, lasts_s))) {
        if (!called) tutti_inquiry_call(w->inquiry);
        write_dump(w, now_s);
    }
    if (w->dumped && !w->reported) log_report(w, collective, now_s);
    if (!w->aborted && is_due(o->abort_s, lasts_s)) begin_abort(w, collective, now_s);
}

/* ---- the end ---- */

/* A pass announces an abort to the others; if no thread passes, at least this rank ends. */
static void check_abort(tutti_watch *w, double now_s)
{
    pthread_mutex_lock(&w->lock);
    int late = w->aborting && now_s - w->aborted_at_s > deaf_s;
    if (late) w->aborting = 0;
    pthread_mutex_unlock(&w->lock);
    if (!late) return;
    tutti_fail(TUTTI_ERR_TIMEOUT, "%s", w->sentence);
    tutti_driver_fail(w->driver, TUTTI_ERR_TIMEOUT);
}

/* After any failure: wakes threads that wait for tasks, and ends a process that a stall should have ended by now. */
static void check_failure(tutti_watch *w, double now_s)
{
    tutti_status failure = tutti_driver_see(w->driver).failure;
    if (!failure) return;
    if (!(w->failed_at_s > 0)) {
        w->failed_at_s = now_s;
        tutti_inquiry_fail(w->inquiry, failure);
    }
    int stall = failure == TUTTI_ERR_TIMEOUT;
    if (stall && w->options.give_up && now_s - w->failed_at_s > grace_s) w->options.give_up();
}

/* ---- the thread ---- */

/* Returns 0 to stop. */
static int sleep_a_tick(tutti_watch *w)
{
    struct timespec until = tutti_clock_after(w->tick_s);
    pthread_mutex_lock(&w->lock);
    while (!w->stop)
        if (pthread_cond_timedwait(&w->stopping, &w->lock, &until)) break;
    int go_on = !w->stop;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static void answer_signal(tutti_watch *w, double now_s)
{
    int asked = tutti_usr1_count();
    if (asked == w->asked) return;
    w->asked = asked;
    tutti_inquiry_say(w->inquiry, now_s);
}

static void *watch_over(void *arg)
{
    tutti_watch *w = arg;
    tutti_usr1_admit();
    while (sleep_a_tick(w)) {
        double now_s = tutti_clock_s();
        notice_sleep(w, now_s);
        answer_signal(w, now_s);
        remind_program(w, now_s);
        if (!w->aborted) check_stall(w, now_s);
        check_abort(w, now_s);
        check_failure(w, now_s);
    }
    return NULL;
}

/* Queries start early enough that a rank without an answer has had recent_s to send one. */
static void set_pace(tutti_watch *w)
{
    const tutti_watch_options *o = &w->options;
    double first_s = o->warn_s > 0 ? o->warn_s : o->dump_s > 0 ? o->dump_s : o->abort_s;
    if (!(first_s > 0)) first_s = 1e9;
    w->recent_s = min_of(longest_recent_s, first_s / 2);
    w->ask_s = first_s - w->recent_s;
    w->every_s = min_of(longest_every_s, w->recent_s / 4);
    w->tick_s = min_of(longest_tick_s, first_s / 10);
}

/* The program's signals are delivered to its own threads. */
static int start_thread(tutti_watch *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, watch_over, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void free_watch(tutti_watch *w)
{
    tutti_inquiry_close(w->inquiry);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->stopping);
    free(w->state);
    free(w);
}

tutti_status tutti_watch_open(const tutti_watch_options *options, tutti_driver *driver,
    tutti_control *control, tutti_watch **watch)
{
    tutti_watch *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the stall inspector");
    w->options = *options;
    w->driver = driver;
    pthread_mutex_init(&w->lock, NULL);
    tutti_clock_cond_init(&w->stopping);
    set_pace(w);
    tutti_status status = tutti_inquiry_open(driver, control, &w->inquiry);
    if (!status) {
        w->rank = tutti_inquiry_rank(w->inquiry);
        w->ranks = tutti_inquiry_ranks(w->inquiry);
        w->state = calloc((size_t)w->ranks, sizeof *w->state);
        w->asked = tutti_usr1_count();
        tutti_usr1_open();
        if (!w->state || start_thread(w)) {
            tutti_usr1_close();
            status = tutti_fail(TUTTI_ERR_NOMEM, "the stall inspector could not be started");
        }
    }
    if (status)
        free_watch(w);
    else
        *watch = w;
    return status;
}

void tutti_watch_silence(tutti_watch *watch)
{
    if (!watch) return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = 1;
    pthread_cond_signal(&watch->stopping);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    tutti_usr1_close();
}

void tutti_watch_close(tutti_watch *watch)
{
    if (!watch) return;
    tutti_watch_silence(watch);
    free_watch(watch);
}

void tutti_watch_pass(tutti_watch *watch)
{
    char sentence[TUTTI_CONTROL_TEXT] = "";
    tutti_inquiry_pass(watch->inquiry);
    pthread_mutex_lock(&watch->lock);
    if (watch->aborting) memcpy(sentence, watch->sentence, sizeof sentence);
    watch->aborting = 0;
    pthread_mutex_unlock(&watch->lock);
    if (*sentence) tutti_driver_abort(watch->driver, TUTTI_ERR_TIMEOUT, sentence);
}

tutti_inquiry *tutti_watch_inquiry(tutti_watch *watch)
{
    return watch->inquiry;
}
