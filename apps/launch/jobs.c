#include "config.h"

#include "apps/launch/jobs.h"

#include "apps/launch/folder.h"
#include "apps/launch/saved.h"
#include "dag/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 32, WORDS = 24, LINE = 8192, RUN = 512 };
static const double insist_s = 1.5; /* a signal within a second of another one is the same wish */

/* What a job writes, until a line is whole. */
typedef struct stream {
    int from; /* -1: closed */
    FILE *to;
    size_t length;
    char line[LINE];
} stream;

typedef struct job {
    char name[NAME], role[NAME], file[NAME]; /* "client 0", "client:0", "client0" */
    int serves, number;
    int ranks;
    pid_t process;    /* 0: it does not run */
    stream stream[2]; /* stdout, stderr */
    int restarts;     /* so far */
    double due_s;     /* when it is started again; INFINITY: it is not */
    int pause_s;      /* before the next restart */
    int failed,
        order; /* the status with which it ended badly, and as which of those; 0: it did not */
} job;

typedef struct jobs {
    tutti_launch_watch *watch;
    const tutti_launch_options *options;
    const tutti_launch_mpirun *mpirun;
    job *job;
    int n, failures;
    int hopeless;            /* a job could not be started */
    double begun_s, until_s; /* until_s: when what is left is ended; INFINITY: not yet */
    double insist_s; /* when what was asked to end is asked again, to end at once; INFINITY: not */
    char folder[TUTTI_LAUNCH_FOLDER], self[PATH_MAX];
    char run[RUN]; /* the name of the run; that of each job begins with it */
    tutti_launch_saved saved;
    int null;
} jobs;

static int count_running(const jobs *all, int serves)
{
    int n = 0;
    for (int i = 0; i < all->n; i++) n += all->job[i].process && all->job[i].serves == serves;
    return n;
}

static int is_due(const jobs *all)
{
    int n = 0;
    for (int i = 0; i < all->n; i++) n += isfinite(all->job[i].due_s) != 0;
    return n;
}

static void tell_all(const jobs *all, int number)
{
    for (int i = 0; i < all->n; i++)
        if (all->job[i].process) kill(all->job[i].process, number);
}

/* ---- what they say ---- */

static void pass_line(const job *j, stream *s)
{
    if (!s->length) return;
    fprintf(s->to, "[%s] %.*s\n", j->name, (int)s->length, s->line);
    fflush(s->to);
    s->length = 0;
}

static void hear_stream(const job *j, stream *s)
{
    char part[LINE];
    const ssize_t n = read(s->from, part, sizeof part);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    for (ssize_t i = 0; i < n; i++) {
        if (part[i] == '\n' && !s->length) fprintf(s->to, "[%s] \n", j->name);
        if (part[i] != '\n') s->line[s->length++] = part[i];
        if (part[i] == '\n' || s->length == LINE) pass_line(j, s);
    }
    if (n > 0) return;
    pass_line(j, s);
    close(s->from);
    s->from = -1;
}

/* Until `until_s`, or output; or a signal, which is left to others. */
static void await_events(jobs *all, double until_s, int signals)
{
    struct pollfd *fd = calloc(2 * (size_t)all->n + 1, sizeof *fd);
    if (!fd) return;
    for (int i = 0; i < 2 * all->n; i++)
        fd[i] = (struct pollfd){.fd = all->job[i / 2].stream[i % 2].from, .events = POLLIN};
    fd[2 * all->n] = (struct pollfd){.fd = signals ? all->watch->signals : -1, .events = POLLIN};
    poll(fd, 2 * (nfds_t)all->n + 1, tutti_launch_watch_timeout(until_s));
    for (int i = 0; i < 2 * all->n; i++)
        if (fd[i].revents) hear_stream(&all->job[i / 2], &all->job[i / 2].stream[i % 2]);
    free(fd);
}

/* ---- starting ---- */

/* The host of a job: the first servers' on the first one, then in turn. */
static void choose_host(const jobs *all, const job *j, char host[256])
{
    const char *hosts = all->options->hosts, *at = hosts;
    int n = 1, number = j->number;
    host[0] = '\0';
    if (!hosts) return;
    for (const char *comma = hosts; *comma; comma++) n += *comma == ',';
    if (!j->serves) number += all->options->replicas == 1 ? 1 : all->options->servers;
    for (number %= n; number > 0; number--) at = strchr(at, ',') + 1;
    snprintf(host, 256, "%.*s", (int)strcspn(at, ","), at);
}

/* The descriptors that a job writes to. 0: there are none (reported). */
static int open_streams(const jobs *all, job *j, int fd[2])
{
    char path[PATH_MAX];
    if (all->options->output) {
        snprintf(path, sizeof path, "%s/%s.log", all->options->output, j->name);
        for (char *at = path + strlen(all->options->output); *at; at++)
            if (*at == ' ') *at = '.';
        fd[0] = fd[1] = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd[0] < 0) tutti_launch_say("%s: cannot be written: %s", path, strerror(errno));
        return fd[0] >= 0;
    }
    for (int i = 0; i < 2; i++) {
        int pipes[2];
        if (pipe2(pipes, O_CLOEXEC) != 0) {
            tutti_launch_say("%s: no pipe: %s", j->name, strerror(errno));
            if (i) close(fd[0]);
            return 0;
        }
        if (j->stream[i].from >= 0) close(j->stream[i].from);
        j->stream[i] = (stream){.from = pipes[0], .to = i ? stderr : stdout};
        fd[i] = pipes[1];
    }
    return 1;
}

static void set_variables(const jobs *all, const job *j)
{
    char path[TUTTI_LAUNCH_FOLDER + 64], host[256], run[RUN + NAME + 1];
    const char *scratch = tutti_launch_mpirun_scratch(all->mpirun);
    choose_host(all, j, host);
    setenv("TUTTI_KV_ROLE", j->role, 1);
    snprintf(run, sizeof run, "%s.%s", all->run, j->file); /* all attempts of a job have one name */
    setenv("TUTTI_RUN", run, 1);
    snprintf(path, sizeof path, "%s/%s.lasting", all->folder, j->file);
    setenv("TUTTI_RUN_LASTING", path, 1);
    snprintf(path, sizeof path, "%s/%s", all->folder, j->file);
    mkdir(path, 0700);
    if (scratch && !*host && !all->options->srun)
        setenv(scratch, path, 1); /* concurrent launches would share files */
}

/* Without one of its jobs a run cannot succeed: the others end, too. */
static void fail_start(jobs *all, job *j)
{
    j->failed = 1;
    j->order = ++all->failures;
    tell_all(all, SIGTERM);
    all->insist_s = tutti_clock_s() + insist_s;
    all->hopeless = 1;
}

static void start_job(jobs *all, job *j)
{
    const tutti_launch_options *o = all->options;
    char ranks[16], grace[16], linger[16], host[256], *word[WORDS];
    int fd[2], n = 0;
    j->due_s = INFINITY;
    if (!open_streams(all, j, fd)) return fail_start(all, j);
    snprintf(ranks, sizeof ranks, "%d", j->ranks);
    snprintf(grace, sizeof grace, "%d", o->grace_s);
    snprintf(linger, sizeof linger, "%d", o->linger_s);
    char *const always[] = {
        all->self, "-n", ranks, "--max-restarts", "0", "--grace", grace, "--linger", linger};
    for (; n < (int)(sizeof always / sizeof *always); n++) word[n] = always[n];
    choose_host(all, j, host);
    if (*host) word[n++] = "--hosts", word[n++] = host;
    /* weights come from the servers, but where it continues is in the checkpoint */
    if (j->restarts && tutti_launch_saved_is_there(&all->saved)) word[n++] = "--continue";
    if (o->srun) word[n++] = "--srun";
    word[n++] = "--";
    char **command = calloc((size_t)(n + o->words) + 1, sizeof *command);
    if (command) {
        memcpy(command, word, (size_t)n * sizeof *command);
        memcpy(command + n, o->command, (size_t)o->words * sizeof *command);
        set_variables(all, j);
        j->process = tutti_launch_watch_start(all->watch, command, 0, all->null, fd[0], fd[1]);
        if (j->process < 0) j->process = 0;
    }
    free(command);
    close(fd[0]);
    if (fd[1] != fd[0]) close(fd[1]);
    if (!j->process) fail_start(all, j);
}

/* ---- ending ---- */

static void say_end(const jobs *all, const job *j, int status)
{
    const int seconds = (int)(tutti_clock_s() - all->begun_s);
    const char *name = status > 128 ? sigabbrev_np(status - 128) : NULL;
    if (!status)
        tutti_launch_say("%s: done after %d s", j->name, seconds);
    else if (name)
        tutti_launch_say("%s: status %d (signal %s) after %d s", j->name, status, name, seconds);
    else
        tutti_launch_say("%s: status %d after %d s", j->name, status, seconds);
}

static int says_lasting(const jobs *all, const job *j)
{
    char path[TUTTI_LAUNCH_FOLDER + 64];
    snprintf(path, sizeof path, "%s/%s.lasting", all->folder, j->file);
    return access(path, F_OK) == 0;
}

/* Seconds that servers wait for a client to return when all have died. */
static double server_patience(void)
{
    const char *set = getenv("TUTTI_KV_TIMEOUT");
    return set && *set ? fmax(atof(set), 0) : 30;
}

/* A client that has died may come back while the servers continue: what they do without it depends on the type
 * (sync: they end). A server that ends well has no client any more: these may still evaluate, or save. */
static void end_job(jobs *all, job *j, int status)
{
    const tutti_launch_options *o = all->options;
    const double now_s = tutti_clock_s();
    j->process = 0;
    while ((j->stream[0].from >= 0 || j->stream[1].from >= 0) && tutti_clock_s() < now_s + 2)
        await_events(all, now_s + 2, 0);
    say_end(all, j, status);
    if (all->watch->stopped) return;
    if (j->serves && status && !(o->replicas != 1 && count_running(all, 1)))
        all->until_s = now_s + o->linger_s;
    if (!status) return;
    j->failed = status;
    j->order = ++all->failures;
    if (status == 130 || status == 143) return;          /* it was interrupted on purpose */
    if (status == 2 || status == 126 || status == 127) { /* every job has the same mistake */
        tell_all(all, SIGTERM);
        all->insist_s = now_s + insist_s;
        return;
    }
    if (j->serves || j->restarts >= o->max_restarts || says_lasting(all, j)) return;
    j->restarts++;
    j->due_s = now_s + 1 + fmin(j->pause_s, server_patience() / 2);
    j->pause_s = tutti_launch_next_pause(j->pause_s);
}

static void reap(jobs *all)
{
    for (int i = 0; i < all->n; i++) {
        int status;
        job *j = &all->job[i];
        if (!j->process || waitpid(j->process, &status, WNOHANG) != j->process) continue;
        end_job(all, j, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static void restart_due(jobs *all)
{
    for (int i = 0; i < all->n; i++) {
        job *j = &all->job[i];
        if (!(tutti_clock_s() >= j->due_s)) continue;
        j->due_s = INFINITY;
        if (!count_running(all, 1)) continue;
        j->failed = 0;
        tutti_launch_say("%s: restart %d of %d", j->name, j->restarts, all->options->max_restarts);
        start_job(all, j);
    }
}

/* Servers end by themselves when no client is left, at the latest when none has returned within their time-out; clients
 * when their servers have failed. */
static void hurry(jobs *all)
{
    const tutti_launch_options *o = all->options;
    const double now_s = tutti_clock_s();
    if (now_s >= all->insist_s) {
        all->insist_s = INFINITY;
        tell_all(all, SIGTERM);
    }
    if (count_running(all, 1) && !count_running(all, 0) && !is_due(all) && isinf(all->until_s))
        all->until_s = now_s + o->linger_s + server_patience();
    if (now_s < all->until_s) return;
    for (int i = 0; i < all->n; i++)
        if (all->job[i].process)
            tutti_launch_say("%s: still runs %d s after it should have ended: ending it",
                all->job[i].name, o->linger_s);
    all->until_s = now_s + o->grace_s + o->linger_s;
    tell_all(all, SIGTERM);
}

/* The status of the first job that a signal has killed (other than SIGINT and SIGTERM), or else of the first that
 * failed: later failures may follow from it. A run that survives the death of a server has succeeded. */
static int decide_status(const jobs *all)
{
    const job *first = NULL, *killed = NULL;
    int clients = 0;
    for (int i = 0; i < all->n; i++) {
        const job *j = &all->job[i];
        if (!j->failed) continue;
        clients += !j->serves;
        if (!first || j->order < first->order) first = j;
        if (j->failed < 129 || j->failed == 130 || j->failed == 143) continue;
        if (!killed || j->order < killed->order) killed = j;
    }
    if (!first) return 0;
    if (all->options->replicas != 1 && !clients && !all->hopeless) return 0;
    return killed ? killed->failed : first->failed;
}

/* ---- all of it ---- */

static int name_jobs(jobs *all)
{
    const tutti_launch_options *o = all->options;
    const int servers = o->replicas == 1 ? 1 : o->servers;
    all->n = servers + o->clients;
    all->job = calloc((size_t)all->n, sizeof *all->job);
    if (!all->job) return 0;
    for (int i = 0; i < all->n; i++) {
        job *j = &all->job[i];
        *j = (job){.serves = i < servers,
            .number = i < servers ? i : i - servers,
            .ranks = i < servers ? o->servers / servers : o->ranks / o->clients,
            .stream = {{.from = -1}, {.from = -1}},
            .due_s = INFINITY,
            .pause_s = o->pause_s};
        const char *what = j->serves ? "server" : "client";
        snprintf(j->name, NAME, "%s %d", what, j->number);
        snprintf(j->role, NAME, "%s:%d", what, j->number);
        snprintf(j->file, NAME, "%s%d", what, j->number);
        if (j->serves && servers == 1 && o->replicas == 1) snprintf(j->name, NAME, "servers");
    }
    return 1;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* With several hosts, the folder has to be in a file system that they share, and servers listen on all addresses. */
static int open_jobs(jobs *all, char parent[PATH_MAX])
{
    const tutti_launch_options *o = all->options;
    const char *scratch = getenv("TMPDIR"), *set;
    char meet[TUTTI_LAUNCH_FOLDER + 16];
    const int far = o->hosts || o->srun;
    snprintf(parent, PATH_MAX, "%s", scratch && *scratch ? scratch : "/tmp");
    if (far && !getcwd(parent, PATH_MAX)) return 0;
    set = getenv("TUTTI_KV_LISTEN");
    if (far && !(set && *set)) setenv("TUTTI_KV_LISTEN", "0.0.0.0", 1);
    if (!tutti_launch_folder_make(parent, all->folder)) return 0;
    tutti_launch_say("servers and clients meet in %s", all->folder);
    set_number("TUTTI_KV_SERVERS", o->servers);
    set_number("TUTTI_KV_CLIENTS", o->clients);
    set_number("TUTTI_KV_SERVER_REPLICAS", o->replicas);
    snprintf(meet, sizeof meet, "%s/meet", all->folder);
    set = getenv("TUTTI_KV_MEET");
    if (!(set && *set)) setenv("TUTTI_KV_MEET", meet, 1);
    if (!o->output || mkdir(o->output, 0777) == 0 || errno == EEXIST) return 1;
    tutti_launch_say("--output %s: %s", o->output, strerror(errno));
    return 0;
}

static void run_jobs(jobs *all)
{
    for (int i = 0; i < all->n && !all->watch->stopped && !all->hopeless; i++)
        start_job(all, &all->job[i]);
    while (count_running(all, 0) || count_running(all, 1) || is_due(all)) {
        const int stops = all->watch->stops;
        int number;
        while ((number = tutti_launch_watch_next(all->watch)) != 0)
            if (number == SIGUSR1 || number == SIGUSR2) tell_all(all, number);
        if (all->watch->stops > stops) {
            for (int i = 0; i < all->n; i++) all->job[i].due_s = INFINITY;
            tell_all(all, SIGTERM);
        }
        reap(all);
        restart_due(all);
        hurry(all);
        await_events(all, tutti_clock_s() + 0.1, 1);
    }
}

int tutti_launch_jobs(
    tutti_launch_watch *watch, const tutti_launch_options *o, const tutti_launch_mpirun *mpirun)
{
    jobs all = {.watch = watch,
        .options = o,
        .mpirun = mpirun,
        .begun_s = tutti_clock_s(),
        .until_s = INFINITY,
        .insist_s = INFINITY,
        .null = open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const char *run = getenv("TUTTI_RUN");
    snprintf(all.run, sizeof all.run, "%s", run ? run : "");
    tutti_launch_saved_begin(&all.saved, tutti_launch_checkpoint(o), 0);
    char parent[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", all.self, sizeof all.self - 1);
    int status = 1;
    if (n > 0 && name_jobs(&all) && open_jobs(&all, parent)) {
        run_jobs(&all);
        status = watch->stopped ? 128 + watch->stopped : decide_status(&all);
    }
    if (*all.folder) tutti_launch_folder_remove(parent, all.folder);
    free(all.job);
    return status;
}
