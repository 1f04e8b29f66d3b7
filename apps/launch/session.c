#include "config.h"

#include "apps/launch/session.h"

#include "apps/launch/folder.h"
#include "apps/launch/options.h"
#include "dag/base/process.h"

#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096, SEGMENTS = 1024 };

typedef struct search {
    pid_t session;
    tutti_launch_processes *list;
} search;

static void see_process(void *ctx, int64_t pid)
{
    const search *s = ctx;
    char state = 'Z';
    if (tutti_process_session(pid) != s->session || s->list->n == TUTTI_LAUNCH_PROCESSES) return;
    if (tutti_process_look(pid, &state, NULL) && state != 'Z' && state != 'X')
        s->list->pid[s->list->n++] = (pid_t)pid;
}

void tutti_launch_session_list(pid_t session, tutti_launch_processes *list)
{
    search s = {session, list};
    list->n = 0;
    tutti_process_each(see_process, &s);
}

/* Whether its environment has a variable with one of these names. */
static int has_rank(pid_t pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK="};
    char path[64], *line = NULL;
    size_t room = 0;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *in = fopen(path, "re");
    while (in && !found && getdelim(&line, &room, '\0', in) > 0)
        for (int i = 0; i < 3; i++) found |= strncmp(line, names[i], strlen(names[i])) == 0;
    free(line);
    if (in) fclose(in);
    return found;
}

void tutti_launch_session_ranks(pid_t session, tutti_launch_processes *list)
{
    static tutti_launch_processes all;
    tutti_launch_session_list(session, &all);
    list->n = 0;
    for (int i = 0; i < all.n; i++) {
        int waits = 0;
        for (int k = 0; k < all.n; k++) waits |= tutti_process_parent(all.pid[k]) == all.pid[i];
        if (!waits && has_rank(all.pid[i])) list->pid[list->n++] = all.pid[i];
    }
}

/* ---- what a killed launcher leaves ---- */

/* The segments that a process has mapped, of which the path is kept. */
static void list_segments(pid_t pid, char *path[], int *n)
{
    char file[64], *line = NULL;
    size_t room = 0;
    snprintf(file, sizeof file, "/proc/%d/maps", (int)pid);
    FILE *in = fopen(file, "re");
    while (in && getline(&line, &room, in) > 0) {
        char *at = strstr(line, "/dev/shm/");
        if (!at || *n == SEGMENTS) continue;
        at[strcspn(at, "\n")] = '\0';
        const char *name = at + strlen("/dev/shm/");
        if (strncmp(name, "vader_segment.", 14) != 0 && strncmp(name, "sm_segment.", 11) != 0)
            continue;
        if (strchr(name, ' ') || (*n && strcmp(path[*n - 1], at) == 0)) continue;
        path[*n] = strdup(at);
        *n += path[*n] != NULL;
    }
    free(line);
    if (in) fclose(in);
}

/* Removes `inner` of each folder that matches, or the folder itself, and then the folder if it is empty. */
static void remove_left(const char *pattern, const char *inner)
{
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s%s", found.gl_pathv[i], inner);
        if (access(path, F_OK) == 0) {
            tutti_launch_say("removing what is left of the launcher: %s", path);
            tutti_launch_folder_delete(path);
        }
        if (*inner) rmdir(found.gl_pathv[i]); /* when no other run has files in it */
    }
    globfree(&found);
}

static const char *folder_of(const char *variable)
{
    const char *set = getenv(variable), *scratch = getenv("TMPDIR");
    if (set && *set) return set;
    return scratch && *scratch ? scratch : "/tmp";
}

static void kill_left(const tutti_launch_processes *left)
{
    char text[1024] = "", *segment[SEGMENTS];
    int n = 0;
    for (int i = 0; i < left->n && strlen(text) < sizeof text - 16; i++)
        snprintf(text + strlen(text), 16, " %d", (int)left->pid[i]);
    tutti_launch_say("killing what is left of the command: process%s", text);
    for (int i = 0; i < left->n; i++) list_segments(left->pid[i], segment, &n);
    for (int i = 0; i < left->n; i++) kill(left->pid[i], SIGKILL);
    for (int i = 0; i < n; i++) {
        unlink(segment[i]);
        free(segment[i]);
    }
}

void tutti_launch_session_sweep(pid_t session)
{
    static tutti_launch_processes left;
    char pattern[PATH], inner[64];
    tutti_launch_session_list(session, &left);
    if (left.n) kill_left(&left);
    snprintf(pattern, sizeof pattern, "%s/ompi.*.%d", folder_of("OMPI_MCA_orte_tmpdir_base"),
        (int)getuid());
    snprintf(inner, sizeof inner, "/pid.%d", (int)session);
    remove_left(pattern, inner);
    snprintf(pattern, sizeof pattern, "%s/prterun.*.%d.%d", folder_of("PRTE_MCA_prte_tmpdir_base"),
        (int)session, (int)getuid());
    remove_left(pattern, "");
}

int tutti_launch_is_mpirun(pid_t process, char name[32])
{
    static const char *const launchers[] = {"mpirun*", "mpiexec*", "orterun*", "prterun*", "prun*"};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
    FILE *in = fopen(path, "re");
    int is = 0;
    name[0] = '\0';
    if (in && fgets(name, 32, in)) name[strcspn(name, "\n")] = '\0';
    if (in) fclose(in);
    for (int i = 0; i < 5; i++) is |= fnmatch(launchers[i], name, 0) == 0;
    return is;
}
