/* tutti-run: starts the ranks of an MPI program, and starts it again from its last checkpoint when it fails; or
 * servers and clients as jobs of their own. See tutti-run(1). */
#include "config.h"

#include "apps/launch/agent.h"
#include "apps/launch/attempt.h"
#include "apps/launch/elastic.h"
#include "apps/launch/jobs.h"
#include "dag/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { IDENTITY = 128 };

typedef struct program {
    tutti_launch_options options;
    tutti_launch_mpirun mpirun;
    tutti_launch_watch watch;
    const char *checkpoint;
    char place[PATH_MAX];    /* of the checkpoint: earlier ones lie beside what a link leads to */
    char stranger[IDENTITY]; /* the file that was there before; "": none */
    double begun_s;
    int restarts, resumed;
} program;

/* ---- the checkpoint ---- */

/* What a link leads to, even if that is missing. */
static void follow_links(const char *path, char place[PATH_MAX])
{
    enum { LINKS = 40 };
    snprintf(place, PATH_MAX, "%s", path);
    for (int i = 0; i < LINKS; i++) {
        char to[PATH_MAX], here[PATH_MAX];
        const ssize_t n = readlink(place, to, sizeof to - 1);
        if (n < 0) return;
        to[n] = '\0';
        const char *slash = strrchr(place, '/');
        const int folder = *to == '/' || !slash ? 0 : (int)(slash + 1 - place);
        if (snprintf(here, sizeof here, "%.*s%s", folder, place, to) >= PATH_MAX) return;
        memcpy(place, here, PATH_MAX);
    }
}

static int identify_file(const char *path, char identity[IDENTITY])
{
    struct stat is;
    if (stat(path, &is) != 0) return 0;
    snprintf(identity, IDENTITY, "%ju %ju %jd.%09ld", (uintmax_t)is.st_dev, (uintmax_t)is.st_ino,
        (intmax_t)is.st_mtim.tv_sec, is.st_mtim.tv_nsec);
    return 1;
}

/* Where the file is missing, the program continues from the earlier one (a kill between the two steps of putting a new
 * one into its place). */
static void identify(const program *p, char identity[IDENTITY])
{
    char earlier[PATH_MAX + 4];
    identity[0] = '\0';
    if (!p->checkpoint || identify_file(p->checkpoint, identity)) return;
    snprintf(earlier, sizeof earlier, "%s.1", p->place);
    identify_file(earlier, identity);
}

/* The words to run now: a list with a NULL, to be freed. --resume stands at the end of each program's arguments,
 * where the last one counts; ":" separates programs. */
static char **compose(program *p)
{
    const tutti_launch_options *o = &p->options;
    char now[IDENTITY],
        **command = calloc((size_t)(p->mpirun.words + 3 * o->words) + 3, sizeof *command);
    int n = 0;
    if (!command) return NULL;
    identify(p, now);
    p->resumed = *now && strcmp(now, p->stranger) != 0;
    for (; n < p->mpirun.words; n++) command[n] = p->mpirun.word[n];
    for (int i = 0; i <= o->words; i++) {
        const int ends = i == o->words || strcmp(o->command[i], ":") == 0;
        if (ends && p->resumed) {
            command[n++] = "--resume";
            command[n++] = (char *)p->checkpoint;
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
                p->resumed ? "from " : "starting over: it had not saved ", p->checkpoint);
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
    if (p.options.elastic) {
        name_run();
        return tutti_launch_elastic(&p.watch, &p.options);
    }
    if (p.options.servers) return tutti_launch_jobs(&p.watch, &p.options, &p.mpirun);
    p.begun_s = tutti_clock_s();
    p.checkpoint = tutti_launch_checkpoint(&p.options);
    if (p.checkpoint) follow_links(p.checkpoint, p.place);
    if (!p.options.proceed) identify(&p, p.stranger);
    name_run();
    return run_attempts(&p);
}
