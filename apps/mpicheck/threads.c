#include "apps/mpicheck/threads.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* The next thread that is listed; 0: there are no more. */
static int next_of(DIR *tasks)
{
    const struct dirent *entry;
    while ((entry = readdir(tasks)))
        if (entry->d_name[0] != '.') return atoi(entry->d_name);
    return 0;
}

mpicheck_threads mpicheck_threads_now(void)
{
    mpicheck_threads now = {0};
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return now;
    for (int id; now.count < MPICHECK_THREADS_MOST && (id = next_of(tasks));)
        now.id[now.count++] = id;
    closedir(tasks);
    return now;
}

static bool has(const mpicheck_threads *threads, int id)
{
    for (int i = 0; i < threads->count; i++)
        if (threads->id[i] == id) return true;
    return false;
}

mpicheck_threads mpicheck_threads_new(const mpicheck_threads *now, const mpicheck_threads *before)
{
    mpicheck_threads new = {0};
    for (int i = 0; i < now->count; i++)
        if (!has(before, now->id[i])) new.id[new.count++] = now->id[i];
    return new;
}

/* In pthread_join, or waiting for a lock or condition variable without a timeout: only another thread can end
 * that. A thread that cannot be inspected counts as awake. */
static bool parked(int id)
{
    char path[64];
    long number = -1;
    unsigned long address, operation, value, timeout = 1;
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", id);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    int fields =
        fscanf(file, "%ld %lx %lx %lx %lx", &number, &address, &operation, &value, &timeout);
    fclose(file);
    return fields == 5 && number == SYS_futex && timeout == 0;
}

int mpicheck_threads_awake(const mpicheck_threads *others)
{
    DIR *tasks = opendir("/proc/self/task");
    int awake = 0;
    if (!tasks) return INT_MAX;
    for (int id; (id = next_of(tasks));) awake += !has(others, id) && !parked(id);
    closedir(tasks);
    return awake > 1 ? awake : 1;
}
