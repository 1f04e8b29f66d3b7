#include "config.h" /* first: it asks libc for posix_spawnp */

#include "apps/bench/box.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

tutti_status tutti_box_self(char self[TUTTI_BOX_PATH])
{
    ssize_t n = readlink("/proc/self/exe", self, TUTTI_BOX_PATH - 1);
    if (n <= 0) return tutti_fail(TUTTI_ERR_IO, "/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    return TUTTI_OK;
}

const char *tutti_box_find(const char *self, const char *place, char text[TUTTI_BOX_TEXT])
{
    const char *slash = strrchr(place, '/'), *name = slash ? slash + 1 : place;
    const int folder = (int)(strrchr(self, '/') - self);
    snprintf(text, TUTTI_BOX_TEXT, "%.*s/%s", folder, self, place);
    if (access(text, X_OK) == 0) return text;
    snprintf(text, TUTTI_BOX_TEXT, "%.*s/%s", folder, self, name);
    if (access(text, X_OK) == 0) return text;
    snprintf(text, TUTTI_BOX_TEXT, "%s", name);
    return text;
}

/* ---- signals ---- */

static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDS = sizeof ends / sizeof *ends };
static volatile sig_atomic_t received; /* the signal, or 0 */

static void receive_signal(int signal)
{
    received = signal;
}

/* A signal that is ignored stays so. */
static void listen(struct sigaction before[ENDS])
{
    struct sigaction action = {.sa_handler = receive_signal};
    for (int i = 0; i < ENDS; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(ends[i], &action, NULL); /* nohup */
    }
}

void tutti_box_obey(void)
{
    if (received) raise(received);
    received = 0;
}

/* ---- a run ---- */

/* Returns when the process has ended, or a little later than now. */
static void doze(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    if (pidfd < 0)
        tutti_clock_sleep(0.05); /* a kernel before 5.3 */
    else
        poll(&end, 1, 50);
}

/* Whether it had to be asked to end. */
static int await(pid_t pid, double timeout_s, int *state)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    const double patience_s = 60;
    double end = tutti_clock_s() + timeout_s;
    int asked = 0;
    while (waitpid(pid, state, WNOHANG) == 0) {
        if (tutti_clock_s() > end || (received && !asked)) {
            kill(pid, asked++ ? SIGKILL : SIGTERM);
            end = tutti_clock_s() + patience_s;
        }
        doze(pidfd);
    }
    if (pidfd >= 0) close(pidfd);
    return asked;
}

tutti_status tutti_box_run(char *const argv[], const char *what, double timeout_s)
{
    struct sigaction before[ENDS];
    pid_t pid;
    int state, asked = 0;
    listen(before);
    const int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (!error) asked = await(pid, timeout_s, &state);
    for (int i = 0; i < ENDS; i++) sigaction(ends[i], &before[i], NULL);
    if (error) return tutti_fail(TUTTI_ERR_IO, "%s: %s", argv[0], strerror(error));
    if (received) return tutti_fail(TUTTI_ERR_IO, "%s: %s", what, strsignal(received));
    if (asked)
        return tutti_fail(TUTTI_ERR_TIMEOUT, "%s has not ended after %.0f s", what, timeout_s);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_IO, "%s failed (status %d)", argv[0],
        WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
}
