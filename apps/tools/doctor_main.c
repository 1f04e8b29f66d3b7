/* tutti-doctor: examines the machine before a run and reports problems. See tutti-doctor(1). */
#include "apps/tools/doctor.h"
#include "apps/tools/doctor_links.h"
#include "collectives/coll.h"
#include "collectives/links/topology_text.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/conf.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "dag/run/run.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct values {
    int64_t workers;
    double timeout_s;
    int json, strict;
    const char *root, *measure;
} values;

static const tutti_setting settings[] = {
    {TUTTI_CONF_INT, "workers", "N", .fallback = "1", .low = 1, .high = 1024,
        .offset = offsetof(values, workers), .help = "StarPU workers that each rank will have"},
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = "30", .low = 1, .high = 3600,
        .offset = offsetof(values, timeout_s),
        .help = "end when a part of it takes this many seconds, and say which"},
    {TUTTI_CONF_TEXT, "measure", "FILE", .offset = offsetof(values, measure),
        .help = "measure the links between these ranks, and write them to this file as a topology"},
    {TUTTI_CONF_FLAG, "json", .offset = offsetof(values, json),
        .help = "print one JSON object per line instead of text"},
    {TUTTI_CONF_FLAG, "strict", .offset = offsetof(values, strict),
        .help = "exit with status 1 if there are warnings"},
    {TUTTI_CONF_TEXT, "root", "DIR", .offset = offsetof(values, root),
        .help = "read /proc, /sys and the like below this folder, which holds a copy of another "
                "machine's"},
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-doctor",
    .usage = "[OPTION]...",
    .summary = "Examines a machine before a run and reports what will hurt, one line per check: "
               "what was found and what to do. With several ranks (tutti-run -n P tutti-doctor) it "
               "also compares them.",
    .epilogue = "Exit status: 0 if nothing is bad; 1 for warnings, with --strict; 2 if something "
                "is bad, for a deadline that passed, or a mistake in the options.",
    .settings = settings,
};

/* A separate thread enforces the deadline, because MPI may not return. */
typedef struct doctor {
    values values;
    tutti_doctor_letter letter;
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t changed;
    const char *stage; /* current activity; NULL: finished */
    int stages;        /* how many have begun */
} doctor;

enum { STATUS_WARN = 1, STATUS_BAD = 2 };

static void enter(doctor *d, const char *stage)
{
    pthread_mutex_lock(&d->lock);
    d->stage = stage;
    d->stages++;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* The rank assigned by the launcher, for use when MPI does not respond; -1: none. */
static int rank_by_launcher(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return -1;
}

/* The main thread is stuck: reports what is known and ends the process. */
static _Noreturn void give_up(doctor *d)
{
    int rank = rank_by_launcher();
    tutti_doctor_say(&d->letter.report, TUTTI_DOCTOR_BAD, "deadline",
        "try one rank, then the network's advice above; look for a host that is down",
        "after %g s still %s", d->values.timeout_s, d->stage);
    if (rank <= 0) tutti_doctor_print(&d->letter, 1, d->values.json, stdout);
    fflush(stdout);
    if (rank > 0)
        tutti_log(
            TUTTI_LOG_ERROR, "rank %d: after %g s still %s", rank, d->values.timeout_s, d->stage);
    _exit(STATUS_BAD);
}

static void *watch(void *arg)
{
    doctor *d = arg;
    pthread_mutex_lock(&d->lock);
    while (d->stage) {
        struct timespec until = tutti_clock_after(d->values.timeout_s);
        const int now = d->stages;
        int late = 0;
        while (d->stages == now && !late)
            late = pthread_cond_timedwait(&d->changed, &d->lock, &until) != 0;
        if (d->stages == now) give_up(d);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static const char *variable(const char *name)
{
    return getenv(name);
}

static void examine(doctor *d)
{
    tutti_doctor_machine machine = {.root = d->values.root ? d->values.root : "",
        .environment = variable,
        .mpi = tutti_boot_version(),
        .starpu = tutti_run_starpu_version(),
        .instructions = tutti_kernel_instructions(),
        .no_bf16 = tutti_kernel_fault(TUTTI_BF16),
        .most_workers = tutti_run_starpu_max_workers(),
        .most_buffers = tutti_run_starpu_max_buffers(),
        .workers = (int)d->values.workers};
    tutti_doctor_look(&machine);
    d->letter.allowed = machine.allowed;
    if (gethostname(d->letter.host, sizeof d->letter.host - 1)) d->letter.host[0] = '?';
    tutti_doctor_examine(&machine, &d->letter.report);
}

/* Gathers every rank's letter on every rank. */
static tutti_status gather(const tutti_boot *boot, doctor *d, tutti_doctor_letter *letters)
{
    tutti_transport *transport;
    tutti_comm *comm;
    tutti_coll_request *request;
    tutti_status status = tutti_transport_mpi(boot->comm, 1, &transport);
    if (!status) status = tutti_comm_new(transport, NULL, &comm);
    if (status) return status;
    tutti_coll_args args = {.kind = TUTTI_ALLGATHER,
        .dtype = TUTTI_U8,
        .count = sizeof d->letter,
        .out_of_place = 1,
        .send = &d->letter,
        .recv = letters};
    status = tutti_coll_post(comm, 0, &args, &request);
    if (!status) {
        status = tutti_coll_wait(comm, request, d->values.timeout_s);
        tutti_coll_free(request);
    }
    tutti_comm_free(comm);
    return status;
}

/* Prints on rank 0. Every rank returns the same exit status. */
static int together(const tutti_boot *boot, doctor *d)
{
    tutti_doctor_letter *letters = calloc((size_t)boot->size, sizeof *letters);
    tutti_status status =
        letters ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d reports", boot->size);
    if (!status) status = gather(boot, d, letters);
    int result = STATUS_BAD;
    if (!status) {
        tutti_doctor_status worst = TUTTI_DOCTOR_OK;
        tutti_doctor_compare(letters, boot->size);
        for (int r = 0; r < boot->size; r++) {
            tutti_doctor_status of_rank = tutti_doctor_worst(&letters[r].report);
            if (of_rank > worst) worst = of_rank;
        }
        if (boot->rank == 0) tutti_doctor_print(letters, boot->size, d->values.json, stdout);
        result = worst == TUTTI_DOCTOR_BAD                        ? STATUS_BAD
                 : worst == TUTTI_DOCTOR_WARN && d->values.strict ? STATUS_WARN
                                                                  : EXIT_SUCCESS;
    }
    free(letters);
    return result;
}

static void enter_stage(void *ctx, const char *stage)
{
    enter(ctx, stage);
}

static tutti_status write_topology(const tutti_topology *t, const char *path)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    tutti_status status = memory ? tutti_topology_print(t, memory)
                                 : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology's text");
    if (memory && fclose(memory) && !status)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a topology's text");
    if (!status)
        status =
            tutti_file_put(&(tutti_file_options){.what = "topology", .path = path}, text, bytes);
    free(text);
    return status;
}

/* Measures the links, and writes them on rank 0. Every rank returns the same exit status. */
static int measure(const tutti_boot *boot, doctor *d)
{
    tutti_measures m;
    tutti_topology *t = NULL;
    char remark[256];
    tutti_status status = tutti_doctor_measure(boot, d->values.timeout_s, enter_stage, d, &m);
    if (!status && boot->rank == 0) {
        status = tutti_doctor_make_topology(&m, &t, remark, sizeof remark);
        if (!status) status = write_topology(t, d->values.measure);
        if (!status)
            printf("%s has the links of %d hosts, as %d ranks have measured them%s%s\n",
                d->values.measure, m.hosts, m.ranks, *remark ? ": " : "", remark);
        tutti_topology_free(t);
    }
    if (tutti_boot_agree(boot, status)) return STATUS_BAD;
    tutti_measures_free(&m);
    return EXIT_SUCCESS;
}

static int run(doctor *d)
{
    tutti_boot boot;
    enter(d, "looking at this host");
    examine(d);
    enter(d, "starting MPI");
    if (tutti_boot_init_highest(&boot)) {
        tutti_doctor_say(
            &d->letter.report, TUTTI_DOCTOR_BAD, "threads", "tutti-info", "MPI does not start");
        tutti_doctor_print(&d->letter, 1, d->values.json, stdout);
        return STATUS_BAD;
    }
    tutti_doctor_judge_threads(boot.granted, &d->letter.report);
    enter(d, "waiting for the other ranks");
    int result = d->values.measure ? measure(&boot, d) : together(&boot, d);
    enter(d, "ending MPI");
    tutti_boot_finalize(&boot);
    return result;
}

int main(int argc, char **argv)
{
    doctor d = {.lock = PTHREAD_MUTEX_INITIALIZER, .stage = "starting"};
    pthread_t watcher;
    int go;
    if (tutti_conf_start(&conf, argc, argv, &d.values, &go)) return STATUS_BAD;
    if (!go) return EXIT_SUCCESS;
    if (d.values.measure && (d.values.json || d.values.strict || d.values.root))
        return tutti_conf_refuse(&conf, "measure", d.values.measure,
                   "makes no report: not with --json, --strict or --root"),
               STATUS_BAD;
    tutti_clock_cond_init(&d.changed);
    if (pthread_create(&watcher, NULL, watch, &d)) {
        tutti_fail(TUTTI_ERR_NOMEM, "the thread with the deadline could not be started");
        return STATUS_BAD;
    }
    int result = run(&d);
    if (fflush(stdout)) result = STATUS_BAD;
    enter(&d, NULL);
    pthread_join(watcher, NULL);
    pthread_cond_destroy(&d.changed);
    return result;
}
