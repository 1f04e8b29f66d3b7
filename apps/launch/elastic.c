#define _GNU_SOURCE /* sigabbrev_np, getrandom */
#include "apps/launch/elastic.h"

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

enum { ADDRESS = 32, TOKEN = 32, PENDING = 64, MOST_PAUSE = 60 };

/* Where a rank runs: one after the other, each with a number of its own. */
typedef struct place {
    pid_t process; /* 0: none */
    int member;    /* it trains, and can take a new one in */
    int64_t number;
    int door; /* that its rank will have; -1: none */
    char address[ADDRESS];
    double due_s; /* when the next one is started; INFINITY: none is */
    double pause_s;
} place;

typedef struct elastic {
    tutti_launch_watch *watch;
    const tutti_launch_options *options;
    place *place;
    int n, null, restarts;
    int report[2]; /* a rank writes its number there when it trains */
    int entered;   /* a rank has said that it trains */
    int succeeded; /* a rank has come to the end of the run */
    int failed;    /* the status of the first that failed */
    int64_t next;  /* number of a rank */
    int64_t run;
    char token[TOKEN + 1];
    double begun_s, kill_s; /* kill_s: when what still runs is killed; INFINITY: not yet */
} elastic;

static int count_running(const elastic *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) n += e->place[i].process != 0;
    return n;
}

static place *find_member(const elastic *e)
{
    for (int i = 0; i < e->n; i++)
        if (e->place[i].process && e->place[i].member) return &e->place[i];
    return NULL;
}

static int is_due(const elastic *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) n += isfinite(e->place[i].due_s) != 0;
    return n;
}

static void tell_all(const elastic *e, int number)
{
    for (int i = 0; i < e->n; i++)
        if (e->place[i].process) kill(e->place[i].process, number);
}

/* New ones that no rank has taken in. */
static void kill_newcomers(const elastic *e)
{
    for (int i = 0; i < e->n; i++)
        if (e->place[i].process && !e->place[i].member) kill(e->place[i].process, SIGKILL);
}

/* Ends the run: SIGTERM would ask each rank to leave the others alone. */
static void end_all(elastic *e)
{
    for (int i = 0; i < e->n; i++) e->place[i].due_s = INFINITY;
    kill_newcomers(e);
    tell_all(e, SIGINT);
    if (isinf(e->kill_s)) e->kill_s = tutti_clock_s() + e->options->grace_s;
}

/* ---- starting ---- */

/* Listens for the rank, which takes the descriptor over. 0: it cannot (told). */
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

/* Starts a rank that SIGINT ends, since that is how a run is ended. A shell lets what it starts in the background
 * ignore SIGINT, and children inherit that. */
static pid_t start_process(const elastic *e)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGINT);
    sigprocmask(SIG_BLOCK, &one, &before);
    void (*disposition)(int) = signal(SIGINT, SIG_DFL);
    const pid_t process = tutti_launch_watch_start(
        e->watch, e->options->command, 1, e->null, STDOUT_FILENO, STDERR_FILENO);
    signal(SIGINT, disposition);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return process;
}

/* who: "first ADDRESS,...", or "join OWN,CONTACT". 0: it did not start (told). */
static int start_rank(elastic *e, place *p, const char *who)
{
    const tutti_launch_options *o = e->options;
    const size_t size = strlen(who) + 256;
    char *text = malloc(size);
    if (!text) return 0;
    snprintf(text, size, "%d %d %d %" PRId64 " %d %d %" PRId64 " %s %s", o->least, o->most, e->n,
        p->number, p->door, e->report[1], e->run, e->token, who);
    setenv("TUTTI_ELASTIC", text, 1);
    free(text);
    fcntl(p->door, F_SETFD, 0);
    p->due_s = INFINITY;
    const pid_t process = start_process(e);
    p->process = process > 0 ? process : 0;
    close(p->door);
    p->door = -1;
    return p->process != 0;
}

static int start_first(elastic *e)
{
    const size_t size = (size_t)e->n * ADDRESS + 16;
    char *who = malloc(size);
    int good = who != NULL;
    size_t used = good ? (size_t)snprintf(who, size, "first ") : 0;
    for (int i = 0; i < e->n && good; i++) {
        e->place[i].number = e->next++;
        good = open_door(&e->place[i]);
        used +=
            (size_t)snprintf(who + used, size - used, "%s%s", i ? "," : "", e->place[i].address);
    }
    for (int i = 0; i < e->n && good; i++)
        good = e->place[i].member = start_rank(e, &e->place[i], who);
    free(who);
    return good;
}

/* A rank that trains takes it in. */
static void start_newcomer(elastic *e, place *p)
{
    char who[3 * ADDRESS];
    const place *contact = find_member(e);
    p->due_s = INFINITY;
    if (!contact || e->succeeded || !open_door(p)) return;
    p->number = e->next++;
    tutti_launch_say("restart %d of %d: rank number %" PRId64 " joins", e->restarts,
        e->options->max_restarts, p->number);
    snprintf(who, sizeof who, "join %s,%s", p->address, contact->address);
    start_rank(e, p, who);
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
 * mistake in its options. */
static void end_rank(elastic *e, place *p, int how)
{
    const int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    const int status = number ? 128 + number : WEXITSTATUS(how);
    const tutti_launch_options *o = e->options;
    const double now_s = tutti_clock_s();
    p->process = p->member = 0;
    if (!status) {
        if (!e->succeeded) e->kill_s = now_s + o->grace_s;
        if (!e->succeeded) kill_newcomers(e);
        e->succeeded = 1;
    }
    if (!status || e->watch->stopped || e->succeeded) return;
    say_end(p, status, number);
    if (!e->failed) e->failed = status;
    if (status == 2 || status == 126 || status == 127 || status == 130 || status == 143) return;
    if (e->restarts >= o->max_restarts) return;
    e->restarts++;
    p->due_s = now_s + p->pause_s;
    p->pause_s = fmin(2 * p->pause_s, MOST_PAUSE);
}

static void reap(elastic *e)
{
    for (int i = 0; i < e->n; i++) {
        int how;
        place *p = &e->place[i];
        if (p->process && waitpid(p->process, &how, WNOHANG) == p->process) end_rank(e, p, how);
    }
}

/* Ranks that train now. */
static void hear_ranks(elastic *e)
{
    int64_t number;
    while (recv(e->report[0], &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
        e->entered = 1;
        for (int i = 0; i < e->n; i++)
            if (e->place[i].process && e->place[i].number == number) e->place[i].member = 1;
    }
}

/* Whether the ranks have ended well, but none has trained with the others: each has run for itself. */
static int is_foreign(elastic *e)
{
    hear_ranks(e);
    if (!e->succeeded || e->entered) return 0;
    tutti_launch_say("%s: its ranks have not trained together: --elastic is for trainings of "
                     "tutti-cifar and tutti-imagenet",
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

/* Whether those that run cannot go on: nobody takes new ones in, or too few wait for others. */
static int is_stuck(const elastic *e)
{
    const int running = count_running(e);
    if (!running || e->succeeded || e->watch->stopped || isfinite(e->kill_s)) return 0;
    if (!find_member(e)) return 1;
    return running < e->options->least && !is_due(e);
}

static void look_at_ranks(elastic *e)
{
    if (!is_stuck(e)) return;
    tutti_launch_say("%d rank%s left, and the run needs %d: ending it", count_running(e),
        count_running(e) == 1 ? " is" : "s are", e->options->least);
    end_all(e);
}

/* What has not ended in time: after a signal, or a newcomer that nobody is left to take in. */
static void look_at_time(elastic *e)
{
    const double now_s = tutti_clock_s();
    for (int i = 0; i < e->n; i++)
        if (now_s >= e->place[i].due_s) start_newcomer(e, &e->place[i]);
    if (now_s < e->kill_s) return;
    if (count_running(e))
        tutti_launch_say("%d rank%s not ended %d s after the run: killing", count_running(e),
            count_running(e) == 1 ? " has" : "s have", e->options->grace_s);
    tell_all(e, SIGKILL);
    e->kill_s = INFINITY;
}

static void run_ranks(elastic *e)
{
    while (count_running(e) || (is_due(e) && !e->succeeded)) {
        double until_s = fmin(e->kill_s, tutti_clock_s() + 1);
        for (int i = 0; i < e->n; i++) until_s = fmin(until_s, e->place[i].due_s);
        struct pollfd fd[] = {{.fd = e->watch->signals, .events = POLLIN},
            {.fd = e->report[0], .events = POLLIN}};
        poll(fd, 2, tutti_launch_watch_timeout(until_s));
        hear_ranks(e);
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
        .kill_s = INFINITY};
    for (int i = 0; e.place && i < e.n; i++)
        e.place[i] = (place){.door = -1, .due_s = INFINITY, .pause_s = o->pause_s};
    int good = e.place && make_token(&e) && open_report(&e);
    if (good && !start_first(&e)) {
        good = 0;
        tell_all(&e, SIGKILL);
    }
    if (e.place) run_ranks(&e);
    if (good && is_foreign(&e)) good = 0;
    for (int i = 0; e.place && i < e.n; i++)
        if (e.place[i].door >= 0) close(e.place[i].door);
    free(e.place);
    const int status = watch->stopped ? 128 + watch->stopped
                       : !good        ? 1
                       : e.succeeded  ? 0
                                      : e.failed;
    if (e.restarts || status)
        tutti_launch_say("%s after %d s and %d restart%s, exit status %d",
            status ? "the run has failed" : "done", (int)(tutti_clock_s() - e.begun_s), e.restarts,
            e.restarts == 1 ? "" : "s", status);
    return status;
}
