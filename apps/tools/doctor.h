/* tutti-doctor: a machine as a value, the checks that judge it, and their findings.
 *
 *   look (live numbers) -> machine -> checks -> report -> letter --all ranks--> print
 *
 * Files (/proc, /sys) are read below machine.root, and variables through machine.environment, so
 * that a test can substitute a made-up machine. Everything here is for one thread. */
#ifndef TUTTI_DOCTOR_H
#define TUTTI_DOCTOR_H

#include "collectives/boot.h"
#include "dag/base/cpus.h"

#include <stdint.h>
#include <stdio.h>

typedef enum tutti_doctor_status {
    TUTTI_DOCTOR_OK,   /* as it should be */
    TUTTI_DOCTOR_NOTE, /* worth knowing; nothing to do now */
    TUTTI_DOCTOR_WARN, /* will cost time, or fail in some runs */
    TUTTI_DOCTOR_BAD,  /* will fail, hang or be many times too slow */
    TUTTI_DOCTOR_STATUSES
} tutti_doctor_status;

const char *tutti_doctor_status_name(tutti_doctor_status status);

enum { TUTTI_DOCTOR_FINDINGS = 48 };

typedef struct tutti_doctor_finding {
    int status;       /* a tutti_doctor_status */
    char check[16];   /* which check found it */
    char seen[224];   /* what was seen */
    char advice[320]; /* what to do; "": nothing */
} tutti_doctor_finding;

typedef struct tutti_doctor_report {
    int count;
    tutti_doctor_finding finding[TUTTI_DOCTOR_FINDINGS];
} tutti_doctor_report;

typedef struct tutti_doctor_machine {
    const char *root; /* "", or the folder that replaces / */
    const char *(*environment)(const char *name);
    const char *mpi, *starpu;       /* versions, as the libraries report them */
    const char *instructions;       /* that kernels may use */
    const char *no_bf16;            /* why they do not compute in bf16; NULL: they may */
    int most_workers, most_buffers; /* of this StarPU build */
    int ranks, ranks_here;          /* in all, and on this host */
    int workers;                    /* that each rank will have */
    tutti_cpus allowed;             /* where this process may run */
    int superuser;
    int64_t open_files;   /* limit; INT64_MAX: none */
    int64_t locked_bytes; /* limit; INT64_MAX: none */
    int64_t shared_bytes; /* free in /dev/shm; -1: no /dev/shm */
    char home[256];       /* the folder in which StarPU keeps its measurements */
    int home_writable;
} tutti_doctor_machine;

/* Adds a finding; `format` is what was seen. advice NULL: none. Drops the finding if the report is
 * full. */
void tutti_doctor_say(tutti_doctor_report *report, tutti_doctor_status status, const char *check,
    const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The worst status of a report; OK if it is empty. [P] */
tutti_doctor_status tutti_doctor_worst(const tutti_doctor_report *report);

/* Fills in what this process can learn without MPI; the caller sets root, workers and the
 * versions. */
void tutti_doctor_look(tutti_doctor_machine *machine);

/* All checks that need no MPI, in the order in which they are printed. */
void tutti_doctor_examine(const tutti_doctor_machine *machine, tutti_doctor_report *report);
/* Judges the thread level that MPI grants, once it runs. */
void tutti_doctor_judge_threads(tutti_thread_level granted, tutti_doctor_report *report);

/* ---- the checks, each with its own findings (one file per family) ---- */

void tutti_doctor_versions(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_single_copy(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_yielding(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_allreduce(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_superuser(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_binding(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_quota(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_load(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_instructions(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_frequency(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_clock(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_network(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_starpu(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_shared_memory(const tutti_doctor_machine *machine, tutti_doctor_report *report);
void tutti_doctor_limits(const tutti_doctor_machine *machine, tutti_doctor_report *report);

/* ---- all ranks together ---- */

/* What a rank sends to the others; plain bytes. */
typedef struct tutti_doctor_letter {
    char host[64];
    tutti_cpus allowed;
    tutti_doctor_report report;
} tutti_doctor_letter;

/* Adds to all reports what only a comparison of all ranks shows: ranks that share a core. */
void tutti_doctor_compare(tutti_doctor_letter *letters, int ranks);
/* Prints one line per finding; if ranks differ, the line names them. json: one object per line, the
 * last one the summary. Returns the worst status. */
tutti_doctor_status tutti_doctor_print(
    const tutti_doctor_letter *letters, int ranks, int json, FILE *out);

/* ---- reading ---- */

/* The first line of a file below the machine's root, without its newline. 0: cannot be read. */
int tutti_doctor_line(
    const tutti_doctor_machine *machine, const char *path, char *line, size_t size);
/* Whether a path below the root exists. */
int tutti_doctor_exists(const tutti_doctor_machine *machine, const char *path);
/* "root/path" opened for reading, or NULL. */
FILE *tutti_doctor_open(const tutti_doctor_machine *machine, const char *path);
/* The variable, or "" if it is not set. */
const char *tutti_doctor_variable(const tutti_doctor_machine *machine, const char *name);
/* Open MPI's major version from its version text; 0: another MPI. [P] */
int tutti_doctor_open_mpi(const char *version);

#endif
