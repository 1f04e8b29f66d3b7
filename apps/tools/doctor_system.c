/* StarPU's limits, shared memory, and the limits of a process. */
#include "apps/tools/doctor.h"

void tutti_doctor_starpu(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    int cores = tutti_cpus_count(&machine->allowed);
    if (machine->workers > machine->most_workers)
        tutti_doctor_say(report, TUTTI_DOCTOR_BAD, "workers",
            "use more ranks with fewer --workers each, or a StarPU configured with "
            "--enable-maxcpus",
            "%d workers are requested, but this StarPU build supports %d", machine->workers,
            machine->most_workers);
    else if (machine->most_workers < cores / machine->ranks_here - 1)
        tutti_doctor_say(report, TUTTI_DOCTOR_NOTE, "workers",
            "to use all cores: more ranks per host, or a StarPU configured with --enable-maxcpus",
            "%d cores per rank, but this StarPU build supports %d workers",
            cores / machine->ranks_here, machine->most_workers);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "workers", NULL,
            "this StarPU build supports %d workers per rank", machine->most_workers);
    tutti_doctor_say(report, TUTTI_DOCTOR_OK, "buffers", NULL,
        "a task has room for %d buffers; Tutti allocates memory for more", machine->most_buffers);
    if (machine->home_writable)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "starpu-home", NULL,
            "StarPU writes its measurements in %s", machine->home);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_BAD, "starpu-home",
            "export STARPU_HOME=FOLDER, a writable one on a disk of this host",
            "StarPU cannot write in %s", machine->home);
}

void tutti_doctor_shared_memory(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    enum { RANK_MB = 32 };
    const int64_t mb = 1 << 20;
    static const char advice[] = "give the container more (docker run --shm-size=1g), or remount "
                                 "/dev/shm with a larger size; look there for files of dead runs";
    if (machine->shared_bytes < 0)
        tutti_doctor_say(
            report, TUTTI_DOCTOR_WARN, "shm", "mount a tmpfs on /dev/shm", "there is no /dev/shm");
    else if (machine->shared_bytes < machine->ranks_here * RANK_MB * mb)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "shm", advice,
            "%lld MB are free in /dev/shm; ranks on this host: %d, each of which may take %d MB",
            (long long)(machine->shared_bytes / mb), machine->ranks_here, RANK_MB);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "shm", NULL, "/dev/shm has enough room");
}

void tutti_doctor_limits(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    enum { FEW_FILES = 256, LITTLE_LOCKED_MB = 64 };
    const int64_t mb = 1 << 20;
    int64_t wanted = FEW_FILES + 4 * (int64_t)machine->ranks;
    if (machine->open_files < wanted)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "files", "ulimit -n 4096",
            "%lld open files are allowed; %d ranks may need %lld", (long long)machine->open_files,
            machine->ranks, (long long)wanted);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "files", NULL, "enough open files are allowed");
    if (!tutti_doctor_exists(machine, "/sys/class/infiniband"))
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "memlock", NULL, "no InfiniBand that would lock memory");
    else if (machine->locked_bytes < LITTLE_LOCKED_MB * mb)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "memlock",
            "ulimit -l unlimited, for batch jobs in the daemon's limits",
            "only %lld KB may be locked, but InfiniBand locks what it sends",
            (long long)(machine->locked_bytes / 1024));
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "memlock", NULL, "memory may be locked");
}
