/* How MPI will behave here: thread level, shared memory between processes, waiting, pitfalls. */
#include "apps/tools/doctor.h"

#include <stdlib.h>
#include <string.h>

void tutti_doctor_judge_threads(tutti_thread_level granted, tutti_doctor_report *report)
{
    const char *name = tutti_thread_level_name(granted);
    if (granted >= TUTTI_THREAD_SERIALIZED)
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "threads", NULL, "%s is granted: every design runs", name);
    else if (granted == TUTTI_THREAD_FUNNELED)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "threads",
            "use --design funneled or concurrent, or an MPI built with thread support",
            "%s is granted: design chained and attached programs need MPI_THREAD_SERIALIZED", name);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_BAD, "threads",
            "use an MPI built with thread support", "%s is granted: no design runs", name);
}

static int in_container(const tutti_doctor_machine *m)
{
    return tutti_doctor_exists(m, "/.dockerenv") || tutti_doctor_exists(m, "/run/.containerenv") ||
           *tutti_doctor_variable(m, "container") ||
           *tutti_doctor_variable(m, "SINGULARITY_CONTAINER");
}

/* Whether this process has CAP_SYS_PTRACE. */
static int may_trace(const tutti_doctor_machine *m)
{
    enum { CAP_SYS_PTRACE_BIT = 19 };
    char line[128];
    unsigned long long capabilities = 0;
    FILE *file = tutti_doctor_open(m, "/proc/self/status");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "CapEff:", 7) == 0) capabilities = strtoull(line + 7, NULL, 16);
    fclose(file);
    return (capabilities >> CAP_SYS_PTRACE_BIT & 1) != 0;
}

void tutti_doctor_single_copy(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    int major = tutti_doctor_open_mpi(machine->mpi);
    const char *name = major >= 5 ? "OMPI_MCA_smsc" : "OMPI_MCA_btl_vader_single_copy_mechanism";
    const char *advice = major >= 5 ? "export OMPI_MCA_smsc=^cma,knem,xpmem"
                                    : "export OMPI_MCA_btl_vader_single_copy_mechanism=none";
    const char *chosen = tutti_doctor_variable(machine, name);
    char line[32];
    if (!major) return;
    int scope = tutti_doctor_line(machine, "/proc/sys/kernel/yama/ptrace_scope", line, sizeof line)
                    ? atoi(line)
                    : 0;
    if (*chosen)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "single-copy", NULL, "%s=%s", name, chosen);
    else if (in_container(machine) && !may_trace(machine))
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "single-copy", advice,
            "a container without CAP_SYS_PTRACE: ranks cannot read each other's memory, and Open "
            "MPI "
            "says so at every message or fails");
    else if (scope >= 2)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "single-copy", advice,
            "kernel.yama.ptrace_scope is %d: ranks may not read each other's memory", scope);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "single-copy", NULL,
            "ranks of a host may read each other's memory");
}

void tutti_doctor_yielding(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    int cores = tutti_cpus_count(&machine->allowed);
    int threads = machine->ranks_here * (machine->workers + 1);
    const char *yields = tutti_doctor_variable(machine, "OMPI_MCA_mpi_yield_when_idle");
    int safe = !tutti_doctor_open_mpi(machine->mpi) || strcmp(yields, "1") == 0;
    if (machine->ranks_here <= cores || safe)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "yielding", NULL,
            "ranks on this host: %d, cores: %d%s", machine->ranks_here, cores,
            machine->ranks_here > cores ? "; MPI yields while it waits" : "");
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "yielding",
            "export OMPI_MCA_mpi_yield_when_idle=1",
            "%d ranks on %d cores: a rank that waits inside MPI keeps its core from one that works",
            machine->ranks_here, cores);
    int enough = threads <= cores;
    tutti_doctor_say(report, enough ? TUTTI_DOCTOR_OK : TUTTI_DOCTOR_WARN, "cores",
        enough ? NULL
               : "use fewer --workers or fewer ranks: otherwise times vary, and communication "
                 "waits for a core",
        "threads on this host: %d ranks x (%d workers + 1 for communication) = %d, cores: %d",
        machine->ranks_here, machine->workers, threads, cores);
}

void tutti_doctor_allreduce(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    static const char name[] = "OMPI_MCA_coll_libnbc_iallreduce_algorithm";
    const char *chosen = tutti_doctor_variable(machine, name);
    if (!tutti_doctor_open_mpi(machine->mpi)) return;
    if (*chosen)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "allreduce", NULL, "%s=%s", name, chosen);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_NOTE, "allreduce",
            "Tutti's own algorithms are not affected; for --algorithm mpi, and in programs that "
            "call MPI_Iallreduce: export OMPI_MCA_coll_libnbc_iallreduce_algorithm=3",
            "MPI_Iallreduce in place, below 64 KiB or on fewer than 4 ranks sends log2(P) times "
            "the "
            "bytes");
}

void tutti_doctor_superuser(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    int allowed = *tutti_doctor_variable(machine, "OMPI_ALLOW_RUN_AS_ROOT") &&
                  *tutti_doctor_variable(machine, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
    if (!machine->superuser)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "root", NULL, "not the superuser");
    else if (allowed || !tutti_doctor_open_mpi(machine->mpi))
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "root", NULL, "the superuser, and mpirun allows it");
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "root",
            "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            "the superuser: Open MPI's mpirun refuses to start");
}
