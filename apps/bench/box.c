#include "config.h" /* first: it asks libc for posix_spawnp */

#include "apps/bench/box.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
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

tutti_status tutti_box_run(char *const argv[], const char *what, double timeout_s)
{
    pid_t pid;
    int state, asked = 0, error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (error) return tutti_fail(TUTTI_ERR_IO, "%s: %s", argv[0], strerror(error));
    double end = tutti_clock_s() + timeout_s;
    while (waitpid(pid, &state, WNOHANG) == 0) {
        if (tutti_clock_s() > end) {
            kill(pid, asked++ ? SIGKILL : SIGTERM);
            end = tutti_clock_s() + 60;
        }
        tutti_clock_sleep(0.05);
    }
    if (asked)
        return tutti_fail(TUTTI_ERR_TIMEOUT, "%s has not ended after %.0f s", what, timeout_s);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_IO, "%s failed (status %d)", argv[0],
        WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
}
