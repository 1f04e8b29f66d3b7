/* Versions of MPI and StarPU, and their known problems. */
#include "apps/tools/doctor.h"

#include <stdlib.h>
#include <string.h>

/* A version as one number that grows with it. */
#define VERSION(major, minor, release) ((major)*1000000L + (minor)*1000L + (release))

typedef struct known {
    const char *library; /* beginning of the version text */
    long first, last;    /* range of affected versions */
    tutti_doctor_status status;
    const char *symptom, *advice;
} known;

static const known table[] = {
    {"Open MPI", VERSION(4, 1, 0), VERSION(5, 0, 99), TUTTI_DOCTOR_NOTE,
        "MPI_Comm_dup from several threads deadlocks",
        "create communicators on one thread, in one order, as Tutti does"},
    {"Open MPI", VERSION(3, 0, 0), VERSION(5, 0, 99), TUTTI_DOCTOR_NOTE,
        "a collective that one rank calls in another order often goes unnoticed: of 48 such "
        "programs Open MPI 4.1.4 let 15 end as if nothing were wrong",
        "run programs that call MPI themselves once with libtutti-mpicheck.so (tutti-mpicheck(7))"},
    {"Open MPI", VERSION(4, 1, 4), VERSION(4, 1, 4), TUTTI_DOCTOR_NOTE,
        "MPI_Win_create fails in some containers, where the component osc/ucx offers itself and "
        "finds no device",
        "for programs with one-sided communication, which Tutti does not use: export "
        "OMPI_MCA_osc=^ucx"},
    {"Open MPI", VERSION(5, 0, 0), VERSION(5, 0, 99), TUTTI_DOCTOR_NOTE,
        "between ranks of a host that cannot read each other's memory, all messages stop once 512 "
        "of more than 4 KiB are under way",
        "export OMPI_MCA_btl_sm_free_list_max=-1, which tutti-run does"},
    {"StarPU", VERSION(1, 3, 0), VERSION(1, 3, 99), TUTTI_DOCTOR_NOTE,
        "idle workers poll and take time from the communication thread",
        "leave one core per rank free of workers (--workers)"},
    {"StarPU", VERSION(1, 3, 0), VERSION(1, 3, 99), TUTTI_DOCTOR_NOTE,
        "StarPU-MPI's wait_for_all misses detached requests",
        "wait for your own requests; Tutti does not use StarPU-MPI"},
};

/* The first number with dots in "Open MPI v4.1.4, package: ..."; -1: none. */
static long version_of(const char *text)
{
    long part[3] = {0};
    const char *at = text + strcspn(text, "0123456789");
    if (!*at) return -1;
    for (int i = 0; i < 3; i++) {
        char *end;
        part[i] = strtol(at, &end, 10);
        at = end;
        if (*at != '.') break;
        at++;
    }
    return VERSION(part[0], part[1], part[2]);
}

int tutti_doctor_open_mpi(const char *version)
{
    if (strncmp(version, "Open MPI", strlen("Open MPI")) != 0) return 0;
    long number = version_of(version);
    return number < VERSION(1, 0, 0) ? 1 : (int)(number / VERSION(1, 0, 0));
}

static void compare_known(tutti_doctor_report *report, const char *check, const char *text)
{
    long version = version_of(text);
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ","), text);
    tutti_doctor_say(report, TUTTI_DOCTOR_OK, check, NULL, "%s", name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const known *k = &table[i];
        if (strncmp(text, k->library, strlen(k->library)) != 0) continue;
        if (version < k->first || version > k->last) continue;
        tutti_doctor_say(report, k->status, check, k->advice, "%s: %s", name, k->symptom);
    }
}

void tutti_doctor_versions(const tutti_doctor_machine *machine, tutti_doctor_report *report)
{
    compare_known(report, "mpi", machine->mpi);
    compare_known(report, "starpu", machine->starpu);
}
