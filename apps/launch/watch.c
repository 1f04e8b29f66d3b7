#include "config.h"

#include "apps/launch/watch.h"

#include "apps/launch/options.h"
#include "dag/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int received[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};

int tutti_launch_watch_open(tutti_launch_watch *w)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof received / sizeof *received; i++) {
        struct sigaction now;
        sigaction(received[i], NULL, &now);
        if (now.sa_handler != SIG_IGN || received[i] == SIGCHLD) sigaddset(&set, received[i]);
    }
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    *w = (tutti_launch_watch){
        .signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), .parent = getpid()};
    if (w->signals < 0) tutti_launch_say("signals cannot be received: %s", strerror(errno));
    return w->signals >= 0;
}

int tutti_launch_watch_next(tutti_launch_watch *w)
{
    struct signalfd_siginfo info;
    if (read(w->signals, &info, sizeof info) != sizeof info) return 0;
    const int number = (int)info.ssi_signo;
    if (number != SIGHUP && number != SIGINT && number != SIGTERM) return number;
    w->stops++;
    if (!w->stopped) w->stopped = number;
    return number;
}

static void become(
    const tutti_launch_watch *w, char *const command[], int own_session, const int fd[3])
{
    sigset_t none;
    if (own_session) setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != w->parent) _exit(143); /* tutti-run was killed before */
    for (int i = 0; i < 3; i++)
        if (fd[i] != i && dup2(fd[i], i) < 0) _exit(126);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(command[0], command);
    const int status = errno == ENOENT ? 127 : 126;
    tutti_launch_say("%s: %s", command[0], strerror(errno));
    _exit(status);
}

pid_t tutti_launch_watch_start(
    const tutti_launch_watch *w, char *const command[], int own_session, int in, int out, int err)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) become(w, command, own_session, (const int[]){in, out, err});
    if (child < 0) tutti_launch_say("no process can be started: %s", strerror(errno));
    return child;
}

/* A moment after its start it may not have the group yet. */
void tutti_launch_watch_signal(pid_t process, int number)
{
    const int all = number == SIGINT || number == SIGTERM || number == SIGKILL;
    if (!all || kill(-process, number)) kill(process, number);
}

int tutti_launch_watch_timeout(double until_s)
{
    const double left_s = until_s - tutti_clock_s();
    if (left_s <= 0) return 0;
    return left_s >= 1 ? 1000 : (int)(left_s * 1000) + 1;
}

void tutti_launch_watch_rest(tutti_launch_watch *w, double until_s)
{
    while (!w->stopped && tutti_clock_s() < until_s) {
        struct pollfd signals = {.fd = w->signals, .events = POLLIN};
        poll(&signals, 1, tutti_launch_watch_timeout(until_s));
        while (tutti_launch_watch_next(w)) continue;
    }
}
