#include "dag/base/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tutti_process_boot(char boot[TUTTI_PROCESS_BOOT])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    boot[0] = '\0';
    if (!file) return;
    if (fgets(boot, TUTTI_PROCESS_BOOT, file))
        boot[strcspn(boot, "\n")] = '\0';
    else
        boot[0] = '\0';
    fclose(file);
}

/* Fields of /proc/PID/stat after the name, numbered as in proc(5). */
enum { STATE = 3, PARENT = 4, SESSION = 6, USER_TIME = 14, BEGAN = 22, LINE = 1024 };

/* NULL when there is no such process. */
static const char *find_field(int64_t pid, int wanted, char text[LINE])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    text[fread(text, 1, LINE - 1, file)] = '\0';
    fclose(file);
    const char *at = strrchr(text, ')'); /* a name may contain spaces and parentheses */
    for (int field = STATE - 1; at && field < wanted; field++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    return at && *at ? at : NULL;
}

int tutti_process_look(int64_t pid, char *state, int64_t *began)
{
    char text[LINE];
    const char *at = find_field(pid, BEGAN, text);
    if (!at) return 0;
    if (began) *began = strtoll(at, NULL, 10);
    if (state) *state = strrchr(text, ')')[2];
    return 1;
}

/* Calls see for each number among a folder's names. */
static void each_number(const char *folder, void (*see)(void *ctx, int64_t number), void *ctx)
{
    DIR *all = opendir(folder);
    const struct dirent *entry;
    while (all && (entry = readdir(all)) != NULL) {
        char *end;
        const int64_t number = strtoll(entry->d_name, &end, 10);
        if (number > 0 && !*end) see(ctx, number);
    }
    if (all) closedir(all);
}

static void look_at_thread(void *ctx, int64_t thread)
{
    char state = 'S';
    tutti_process_look(thread, &state, NULL);
    if (strchr("RD", state)) *(int *)ctx = 0;
}

int tutti_process_sleeps(int64_t pid)
{
    char path[64];
    int sleeps = 1;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", pid);
    each_number(path, look_at_thread, &sleeps);
    return sleeps;
}

static int64_t read_field(int64_t pid, int field)
{
    char text[LINE];
    const char *at = find_field(pid, field, text);
    return at ? strtoll(at, NULL, 10) : 0;
}

int64_t tutti_process_parent(int64_t pid)
{
    return read_field(pid, PARENT);
}

int64_t tutti_process_session(int64_t pid)
{
    return read_field(pid, SESSION);
}

int64_t tutti_process_used(int64_t pid)
{
    return read_field(pid, USER_TIME) + read_field(pid, USER_TIME + 1);
}

void tutti_process_each(void (*see)(void *ctx, int64_t pid), void *ctx)
{
    each_number("/proc", see, ctx);
}
