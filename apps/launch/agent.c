#define _GNU_SOURCE /* pipe2 */
#include "config.h"

#include "apps/launch/agent.h"

#include "apps/launch/frame.h"
#include "apps/launch/options.h"
#include "apps/launch/watch.h"
#include "dag/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PENDING = 64, GRACE = 10, CANNOT = 126 };

typedef struct agent {
    tutti_launch_watch watch;
    tutti_launch_frames in;
    int door, report[2], output[2];
    int connected; /* tutti-run is at the other end */
    pid_t rank;
    int entered;    /* the rank has said that it trains */
    int how, ended; /* the rank's end */
    double kill_s;
} agent;

/* On every address of this host, for IPv4 and, where there is that, IPv6. */
static int open_door(agent *a, int *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t bytes = sizeof six;
    a->door = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int both = a->door >= 0 &&
                     !setsockopt(a->door, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) &&
                     !bind(a->door, (struct sockaddr *)&six, sizeof six);
    if (!both) {
        if (a->door >= 0) close(a->door);
        a->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (a->door < 0 || bind(a->door, (struct sockaddr *)&four, sizeof four)) return 0;
    }
    if (listen(a->door, PENDING) || getsockname(a->door, (struct sockaddr *)&six, &bytes)) return 0;
    *port = ntohs(six.sin6_port); /* in the same place with IPv4 */
    return 1;
}

/* The connection has ended. */
static void end_rank(agent *a)
{
    if (!a->connected) return;
    a->connected = 0;
    a->kill_s = tutti_clock_s() + GRACE;
    if (a->rank && !a->ended) tutti_launch_watch_signal(a->rank, SIGTERM);
    if (!a->rank) a->ended = 1;
}

static void send_frame(agent *a, tutti_launch_kind kind, const char *bytes, size_t length)
{
    if (!tutti_launch_frame_write(STDOUT_FILENO, kind, bytes, length)) end_rank(a);
}

/* ---- starting ---- */

/* The next word before `end`, or NULL. */
static char *next_word(char **at, const char *end)
{
    char *word = *at;
    if (word >= end) return NULL;
    *at = word + strlen(word) + 1;
    return word;
}

static int set_variables(char **at, const char *end)
{
    const char *text = next_word(at, end);
    for (int i = 0, n = text ? atoi(text) : -1; i < n; i++) {
        char *word = next_word(at, end), *equals = word ? strchr(word, '=') : NULL;
        if (!equals) return 0;
        *equals = '\0';
        setenv(word, equals + 1, 1);
    }
    return text != NULL;
}

int tutti_launch_agent_set_start(const char *before, int door, int report, const char *after)
{
    const size_t size = strlen(before) + strlen(after) + 32;
    char *text = malloc(size);
    if (!text) return 0;
    snprintf(text, size, "%s %d %d %s", before, door, report, after);
    setenv("TUTTI_ELASTIC", text, 1);
    free(text);
    return 1;
}

/* The program's words; NULL: something is missing. */
static char **read_words(agent *a, char *at, const char *end)
{
    const char *folder = next_word(&at, end);
    if (!folder || !set_variables(&at, end)) return NULL;
    if (chdir(folder)) {
        tutti_launch_say("%s: %s", folder, strerror(errno));
        return NULL;
    }
    const char *before = next_word(&at, end), *after = before ? next_word(&at, end) : NULL;
    char **command = calloc((size_t)(end - at) + 2, sizeof *command);
    if (!after || !command || at >= end ||
        !tutti_launch_agent_set_start(before, a->door, a->report[1], after))
        return NULL;
    for (int n = 0; at < end; n++) command[n] = next_word(&at, end);
    return command;
}

/* SIGINT ends the rank, whatever has been made of that for the agent. */
static void start_rank(agent *a, const tutti_launch_frame *f)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char **command = a->rank ? NULL : read_words(a, (char *)f->bytes, f->bytes + f->length);
    fcntl(a->door, F_SETFD, 0);
    fcntl(a->report[1], F_SETFD, 0);
    signal(SIGINT, SIG_DFL);
    const pid_t rank =
        command ? tutti_launch_watch_start(&a->watch, command, 1, null, a->output[1], STDERR_FILENO)
                : -1;
    free(command);
    close(null);
    close(a->door);
    close(a->report[1]);
    close(a->output[1]);
    a->rank = rank > 0 ? rank : 0;
    a->how = CANNOT << 8;
    a->ended = !a->rank;
}

/* ---- events ---- */

static void signal_rank(agent *a, int number)
{
    if (a->rank)
        tutti_launch_watch_signal(a->rank, number);
    else if (number != SIGUSR1 && number != SIGUSR2)
        end_rank(a);
}

/* Each once: a second one would ask the rank to end at once, while it saves. */
static void pass_signals(agent *a)
{
    int number;
    while ((number = tutti_launch_watch_next(&a->watch)) != 0)
        if (number != SIGCHLD) signal_rank(a, number == SIGHUP ? SIGTERM : number);
}

static void read_launcher(agent *a)
{
    tutti_launch_frame f;
    int got;
    if (!tutti_launch_frames_fill(&a->in, STDIN_FILENO)) end_rank(a);
    while ((got = tutti_launch_frames_next(&a->in, &f)) > 0) {
        if (f.kind == TUTTI_LAUNCH_START) start_rank(a, &f);
        if (f.kind == TUTTI_LAUNCH_SIGNAL) signal_rank(a, atoi(f.bytes));
    }
    if (got < 0) end_rank(a);
}

/* Without a connection what the rank writes is dropped: it must not wait for a reader while it saves. */
static void pass_output(agent *a)
{
    char bytes[8192];
    ssize_t n;
    while ((n = read(a->output[0], bytes, sizeof bytes)) > 0)
        if (a->connected) send_frame(a, TUTTI_LAUNCH_OUTPUT, bytes, (size_t)n);
    if (n == 0) {
        close(a->output[0]);
        a->output[0] = -1;
    }
}

static void watch_rank(agent *a)
{
    int64_t number;
    if (a->rank && waitpid(a->rank, &a->how, WNOHANG) == a->rank) a->ended = 1;
    while (recv(a->report[0], &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
        send_frame(a, a->entered ? TUTTI_LAUNCH_FINISHED : TUTTI_LAUNCH_ENTERED, NULL, 0);
        a->entered = 1;
    }
}

static void pass_once(agent *a)
{
    struct pollfd fd[] = {{.fd = a->watch.signals, .events = POLLIN},
        {.fd = a->connected ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = a->output[0], .events = POLLIN}, {.fd = a->report[0], .events = POLLIN}};
    poll(fd, a->rank ? 4 : 2, tutti_launch_watch_timeout(fmin(a->kill_s, tutti_clock_s() + 1)));
    if (fd[1].revents) read_launcher(a);
    pass_signals(a);
    watch_rank(a);
    if (a->rank) pass_output(a);
    if (a->rank && tutti_clock_s() >= a->kill_s) kill(-a->rank, SIGKILL);
}

/* Whether what a script has started outlives it. */
static int is_left(const agent *a)
{
    return a->rank && !kill(-a->rank, 0);
}

static int open_agent(agent *a)
{
    char text[64];
    int port;
    if (!tutti_launch_watch_open(&a->watch)) return 0;
    if (pipe2(a->output, O_CLOEXEC | O_NONBLOCK) ||
        socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, a->report) || !open_door(a, &port)) {
        tutti_launch_say("no port for a rank: %s", strerror(errno));
        return 0;
    }
    fcntl(a->output[1], F_SETFL, 0); /* the rank waits, the agent does not */
    const int length = snprintf(text, sizeof text, "%s %d", PACKAGE_VERSION, port);
    a->connected = 1;
    send_frame(a, TUTTI_LAUNCH_DOOR, text, (size_t)length);
    return a->connected;
}

int tutti_launch_agent(void)
{
    static agent a = {.kill_s = INFINITY};
    char text[16];
    if (!open_agent(&a)) return 1;
    while (!a.ended || (!a.connected && is_left(&a))) pass_once(&a);
    if (!a.connected) return 1;
    const int length = snprintf(text, sizeof text, "%d", a.how);
    send_frame(&a, TUTTI_LAUNCH_ENDED, text, (size_t)length);
    return !a.connected;
}
