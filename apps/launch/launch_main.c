/* tutti-run: starts the ranks of an MPI program, and starts it again from its last checkpoint when it fails; or
 * servers and clients as jobs of their own. See tutti-run(1). */
#include "config.h"

#include "apps/launch/agent.h"
#include "apps/launch/attempt.h"
#include "apps/launch/elastic.h"
#include "apps/launch/jobs.h"
#include "apps/launch/saved.h"
#include "dag/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct program {
    tutti_launch_options options;
    tutti_launch_mpirun mpirun;
    tutti_launch_watch watch;
    tutti_launch_saved saved;
    double begun_s;
    int restarts, resumed;
} program;

/* The words to run now: a list with a NULL, to be freed. --resume stands at the end of each program's arguments,
 * where the last one counts; ":" separates programs. */
static char **compose(program *p)
{
    const tutti_launch_options *o = &p->options;
    char **command = calloc((size_t)(p->mpirun.words + 3 * o->words) + 3, sizeof *command);
    int n = 0;
    if (!command) return NULL;
    p->resumed = tutti_launch_saved_is_there(&p->saved);
    for (; n < p->mpirun.words; n++) command[n] = p->mpirun.word[n];
    for (int i = 0; i <= o->words; i++) {
        const int ends = i == o->words || strcmp(o->command[i], ":") == 0;
        if (ends && p->resumed) {
            command[n++] = "--resume";
            command[n++] = (char *)p->saved.checkpoint;
        }
        if (i < o->words) command[n++] = o->command[i];
    }
    return command;
}

/* ---- the end ---- */

static int finish(const program *p, const char *how, int status)
{
    const tutti_launch_options *o = &p->options;
    if (!o->max_restarts && o->ranks && !p->watch.stopped)
        return status; /* the launcher has said it all */
    tutti_launch_say("%s after %d s and %d restart%s, exit status %d", how,
        (int)(tutti_clock_s() - p->begun_s), p->restarts, p->restarts == 1 ? "" : "s", status);
    return status;
}

static int finish_stopped(const program *p)
{
    char how[64];
    snprintf(how, sizeof how, "stopped by signal %d", p->watch.stopped);
    return finish(p, how, 128 + p->watch.stopped);
}

/* Why there is no further attempt; NULL: there may be one. *status: the one to end with. */
static const char *find_reason(const tutti_launch_attempt *a, int *status)
{
    static const char interrupted[] = "not tried again (interrupted; --continue resumes it)";
    *status = a->code;
    if (!a->ended && a->interrupted) {
        *status = a->interrupted;
        return interrupted;
    }
    if (a->lasting && a->code) {
        const char *file = getenv("TUTTI_RUN_LASTING");
        const int fd = file && *file ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
        if (fd >= 0) close(fd);
        return "not tried again (it would fail in the same way)";
    }
    if (a->code == 0) return "done";
    if (!a->ended && (a->code == 130 || a->code == 143)) return interrupted;
    if (a->code == 2) return "not tried again (a mistake in the options)";
    return a->code == 126 || a->code == 127 ? "not tried again (cannot be run)" : NULL;
}

static int run_attempts(program *p)
{
    const tutti_launch_options *o = &p->options;
    int pause_s = o->pause_s;
    for (;; p->restarts++) {
        char **command = compose(p);
        if (!command) return finish(p, "no memory", 1);
        if (p->restarts)
            tutti_launch_say("restart %d of %d, %s%s", p->restarts, o->max_restarts,
                p->resumed ? "from " : "starting over: it had not saved ", p->saved.checkpoint);
        const tutti_launch_attempt a = tutti_launch_run(&p->watch, o, command);
        int status;
        free(command);
        if (p->watch.stopped) return finish_stopped(p);
        const char *reason = find_reason(&a, &status);
        if (reason) return finish(p, reason, status);
        if (p->restarts >= o->max_restarts) return finish(p, "giving up", status);
        tutti_launch_say("the command ended with status %d; again in %d s", status, pause_s);
        tutti_launch_watch_rest(&p->watch, tutti_clock_s() + pause_s);
        if (p->watch.stopped) return finish_stopped(p);
        pause_s = tutti_launch_next_pause(pause_s);
    }
}

/* The lock of the checkpoint says who writes it. One that an attempt of this tutti-run has left, on a host that may
 * be gone, is taken over by the next, which has the same name. */
static void name_run(void)
{
    char name[512], host[256] = "";
    const char *set = getenv("TUTTI_RUN");
    if (set && *set) return;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s.%d.%jd", host, (int)getpid(), (intmax_t)time(NULL));
    setenv("TUTTI_RUN", name, 1);
}

int main(int argc, char **argv)
{
    static program p;
    if (argc == 2 && !strcmp(argv[1], TUTTI_LAUNCH_AGENT)) return tutti_launch_agent();
    int status = tutti_launch_parse(argc, argv, &p.options);
    if (status < 0 && !p.options.elastic) status = tutti_launch_mpirun_find(&p.options, &p.mpirun);
    if (status >= 0) return status;
    if (!tutti_launch_watch_open(&p.watch)) return 1;
    name_run();
    if (p.options.elastic) return tutti_launch_elastic(&p.watch, &p.options);
    if (p.options.servers) return tutti_launch_jobs(&p.watch, &p.options, &p.mpirun);
    p.begun_s = tutti_clock_s();
    tutti_launch_saved_begin(&p.saved, tutti_launch_checkpoint(&p.options), p.options.proceed);
    return run_attempts(&p);
}
