#include "config.h"

#include "apps/launch/attempt.h"

#include "apps/launch/session.h"
#include "dag/base/clock.h"
#include "dag/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A launcher that is left alone: its last process has ended, and it does nothing. */
typedef struct solitude {
    double next_s;
    double looked_s; /* when it was looked at last */
    double alone_s;  /* for how long looks have found it so */
    int had;         /* processes, once */
    int64_t used;    /* processor time, at the last look */
} solitude;

typedef struct run {
    tutti_launch_watch *watch;
    const tutti_launch_options *options;
    tutti_launch_attempt result;
    pid_t child;
    int runs;
    int errors; /* the pipe; -1: it is closed */
    char *text; /* of the line so far */
    size_t length, room;
    int erred;       /* the first error of a rank */
    int stops;       /* signals that stop tutti-run which were passed on */
    int asked;       /* to end */
    double linger_s; /* when what continues after an error is ended; INFINITY: not at all */
    double kill_s;   /* when what was asked to end is killed */
    solitude alone;
} run;

/* ---- what ranks say ---- */

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Notes the first error of a rank, and whether a signal has ended the run: the launcher's exit status may not show
 * it. */
static void hear_line(run *r, const char *line)
{
    const char *said = strstr(line, "tutti: ");
    const char *rank = strstr(line, "tutti: rank ");
    if (!said) return;
    if (ends_with(said, "warning: a restart would fail in the same way")) r->result.lasting = 1;
    if (rank && strstr(rank, ": warning: interrupted by "))
        r->result.interrupted = strstr(rank, ": warning: interrupted by SIGINT ") ? 130 : 143;
    if (!r->options->ends_after_error || !rank || !strstr(rank, ": error: ") || r->erred) return;
    r->erred = 1;
    r->linger_s = tutti_clock_s() + r->options->linger_s;
}

/* Passes a line on as a whole. */
static void pass_line(run *r)
{
    if (!r->length) return;
    r->text[r->length] = '\n';
    fwrite(r->text, 1, r->length + 1, stderr);
    r->text[r->length] = '\0';
    hear_line(r, r->text);
    r->length = 0;
}

static void hear_errors(run *r)
{
    char part[4096];
    const ssize_t n = read(r->errors, part, sizeof part);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        pass_line(r);
        close(r->errors);
        r->errors = -1;
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (r->length + 2 > r->room) {
            char *more = realloc(r->text, r->room + sizeof part);
            if (!more) return pass_line(r);
            r->text = more;
            r->room += sizeof part;
        }
        if (part[i] != '\n') {
            r->text[r->length++] = part[i];
        } else if (r->length) {
            pass_line(r);
        } else {
            fputc('\n', stderr);
        }
    }
}

/* ---- how it ends ---- */

/* The ranks are asked, not the launcher: Open MPI's would give them a second, which is not enough to end a step and
 * save. Ranks on other hosts learn it from the local ones. */
static void ask_to_end(run *r)
{
    static tutti_launch_processes ranks;
    if (!r->asked) r->kill_s = tutti_clock_s() + r->options->grace_s;
    r->asked = 1;
    r->stops = r->watch->stops;
    tutti_launch_session_ranks(r->child, &ranks);
    for (int i = 0; i < ranks.n; i++) kill(ranks.pid[i], SIGTERM);
    if (!ranks.n) kill(r->child, SIGTERM);
}

static void reap(run *r)
{
    int status;
    if (!r->runs || waitpid(r->child, &status, WNOHANG) != r->child) return;
    r->runs = 0;
    r->result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void hear_signals(run *r)
{
    int number;
    while ((number = tutti_launch_watch_next(r->watch)) != 0)
        if ((number == SIGUSR1 || number == SIGUSR2) && r->runs) kill(r->child, number);
    reap(r); /* always: several SIGCHLD may arrive as one */
    if (r->watch->stops > r->stops && r->runs) ask_to_end(r); /* asked again, they end at once */
}

/* Open MPI's launcher can stand still when its last process has ended after another was killed: with PMIx 4.2 a lock
 * that it wants in PMIx_server_finalize is never given back. Only launchers are killed that have processes on this
 * host as long as they have work. */
static void look_at_launcher(run *r, double now_s)
{
    static tutti_launch_processes all;
    solitude *a = &r->alone;
    char name[32];
    if (now_s < a->next_s) return;
    const int every_s = a->had && r->options->linger_s >= 10 ? 5 : 1;
    const double passed_s = fmin(now_s - a->looked_s, every_s); /* more: this process had no core */
    a->next_s = now_s + every_s;
    a->looked_s = now_s;
    if (!tutti_launch_is_mpirun(r->child, name)) return;
    tutti_launch_session_list(r->child, &all);
    const int64_t used = tutti_process_used(r->child);
    if (all.n > 1) a->had = 1;
    if (all.n > 1 || used != a->used || !tutti_process_sleeps(r->child)) {
        a->alone_s = 0;
        a->used = used;
    } else if (a->had && (a->alone_s += passed_s) > r->options->linger_s) {
        tutti_launch_say("%s still runs %d s after its last process ended: killing it", name,
            r->options->linger_s);
        tutti_launch_session_sweep(r->child);
        a->had = 0;
    }
}

static void look_at_time(run *r)
{
    const double now_s = tutti_clock_s();
    if (now_s >= r->linger_s && !r->asked) {
        tutti_launch_say("the command still runs %d s after a rank reported an error: ending it",
            r->options->linger_s);
        r->result.ended = 1;
        ask_to_end(r);
    }
    if (now_s >= r->kill_s) {
        tutti_launch_say("the command has not ended %d s after it was asked to: killing it",
            r->options->grace_s);
        r->kill_s = INFINITY;
        tutti_launch_session_sweep(r->child);
    }
    look_at_launcher(r, now_s);
}

/* Waits for signals and output until then, and handles them. */
static void await_events(run *r, double until_s)
{
    struct pollfd fd[] = {
        {.fd = r->watch->signals, .events = POLLIN}, {.fd = r->errors, .events = POLLIN}};
    poll(fd, 2, tutti_launch_watch_timeout(until_s));
    if (fd[1].revents) hear_errors(r);
    hear_signals(r);
}

static int is_gone(const run *r)
{
    static tutti_launch_processes left;
    tutti_launch_session_list(r->child, &left);
    return left.n == 0;
}

/* Gives killed processes a moment to go, then reads the rest of their output. */
static void clear(run *r)
{
    double until_s = tutti_clock_s() + 1;
    while (tutti_clock_s() < until_s && !is_gone(r)) await_events(r, tutti_clock_s() + 0.1);
    tutti_launch_session_sweep(r->child);
    until_s = tutti_clock_s() + 2;
    while (r->errors >= 0 && tutti_clock_s() < until_s) await_events(r, until_s);
    pass_line(r);
    if (r->errors >= 0) close(r->errors);
    free(r->text);
}

tutti_launch_attempt tutti_launch_run(
    tutti_launch_watch *watch, const tutti_launch_options *options, char *const command[])
{
    run r = {.watch = watch,
        .options = options,
        .result.code = 127,
        .errors = -1,
        .linger_s = INFINITY,
        .kill_s = INFINITY,
        .alone.used = -1};
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        tutti_launch_say("the command cannot be run: %s", strerror(errno));
        return r.result;
    }
    /* a process of another session cannot read the terminal */
    const int in = isatty(0) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : 0;
    r.child = tutti_launch_watch_start(watch, command, 1, in, 1, pipes[1]);
    if (in > 0) close(in);
    close(pipes[1]);
    r.errors = pipes[0];
    r.runs = r.child > 0;
    if (r.runs) hear_signals(&r); /* one that stops may have come before */
    while (r.runs) {
        look_at_time(&r);
        const double last_s = fmin(fmin(r.linger_s, r.kill_s), r.alone.next_s);
        await_events(&r, r.asked ? fmin(r.kill_s, r.alone.next_s) : last_s);
    }
    if (r.child > 0) clear(&r);
    return r.result;
}
