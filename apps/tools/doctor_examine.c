/* All checks, one after another. */
#include "apps/tools/doctor.h"

void tutti_doctor_examine(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    static void (*const checks[])(const tutti_doctor_machine *, tutti_doctor_report *) = {
        tutti_doctor_versions,
        tutti_doctor_starpu,
        tutti_doctor_binding,
        tutti_doctor_yielding,
        tutti_doctor_quota,
        tutti_doctor_load,
        tutti_doctor_instructions,
        tutti_doctor_frequency,
        tutti_doctor_clock,
        tutti_doctor_network,
        tutti_doctor_single_copy,
        tutti_doctor_shared_memory,
        tutti_doctor_limits,
        tutti_doctor_allreduce,
        tutti_doctor_superuser,
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) checks[i](machine, report);
}
