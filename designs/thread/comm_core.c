#include "designs/thread/comm_core.h"

#include "dag/base/log.h"
#include "dag/base/number.h"

#include <stdlib.h>
#include <string.h>

/* The processor named by the text, or -1. */
static int number_of(const char *core)
{
    int64_t cpu;
    return tutti_number_int(core, &cpu) && cpu >= 0 && cpu < TUTTI_CPUS ? (int)cpu : -1;
}

static int is_word(const char *core, const char *word)
{
    return core && strcmp(core, word) == 0;
}

tutti_status tutti_comm_core_check(const char *name, const char *core)
{
    if (!core || is_word(core, "none") || is_word(core, "auto")) return TUTTI_OK;
    int cpu = number_of(core);
    if (cpu < 0)
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s %s: must be auto, none or the number of a processor", name, core);
    tutti_cpus allowed = tutti_cpus_allowed();
    if (tutti_cpus_has(&allowed, cpu)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "%s %s: this rank may not use processor %d (mpirun's binding, taskset or a cpuset "
        "has given it %d others)",
        name, core, cpu, tutti_cpus_count(&allowed));
}

static int have_common_cpu(const tutti_cpus *a, const tutti_cpus *b)
{
    for (int w = 0; w < TUTTI_CPUS / 64; w++)
        if (a->word[w] & b->word[w]) return 1;
    return 0;
}

int tutti_comm_core_spare(const tutti_cpus cpus[], int ranks, int rank, int workers)
{
    const tutti_cpus *mine = &cpus[rank];
    int sharers = 0, before = 0;
    for (int r = 0; r < ranks; r++) {
        if (!have_common_cpu(mine, &cpus[r])) continue;
        if (memcmp(mine, &cpus[r], sizeof *mine) != 0) return -1; /* overlapping sets: no rule */
        sharers++;
        before += r < rank;
    }
    if (tutti_cpus_count(mine) < sharers * (workers + 1)) return -1;
    int cpu = TUTTI_CPUS;
    for (int left = before + 1; left > 0; left -= tutti_cpus_has(mine, cpu)) cpu--;
    return cpu;
}

tutti_status tutti_comm_core_bind(const char *core, const tutti_boot *boot, int workers, int *cpu)
{
    tutti_cpus mine = tutti_cpus_allowed();
    void *all;
    int ranks, rank;
    tutti_status status = tutti_boot_gather_host(boot, &mine, sizeof mine, &all, &ranks, &rank);
    if (status) return status;
    int wanted = -1;
    if (is_word(core, "auto") && tutti_cpus_count(&mine))
        wanted = tutti_comm_core_spare(all, ranks, rank, workers);
    else if (core && !is_word(core, "none"))
        wanted = number_of(core);
    free(all);
    int refused = wanted >= 0 ? tutti_cpus_bind(wanted) : 0;
    if (refused)
        tutti_log(TUTTI_LOG_WARN, "the communication thread cannot be bound to processor %d: %s",
            wanted, strerror(refused));
    *cpu = refused ? -1 : wanted;
    return TUTTI_OK;
}
