#define _GNU_SOURCE /* sigabbrev_np, getrandom */
#include "apps/launch/elastic.h"

#include "apps/launch/agent.h"
#include "apps/launch/hosts.h"
#include "apps/launch/remote.h"
#include "dag/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADDRESS = TUTTI_LAUNCH_ADDRESS + 8, TOKEN = 32, PENDING = 64 };

static const double begin_s = 2;   /* for the other first ranks, once one has failed */
static const double answer_s = 60; /* for an agent, until it has a door */
static const double linger_s = 5;  /* for what started an agent, when the rank has ended */

/* Where a rank runs: one after the other, each with a number of its own. */
typedef struct place {
    pid_t process; /* 0: none; on another host, what started the agent */
    int entered;   /* it has said that it trains */
    int finished;  /* it has said that it has come to the end of the run */
    int member;    /* it trains, and can take a new one in */
    int unneeded;  /* it is killed, as none has taken it in before the end of the run */
    int64_t number;
    int door; /* that its rank will have; -1: none */
    char address[ADDRESS];
    double due_s; /* when the next one is started; INFINITY: none is */
    int pause_s;
    int host; /* on which it runs; -1: on this one */
    tutti_launch_remote remote;
    double
        late_s; /* when its agent has to have an address, or what started that to have ended; INFINITY: not now */
} place;

typedef struct elastic {
    tutti_launch_watch *watch;
    const tutti_launch_options *options;
    tutti_launch_hosts hosts;
    place *place;
    int n, null, restarts;
    int report[2]; /* a rank writes its number there when it trains, and at the end of the run */
    int entered;   /* a rank has said that it trains */
    int succeeded; /* a rank has come to the end of the run: it has said so, or has ended well */
    int dismissed; /* and new ranks that none has taken in are killed */
    /* The status of the last rank that failed: before any came to the end of the run, or after it had come there
     * itself. */
    int failed;
    int begins;    /* the first ranks are not started yet: some have no door */
    int ending;    /* the run is being ended */
    int64_t next;  /* number of a rank */
    int64_t run;
    char token[TOKEN + 1];
    double begun_s, kill_s; /* kill_s: when what still runs is killed; INFINITY: not yet */
    double begin_s; /* one of the first has failed: when the others must have begun without it */
} elastic;

static int count_running(const elastic *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) n += e->place[i].process != 0;
    return n;
}

/* That takes in the rank with this number: they take turns, since one may be unable to answer. One whose agent has said
 * its end is the last choice: it is gone, but not yet reaped. */
static place *find_member(const elastic *e, int64_t number)
{
    place *other = NULL;
    for (int i = 0; i < e->n; i++) {
        place *p = &e->place[(i + number) % e->n];
        if (!p->process || !p->member) continue;
        if (p->host < 0 || !p->remote.ended) return p;
        other = p;
    }
    return other;
}

static int is_due(const elastic *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) n += isfinite(e->place[i].due_s) != 0;
    return n;
}

static void tell_rank(const place *p, int number)
{
    if (p->process && p->host >= 0) tutti_launch_remote_signal(&p->remote, number);
    if (p->process && p->host < 0) tutti_launch_watch_signal(p->process, number);
}

static void tell_all(const elastic *e, int number)
{
    for (int i = 0; i < e->n; i++) tell_rank(&e->place[i], number);
}

/* New ones that no rank has taken in. */
static void kill_newcomers(elastic *e)
{
    for (int i = 0; i < e->n; i++) {
        place *p = &e->place[i];
        if (p->member) continue;
        p->unneeded = 1;
        tell_rank(p, SIGKILL);
    }
}

/* Ends the run: SIGTERM would ask each rank to leave the others alone. */
static void end_all(elastic *e)
{
    if (!e->ending || isinf(e->kill_s)) e->kill_s = tutti_clock_s() + e->options->grace_s;
    e->ending = 1;
    for (int i = 0; i < e->n; i++) e->place[i].due_s = INFINITY;
    kill_newcomers(e);
    tell_all(e, SIGINT);
}

/* ---- starting ---- */

/* Listens for the rank, which takes the descriptor over. 0: it cannot (reported). */
static int open_door(place *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    p->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->door >= 0 && !bind(p->door, (struct sockaddr *)&at, bytes) &&
        !listen(p->door, PENDING) && !getsockname(p->door, (struct sockaddr *)&at, &bytes)) {
        snprintf(p->address, ADDRESS, "127.0.0.1:%d", ntohs(at.sin_port));
        return 1;
    }
    tutti_launch_say("no port for a rank: %s", strerror(errno));
    return 0;
}

/* Starts a rank, or its agent, that SIGINT ends, since that is how a run is ended. A shell lets what it starts in the
 * background ignore SIGINT, and children inherit that. */
static pid_t start_process(const elastic *e, place *p)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGINT);
    sigprocmask(SIG_BLOCK, &one, &before);
    void (*disposition)(int) = signal(SIGINT, SIG_DFL);
    const pid_t process = p->host < 0
                              ? tutti_launch_watch_start(e->watch, e->options->command, 1, e->null,
                                    STDOUT_FILENO, STDERR_FILENO)
                              : tutti_launch_remote_open(e->watch, &e->hosts, p->host, &p->remote);
    signal(SIGINT, disposition);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return process;
}

/* Finds a host for the rank, and starts its agent there. 0: there is none (reported). */
static int start_agent(elastic *e, place *p)
{
    p->due_s = INFINITY;
    p->host = tutti_launch_hosts_choose(&e->hosts);
    if (p->host < 0) {
        tutti_launch_say("no host is left for a rank");
        return 0;
    }
    const pid_t process = start_process(e, p);
    p->process = process > 0 ? process : 0;
    p->late_s = tutti_clock_s() + answer_s;
    e->hosts.host[p->host].running += p->process != 0;
    return p->process != 0;
}

/* A door here, or an agent that will open one there. 0: neither (reported). */
static int open_place(elastic *e, place *p)
{
    return e->hosts.n ? start_agent(e, p) : open_door(p);
}

static int start_local(elastic *e, place *p, const char *before, const char *after)
{
    if (!tutti_launch_agent_set_start(before, p->door, e->report[1], after)) return 0;
    fcntl(p->door, F_SETFD, 0);
    p->due_s = INFINITY;
    const pid_t process = start_process(e, p);
    p->process = process > 0 ? process : 0;
    close(p->door);
    p->door = -1;
    return p->process != 0;
}

/* who: "first ADDRESS,...", or "join OWN,CONTACT". 0: it did not start (reported). */
static int start_rank(elastic *e, place *p, const char *who)
{
    const tutti_launch_options *o = e->options;
    const size_t size = strlen(who) + 128;
    char before[128], *after = malloc(size);
    p->entered = p->finished = p->unneeded = 0;
    if (!after) return 0;
    snprintf(before, sizeof before, "%d %d %d %" PRId64, o->least, o->most, e->n, p->number);
    snprintf(after, size, "%" PRId64 " %s %s", e->run, e->token, who);
    const int started = p->host < 0 ? start_local(e, p, before, after)
                                    : tutti_launch_remote_start(&p->remote,
                                          e->hosts.host[p->host].name, before, after, o->command);
    free(after);
    if (!started && p->host >= 0) tutti_launch_remote_close(&p->remote);
    return started;
}

/* Once all have a door. 0: one did not start (reported). */
static int start_first(elastic *e)
{
    const size_t size = (size_t)e->n * ADDRESS + 16;
    char *who = malloc(size);
    int good = who != NULL;
    size_t used = good ? (size_t)snprintf(who, size, "first ") : 0;
    for (int i = 0; i < e->n && good; i++)
        used +=
            (size_t)snprintf(who + used, size - used, "%s%s", i ? "," : "", e->place[i].address);
    for (int i = 0; i < e->n && good; i++)
        good = e->place[i].member = start_rank(e, &e->place[i], who);
    free(who);
    e->begins = 0;
    return good;
}

static int open_first(elastic *e)
{
    int good = 1;
    e->begins = 1;
    for (int i = 0; i < e->n && good; i++) {
        e->place[i].number = e->next++;
        good = open_place(e, &e->place[i]);
    }
    return good && !e->hosts.n ? start_first(e) : good;
}

/* Of one that has a door. */
static void start_joining(elastic *e, place *p)
{
    char who[3 * ADDRESS];
    const place *contact = find_member(e, p->number);
    if (!contact || e->succeeded) {
        tell_rank(p, SIGKILL);
        return;
    }
    snprintf(who, sizeof who, "join %s,%s", p->address, contact->address);
    start_rank(e, p, who);
}

/* A rank that trains takes it in. */
static void start_newcomer(elastic *e, place *p)
{
    p->due_s = INFINITY;
    if (!find_member(e, 0) || e->succeeded || !open_place(e, p)) return;
    p->number = e->next++;
    tutti_launch_say("restart %d of %d: rank number %" PRId64 " joins%s%s", e->restarts,
        e->options->max_restarts, p->number, p->host < 0 ? "" : " on host ",
        p->host < 0 ? "" : e->hosts.host[p->host].name);
    if (p->host < 0) start_joining(e, p);
}

/* ---- what ranks say ---- */

/* A rank has come to the end of the run. No new rank is needed, and the others are to come there soon. */
static void begin_end(elastic *e)
{
    if (e->succeeded) return;
    e->succeeded = 1;
    e->failed = 0;
    if (isinf(e->kill_s)) e->kill_s = tutti_clock_s() + e->options->grace_s;
}

static void hear_rank(elastic *e, place *p, int entered, int finished)
{
    e->entered |= entered;
    p->entered |= entered;
    p->member |= entered;
    p->finished |= finished;
    if (finished) begin_end(e);
}

static void hear_ranks(elastic *e)
{
    int64_t number;
    while (recv(e->report[0], &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
        e->entered = 1;
        for (int i = 0; i < e->n; i++) {
            place *p = &e->place[i];
            if (p->process && p->host < 0 && p->number == number) hear_rank(e, p, 1, p->entered);
        }
    }
}

/* ---- ending ---- */

static void say_end(const place *p, int status, int number)
{
    const char *name = number ? sigabbrev_np(number) : NULL;
    if (number)
        tutti_launch_say(
            "rank number %" PRId64 " has died (signal %s)", p->number, name ? name : "unknown");
    else if (status)
        tutti_launch_say("rank number %" PRId64 " has ended with status %d", p->number, status);
}

/* A new rank takes the place of one that died, or failed, but not of one that was interrupted on purpose, or has a
 * mistake in its options. Who dies after others have come to the end of the run, and has not itself, was not needed. */
static void end_rank(elastic *e, place *p, int how)
{
    const int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    const int status = number ? 128 + number : WEXITSTATUS(how);
    const tutti_launch_options *o = e->options;
    const double now_s = tutti_clock_s();
    p->process = p->member = 0;
    if (!status) begin_end(e);
    if (!status || e->watch->stopped || (e->succeeded && (!p->finished || p->unneeded))) return;
    say_end(p, status, number);
    if (!e->failed || !e->ending) e->failed = status;
    if (e->succeeded) return;
    if (!e->entered) e->begin_s = fmin(e->begin_s, now_s + begin_s);
    if (status == 2 || status == 126 || status == 127 || status == 130 || status == 143) return;
    if (e->restarts >= o->max_restarts) return;
    e->restarts++;
    p->due_s = now_s + p->pause_s;
    p->pause_s = tutti_launch_next_pause(p->pause_s);
}

/* It has never started its rank: another host may do so. */
static void replace_agent(elastic *e, place *p)
{
    p->process = 0;
    if (e->watch->stopped || e->succeeded || e->ending || start_agent(e, p) || !e->begins) return;
    e->failed = 1;
    end_all(e);
}

/* What started the agent has ended. */
static void end_remote(elastic *e, place *p, int how)
{
    tutti_launch_host *host = &e->hosts.host[p->host];
    const int status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    tutti_launch_remote *r = &p->remote;
    tutti_launch_remote_read(r, host->name);
    tutti_launch_remote_close(r);
    if (r->started) hear_rank(e, p, r->entered, r->finished);
    const int lost = !r->ended && !e->ending && !e->watch->stopped;
    host->running--;
    p->late_s = INFINITY;
    if (lost)
        tutti_launch_say("host %s: %s has ended with status %d%s", host->name, e->hosts.rsh[0],
            status, r->port ? ", before its rank" : ", and has started nothing");
    if (lost && r->entered)
        host->failures += !host->failures; /* all ranks there may be lost at once */
    else if (lost || (!r->entered && !e->ending && !(r->ended && !r->how)))
        tutti_launch_hosts_fail(&e->hosts, p->host);
    if (!r->started)
        replace_agent(e, p);
    else
        end_rank(e, p, r->ended ? r->how : 255 << 8);
}

static void reap(elastic *e)
{
    for (int i = 0; i < e->n; i++) {
        int how;
        place *p = &e->place[i];
        if (!p->process || waitpid(p->process, &how, WNOHANG) != p->process) continue;
        hear_ranks(e); /* what it has said before */
        if (p->host < 0)
            end_rank(e, p, how);
        else
            end_remote(e, p, how);
    }
}

static void hear_host(elastic *e, place *p)
{
    tutti_launch_host *host = &e->hosts.host[p->host];
    tutti_launch_remote *r = &p->remote;
    const int had = r->port, ended = r->ended;
    tutti_launch_remote_read(r, host->name);
    if (r->wrong) kill(p->process, SIGKILL);
    if (r->ended && !ended) p->late_s = tutti_clock_s() + linger_s;
    if (r->entered && !p->entered) host->failures = 0;
    hear_rank(e, p, r->entered, r->finished);
    if (had || !r->port) return;
    p->late_s = INFINITY;
    snprintf(p->address, ADDRESS, "%s:%d", host->address, r->port);
    if (!e->begins) start_joining(e, p);
}

/* The first ranks start when all of them have a door. */
static void hear_hosts(elastic *e)
{
    int doors = 0;
    for (int i = 0; i < e->n; i++) {
        place *p = &e->place[i];
        if (p->process && p->host >= 0) hear_host(e, p);
        doors += p->process && p->remote.port && !p->remote.wrong;
    }
    if (e->begins && doors == e->n && !e->ending && !start_first(e)) {
        e->failed = 1;
        end_all(e);
    }
}

/* Whether the ranks have ended well, but none has trained with the others: each has run for itself. */
static int is_foreign(const elastic *e)
{
    if (!e->succeeded || e->entered) return 0;
    tutti_launch_say("%s: its ranks have not trained together: --elastic is for trainings of "
                     "tutti-cifar and tutti-imagenet, and for programs of tutti_membership_run",
        e->options->command[0]);
    return 1;
}

static void hear_signals(elastic *e)
{
    const int stops = e->watch->stops;
    int number;
    while ((number = tutti_launch_watch_next(e->watch)) != 0)
        if (number == SIGUSR1 || number == SIGUSR2) tell_all(e, number);
    if (e->watch->stops > stops) end_all(e);
}

/* Whether those that run cannot continue: none takes new ones in, or too few wait for others. */
static int is_stuck(const elastic *e)
{
    const int running = count_running(e);
    if (!running || e->begins || e->succeeded || e->watch->stopped || e->ending) return 0;
    if (!find_member(e, 0)) return 1;
    return running < e->options->least && !is_due(e);
}

static void look_at_ranks(elastic *e)
{
    if (e->succeeded && !e->dismissed) { /* once all that has been said is known */
        e->dismissed = 1;
        kill_newcomers(e);
    }
    if (!is_stuck(e)) return;
    tutti_launch_say("%d rank%s left, and the run needs %d: ending it", count_running(e),
        count_running(e) == 1 ? " is" : "s are", e->options->least);
    end_all(e);
}

/* What a rank does after it has come to the end of the run may take as long as it likes. */
static int is_late(const elastic *e, const place *p)
{
    return p->process && (e->ending || !p->finished);
}

static void kill_late(elastic *e, double now_s)
{
    int late = 0;
    for (int i = 0; i < e->n; i++) {
        place *p = &e->place[i];
        if (!is_late(e, p)) continue;
        late++;
        tell_rank(p, SIGKILL);
        if (p->host >= 0) p->late_s = now_s + linger_s;
    }
    if (late)
        tutti_launch_say("%d rank%s not ended %d s after the run: killing", late,
            late == 1 ? " has" : "s have", e->options->grace_s);
    e->kill_s = INFINITY;
}

/* What has not ended in time: after a signal, or a newcomer that none is left to take in. */
static void look_at_time(elastic *e)
{
    const double now_s = tutti_clock_s();
    for (int i = 0; i < e->n; i++) {
        place *p = &e->place[i];
        if (now_s >= p->due_s) start_newcomer(e, p);
        if (p->process && now_s >= p->late_s) kill(p->process, SIGKILL);
    }
    if (now_s >= e->begin_s) {
        e->begin_s = INFINITY;
        if (!e->entered && !e->ending) {
            tutti_launch_say("a rank has ended before all had begun: ending the run");
            end_all(e);
        }
    }
    if (now_s >= e->kill_s) kill_late(e, now_s);
}

static void await_event(const elastic *e)
{
    enum { MOST = 64 };
    struct pollfd fd[MOST + 2] = {
        {.fd = e->watch->signals, .events = POLLIN}, {.fd = e->report[0], .events = POLLIN}};
    double until_s = fmin(fmin(e->kill_s, e->begin_s), tutti_clock_s() + 1);
    int n = 2;
    for (int i = 0; i < e->n; i++) {
        const place *p = &e->place[i];
        until_s = fmin(until_s, fmin(p->due_s, p->process ? p->late_s : INFINITY));
        if (p->process && p->host >= 0 && p->remote.from >= 0 && n < MOST + 2)
            fd[n++] = (struct pollfd){.fd = p->remote.from, .events = POLLIN};
    }
    poll(fd, (nfds_t)n, tutti_launch_watch_timeout(until_s));
}

static void run_ranks(elastic *e)
{
    while (count_running(e)) {
        await_event(e);
        hear_ranks(e);
        hear_hosts(e);
        hear_signals(e);
        reap(e);
        look_at_ranks(e);
        look_at_time(e);
    }
}

static int open_report(elastic *e)
{
    if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, e->report)) {
        fcntl(e->report[0], F_SETFD, FD_CLOEXEC);
        return 1;
    }
    tutti_launch_say("no connection to ranks: %s", strerror(errno));
    return 0;
}

static int make_token(elastic *e)
{
    unsigned char random[TOKEN / 2 + sizeof e->run];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        tutti_launch_say("no random numbers for a token: %s", strerror(errno));
        return 0;
    }
    for (int i = 0; i < TOKEN / 2; i++) snprintf(e->token + 2 * i, 3, "%02x", random[i]);
    memcpy(&e->run, random + TOKEN / 2, sizeof e->run);
    e->run &= INT64_MAX;
    return 1;
}

int tutti_launch_elastic(tutti_launch_watch *watch, const tutti_launch_options *o)
{
    elastic e = {.watch = watch,
        .options = o,
        .n = o->ranks,
        .null = open("/dev/null", O_RDONLY | O_CLOEXEC),
        .place = calloc((size_t)o->ranks, sizeof *e.place),
        .begun_s = tutti_clock_s(),
        .kill_s = INFINITY,
        .begin_s = INFINITY};
    const int wrong = tutti_launch_hosts_find(o, &e.hosts);
    for (int i = 0; e.place && i < e.n; i++)
        e.place[i] = (place){
            .door = -1, .host = -1, .due_s = INFINITY, .late_s = INFINITY, .pause_s = o->pause_s};
    int good = wrong < 0 && e.place && make_token(&e) && open_report(&e);
    if (good && !open_first(&e)) {
        good = 0;
        e.ending = 1;
        tell_all(&e, SIGKILL);
    }
    if (e.place) run_ranks(&e);
    if (good && is_foreign(&e)) good = 0;
    for (int i = 0; e.place && i < e.n; i++)
        if (e.place[i].door >= 0) close(e.place[i].door);
    free(e.place);
    tutti_launch_hosts_free(&e.hosts);
    if (wrong >= 0) return wrong;
    const int status = watch->stopped ? 128 + watch->stopped : good ? e.failed : 1;
    if (e.restarts || status)
        tutti_launch_say("%s after %d s and %d restart%s, exit status %d",
            status ? "the run has failed" : "done", (int)(tutti_clock_s() - e.begun_s), e.restarts,
            e.restarts == 1 ? "" : "s", status);
    return status;
}
