/* Reading files and variables for the checks, and facts about the running process. */
#include "apps/tools/doctor.h"

#include "dag/base/rank.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

FILE *tutti_doctor_open(const tutti_doctor_machine *machine, const char *path)
{
    char full[PATH_MAX];
    int length = snprintf(full, sizeof full, "%s%s", machine->root, path);
    return length > 0 && (size_t)length < sizeof full ? fopen(full, "re") : NULL;
}

int tutti_doctor_line(
    const tutti_doctor_machine *machine, const char *path, char *line, size_t size)
{
    FILE *file = tutti_doctor_open(machine, path);
    if (!file) return 0;
    int read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

int tutti_doctor_exists(const tutti_doctor_machine *machine, const char *path)
{
    char full[PATH_MAX];
    int length = snprintf(full, sizeof full, "%s%s", machine->root, path);
    return length > 0 && (size_t)length < sizeof full && access(full, F_OK) == 0;
}

const char *tutti_doctor_variable(const tutti_doctor_machine *machine, const char *name)
{
    const char *value = machine->environment(name);
    return value ? value : "";
}

/* ---- the running process ---- */

static int64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INT64_MAX)
        return INT64_MAX;
    return (int64_t)limit.rlim_cur;
}

static void look_at_cpus(tutti_doctor_machine *m)
{
    static const char key[] = "Cpus_allowed_list:";
    char line[1024];
    FILE *file = tutti_doctor_open(m, "/proc/self/status");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *list = line + strlen(key);
        tutti_cpus_parse(list + strspn(list, " \t"), &m->allowed);
    }
    if (file) fclose(file);
}

/* Where StarPU keeps its measurements: it creates the folder if the parent is writable. */
static void look_at_home(tutti_doctor_machine *m)
{
    static const char *const names[] = {"XDG_CACHE_HOME", "STARPU_HOME", "HOME"}; /* as StarPU */
    const char *folder = NULL;
    for (int i = 0; i < 3 && !folder; i++) folder = getenv(names[i]);
    if (!folder) folder = "/";
    snprintf(m->home, sizeof m->home, "%s", folder);
    m->home_writable = access(folder, W_OK | X_OK) == 0;
}

void tutti_doctor_look(tutti_doctor_machine *machine)
{
    struct statvfs shared;
    machine->ranks = tutti_rank_count();
    machine->ranks_here = tutti_rank_count_here();
    if (machine->ranks_here > machine->ranks) machine->ranks_here = machine->ranks;
    machine->superuser = geteuid() == 0;
    machine->open_files = limit_of(RLIMIT_NOFILE);
    machine->locked_bytes = limit_of(RLIMIT_MEMLOCK);
    machine->shared_bytes =
        statvfs("/dev/shm", &shared) ? -1 : (int64_t)shared.f_bavail * (int64_t)shared.f_frsize;
    look_at_cpus(machine);
    look_at_home(machine);
}
