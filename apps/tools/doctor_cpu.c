/* Processors: how many, shared with whom, with what instructions, how fast; and the clock. */
#include "apps/tools/doctor.h"

#include <stdlib.h>
#include <string.h>

static int online(const tutti_doctor_machine *m)
{
    char line[1024];
    tutti_cpus cpus = {{0}};
    if (tutti_doctor_line(m, "/sys/devices/system/cpu/online", line, sizeof line))
        tutti_cpus_parse(line, &cpus);
    return tutti_cpus_count(&cpus);
}

void tutti_doctor_binding(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    int mine = tutti_cpus_count(&machine->allowed), all = online(machine);
    int threads = machine->workers + 1;
    if (mine >= threads || mine >= all)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "binding", NULL, "may run on %d of %d cores",
            mine, all > mine ? all : mine);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "binding",
            "mpirun --bind-to none, or --map-by slot:PE=N with N cores per rank",
            "bound to %d of %d cores, but there are %d threads: workers and communication take "
            "turns",
            mine, all, threads);
}

/* Of the control group "" or "/machine/job..." and those that it is in: the least limit in cores; 0: none. Returns how
 * many say something. */
static int find_quota(const tutti_doctor_machine *m, char *group, double *least)
{
    char line[512], path[640];
    int say = 0;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        double quota, period;
        *end = '\0';
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        if (!tutti_doctor_line(m, path, line, sizeof line)) continue;
        say++;
        if (sscanf(line, "%lf %lf", &quota, &period) == 2 &&
            !(*least > 0 && *least <= quota / period))
            *least = quota / period;
    }
    return say;
}

/* The processor time that the control group may use, in cores; 0: no limit. */
static double quota_of(const tutti_doctor_machine *m)
{
    char line[512], group[512] = "";
    double quota, period, least = 0;
    if (tutti_doctor_line(m, "/proc/self/cgroup", line, sizeof line) &&
        strncmp(line, "0::", 3) == 0)
        snprintf(group, sizeof group, "%s", line + 3);
    if (find_quota(m, group, &least)) return least;
    if (!tutti_doctor_line(m, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line)) return 0;
    quota = atof(line);
    if (!tutti_doctor_line(m, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", line, sizeof line)) return 0;
    period = atof(line);
    return quota > 0 && period > 0 ? quota / period : 0;
}

void tutti_doctor_quota(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    double quota = quota_of(machine);
    int threads = machine->ranks_here * (machine->workers + 1);
    if (quota <= 0)
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "quota", NULL, "no limit of processor time");
    else if (quota >= threads)
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "quota", NULL, "processor time of %.2g cores", quota);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "quota",
            "raise the container's limit (docker --cpus, cpu.max), or use fewer ranks and workers",
            "limited to the processor time of %.2g cores for %d threads: all are stopped for the "
            "rest of each period",
            quota, threads);
}

void tutti_doctor_load(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    char line[128];
    int cores = online(machine);
    if (!cores || !tutti_doctor_line(machine, "/proc/loadavg", line, sizeof line)) return;
    double load = atof(line);
    if (load < 0.5 * cores)
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "load", NULL, "load %.1f on %d cores", load, cores);
    else
        tutti_doctor_say(report, load < cores ? TUTTI_DOCTOR_NOTE : TUTTI_DOCTOR_WARN, "load",
            "see what else is running (top): the slowest rank sets the pace",
            "load %.1f on %d cores before the run begins", load, cores);
}

void tutti_doctor_instructions(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    if (machine->no_bf16)
        tutti_doctor_say(report, TUTTI_DOCTOR_NOTE, "instructions", NULL,
            "%s: --precision bf16 is refused, auto takes f32", machine->instructions);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "instructions", NULL,
            "%s: --precision bf16 is possible", machine->instructions);
}

void tutti_doctor_frequency(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cpufreq/";
    char path[128], governor[64], driver[64] = "";
    snprintf(path, sizeof path, "%sscaling_governor", folder);
    if (!tutti_doctor_line(machine, path, governor, sizeof governor)) return;
    snprintf(path, sizeof path, "%sscaling_driver", folder);
    tutti_doctor_line(machine, path, driver, sizeof driver);
    /* These drivers choose frequencies themselves: their powersave is the usual setting. */
    int adapts = strncmp(driver, "intel_pstate", 12) == 0 || strncmp(driver, "amd-pstate", 10) == 0;
    if (strcmp(governor, "powersave") != 0 || adapts)
        tutti_doctor_say(
            report, TUTTI_DOCTOR_OK, "frequency", NULL, "governor %s (%s)", governor, driver);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "frequency",
            "cpupower frequency-set -g performance, as the superuser",
            "governor powersave: cores stay at their lowest frequency");
}

void tutti_doctor_clock(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", NULL};
    char source[64];
    if (!tutti_doctor_line(machine,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
            sizeof source))
        return;
    int is_slow = 0;
    for (int i = 0; slow[i]; i++) is_slow |= strcmp(slow[i], source) == 0;
    if (is_slow)
        tutti_doctor_say(report, TUTTI_DOCTOR_WARN, "clock",
            "boot with clocksource=tsc, if the kernel's log says that it is stable",
            "clock source %s: reading the time takes a microsecond or more", source);
    else
        tutti_doctor_say(report, TUTTI_DOCTOR_OK, "clock", NULL, "clock source %s", source);
}
