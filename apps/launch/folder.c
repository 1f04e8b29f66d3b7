#include "config.h"

#include "apps/launch/folder.h"

#include "apps/launch/options.h"
#include "dag/base/process.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 1024 };

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
    (void)stat, (void)kind, (void)at;
    remove(path);
    return 0;
}

void tutti_launch_folder_delete(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The host and the namespace of processes in which a process number means something. */
static void name_place(char place[TEXT])
{
    char host[256] = "", space[256] = "";
    gethostname(host, sizeof host - 1);
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) *space = '\0';
    snprintf(place, TEXT, "%s %s", host, space);
}

/* A process and its start time, since numbers are reused; "" if it has ended. */
static void name_life(int64_t pid, char life[TEXT])
{
    int64_t began;
    life[0] = '\0';
    if (tutti_process_look(pid, NULL, &began))
        snprintf(life, TEXT, "%" PRId64 " %" PRId64, pid, began);
}

static void read_line(FILE *in, char line[TEXT])
{
    if (!fgets(line, TEXT, in)) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

typedef struct mention {
    const char *text; /* "FOLDER/" */
    int found;
} mention;

/* Finds a process whose environment names the folder: one of its jobs. */
static void see_process(void *ctx, int64_t pid)
{
    mention *m = ctx;
    char path[64], *word = NULL;
    size_t room = 0;
    if (m->found) return;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    FILE *in = fopen(path, "re");
    while (in && !m->found && getdelim(&word, &room, '\0', in) > 0)
        m->found = strstr(word, m->text) != NULL;
    free(word);
    if (in) fclose(in);
}

static int is_left(const char *folder)
{
    char path[TUTTI_LAUNCH_FOLDER + 16], line[3][TEXT], place[TEXT], life[TEXT];
    char boot[TUTTI_PROCESS_BOOT];
    struct stat is;
    if (lstat(folder, &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != geteuid()) return 0;
    snprintf(path, sizeof path, "%s/run", folder);
    FILE *in = fopen(path, "re");
    if (!in) return 0;
    for (int i = 0; i < 3; i++) read_line(in, line[i]);
    fclose(in);
    name_place(place);
    name_life(strtoll(line[2], NULL, 10), life);
    tutti_process_boot(boot);
    if (!*line[2] || strcmp(line[0], place) != 0) return 0;
    if (strcmp(line[1], boot) == 0 && strcmp(line[2], life) == 0) return 0;
    snprintf(path, sizeof path, "%s/", folder);
    mention m = {.text = path};
    tutti_process_each(see_process, &m);
    return !m.found;
}

static void remove_left(const char *parent)
{
    char pattern[TUTTI_LAUNCH_FOLDER];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tutti-run.??????", parent);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (!is_left(found.gl_pathv[i])) continue;
        tutti_launch_say("removing what a run that was killed has left: %s", found.gl_pathv[i]);
        tutti_launch_folder_delete(found.gl_pathv[i]);
    }
    globfree(&found);
}

int tutti_launch_folder_make(const char *parent, char folder[TUTTI_LAUNCH_FOLDER])
{
    char path[TUTTI_LAUNCH_FOLDER + 16], place[TEXT], life[TEXT], boot[TUTTI_PROCESS_BOOT];
    remove_left(parent);
    snprintf(folder, TUTTI_LAUNCH_FOLDER, "%s/tutti-run.XXXXXX", parent);
    if (!mkdtemp(folder)) {
        tutti_launch_say("%s: no folder can be made there: %s", parent, strerror(errno));
        return 0;
    }
    name_place(place);
    name_life(getpid(), life);
    tutti_process_boot(boot);
    snprintf(path, sizeof path, "%s/run", folder);
    FILE *out = fopen(path, "we");
    const int well = out && fprintf(out, "%s\n%s\n%s\n", place, boot, life) > 0;
    if (out && fclose(out) == 0 && well) return 1;
    tutti_launch_say("%s: cannot be written: %s", path, strerror(errno));
    tutti_launch_folder_remove(parent, folder);
    return 0;
}

void tutti_launch_folder_remove(const char *parent, const char *folder)
{
    tutti_launch_folder_delete(folder);
    remove_left(parent);
}
