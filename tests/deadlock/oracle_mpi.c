/* The third judge of the deadlock suite: mpirun -np P oracle_mpi FILE DEADLINE_S CASE...
 *
 * Runs each case as a program would: MPI, StarPU's workers, the case's design; ranks beyond the
 * case's are idle. Appends one line per case to FILE, separated by tabs: name, verdict, "mpi", the result.
 * A case is nok if it hangs (does not end within DEADLINE_S), sums wrongly, or is refused with an error.
 * Verdict "none": the case is not for this judge.
 *
 * A wrong case may succeed by luck: a nok case is repeated, up to ten times, until it fails.
 *
 * A case that hangs, or fails halfway, leaves messages, threads and tasks behind: then the process
 * cannot run another case, and the program ends with status 3 and leaves the other cases unjudged.
 * 0: all judged. 2: a case cannot be read, or the judge itself failed. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/deadlock/kv_run.h"
#include "tests/deadlock/rank.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIES = 10 };
static const double whole_s = 1e9; /* longer than any step */

typedef enum outcome_kind { RIGHT, UNJUDGED, WRONG, REFUSED, FAILED, HANGS, BROKEN } outcome_kind;

/* The outcome of a case on one rank. UNJUDGED: it is not for this judge; REFUSED: before anything ran; FAILED: halfway;
 * BROKEN: the judge itself could not go on. The worst over ranks counts. */
typedef struct outcome {
    int kind, status;
    char what[256];
} outcome;

typedef struct judge {
    const deadlock_case *c;
    int rank;      /* of the whole program; may be beyond the case's ranks */
    MPI_Comm comm; /* all ranks; used only by the judge */
    double deadline_s;
    deadlock_rank *program; /* NULL: idle */
    MPI_Comm ranks;         /* of the case */
    tutti_exchange *exchange;
    const tutti_runner *runner;
    tutti_run *run;
} judge;

static void note(outcome *o, outcome_kind kind, tutti_status status, const char *what)
{
    if ((int)kind <= o->kind) return;
    o->kind = kind;
    o->status = status;
    snprintf(o->what, sizeof o->what, "%s", what);
}

/* Gathers all outcomes; the worst becomes *o on all ranks. Sleeps while it waits: an idle rank must not take a core
 * from those that run. */
static void agree(const judge *j, outcome *o)
{
    int ranks, done = 0;
    MPI_Request request;
    MPI_Comm_size(j->comm, &ranks);
    outcome all[ranks];
    MPI_Iallgather(o, sizeof *o, MPI_BYTE, all, sizeof *o, MPI_BYTE, j->comm, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) tutti_clock_sleep(1e-3);
    }
    for (int r = 0; r < ranks; r++)
        note(o, (outcome_kind)all[r].kind, (tutti_status)all[r].status, all[r].what);
}

/* ---- one case on one rank ---- */

/* Opens an exchange over the case's ranks, with its groups and edges. Called by all ranks of the program. */
static tutti_status open_exchange(judge *j, int slot[])
{
    const deadlock_case *c = j->c;
    int plays = j->rank < c->ranks;
    MPI_Comm_split(j->comm, plays ? 0 : MPI_UNDEFINED, j->rank, &j->ranks);
    const tutti_exchange_options options = {.design = c->design,
        .lanes = c->lanes,
        .algorithm = *c->algorithm ? c->algorithm : NULL,
        .unsafe = 1,
        .verify = tutti_verify_mode_find(c->verify),
        .priorities = {.on = c->priorities, .window = 1},
        .shares_slots = c->device_slots > 0,
        .edges_aside = c->edges_aside,
        .messages = c->groups > 1,
        .timeout_s = 10 * j->deadline_s};
    if (!plays) return TUTTI_OK;
    tutti_status status = tutti_exchange_attach(&j->ranks, &options, &j->exchange);
    for (int g = 1; g < c->groups && !status; g++) {
        const case_group *of = &c->group[g];
        slot[g] = 0;
        if (!of->is_edge)
            status = tutti_exchange_group(j->exchange, of->ranks, of->rank, &slot[g]);
        else if (deadlock_case_member(of, j->rank) >= 0)
            status = tutti_exchange_edge(j->exchange, of->rank[0], of->rank[1], of->edge, &slot[g]);
    }
    return status;
}

static void close_exchange(judge *j)
{
    tutti_exchange_close(j->exchange);
    if (j->ranks != MPI_COMM_NULL) MPI_Comm_free(&j->ranks);
    j->exchange = NULL;
}

static void set_up(judge *j, outcome *o)
{
    tutti_status status = TUTTI_OK;
    if (j->rank < j->c->ranks) status = deadlock_rank_open(j->c, j->rank, &j->program);
    int slot[CASE_MOST_GROUPS] = {0};
    tutti_status opened = open_exchange(j, slot);
    if (!status) status = opened;
    if (status) note(o, BROKEN, status, "the case cannot be set up");
    if (!status && j->program) deadlock_rank_connect(j->program, j->exchange, slot);
}

/* MPI has no device slots that a wrong order could fill for ever: the exchange has to refuse the whole graph, with its
 * groups. */
static void check_slots(judge *j, outcome *o)
{
    tutti_verdict verdict = {0};
    if (!j->exchange) return;
    tutti_status status = tutti_exchange_check_graph(
        j->exchange, deadlock_rank_graph(j->program), j->c->workers, &verdict);
    if (status)
        note(o, BROKEN, status, "the judgement failed");
    else if (verdict.clause)
        note(o, REFUSED, TUTTI_ERR_MISMATCH, "refused before the first step");
}

/* The comparison before the first step, of the collectives of all ranks. */
static void check(judge *j, outcome *o)
{
    if (j->c->device_slots) {
        check_slots(j, o);
        return;
    }
    if (!strcmp(j->c->verify, "off") || !j->exchange) return;
    tutti_status status = tutti_exchange_check(j->exchange, deadlock_rank_part(j->program, 0));
    if (status == TUTTI_ERR_MISMATCH)
        note(o, REFUSED, status, "refused before the first step");
    else if (status)
        note(o, BROKEN, status, "the comparison failed");
}

static void open_run(judge *j, outcome *o)
{
    if (!j->program) return;
    j->runner = tutti_runner_find("starpu");
    const tutti_run_options options = {.workers = j->c->workers,
        .region_s = j->c->regions ? whole_s : 0,
        .hooks = deadlock_rank_hooks(j->program)};
    tutti_status status = j->runner->open(deadlock_rank_graph(j->program), &options, &j->run);
    if (status) note(o, BROKEN, status, "the runner does not start");
}

/* How the rank has ended, if not well. */
static void note_end(const judge *j, outcome *o, tutti_status status)
{
    char what[200];
    if (status == TUTTI_ERR_TIMEOUT) {
        snprintf(what, sizeof what, "rank %d has not ended after %g s", j->rank, j->deadline_s);
        note(o, HANGS, status, what);
    } else if (status) {
        snprintf(what, sizeof what, "rank %d: %s", j->rank, tutti_status_text(status));
        note(o, FAILED, status, what);
    }
}

static void run_steps(judge *j, outcome *o)
{
    char what[200];
    if (!j->program) return;
    deadlock_rank_fill(j->program, j->runner, j->run);
    tutti_status status = deadlock_rank_submit(j->program, j->runner, j->run);
    if (!status) status = j->runner->wait(j->run, 0, j->runner->point(j->run), j->deadline_s);
    note_end(j, o, status);
    if (!status && deadlock_rank_wrong(j->program, j->runner, j->run, what, sizeof what))
        note(o, WRONG, status, what);
}

/* A rank whose program leaves closes its exchange while the others still run. */
static void leave_early(judge *j)
{
    if (!j->program || !j->c->program[j->rank].left) return;
    j->runner->close(j->run);
    j->run = NULL;
    close_exchange(j);
}

/* Keys on servers. A rank that dies ends its mpirun, in which keys have one copy: clients that die are killed between
 * jobs, by tests/kv/jobs.sh, and servers by tests/kv/replicas.sh. */
static int run_keys(judge *j, outcome *o)
{
    char what[200] = "";
    int wrong = 0;
    MPI_Comm ranks;
    if (kv_case_has_jobs(&j->c->kv)) {
        note(o, UNJUDGED, TUTTI_OK, "a rank that dies ends its mpirun, where keys have one copy");
        return 1;
    }
    MPI_Comm_split(j->comm, j->rank < j->c->ranks ? 0 : MPI_UNDEFINED, j->rank, &ranks);
    if (ranks != MPI_COMM_NULL) {
        note_end(j, o, kv_run_rank(j->c, ranks, j->deadline_s, &wrong, what, sizeof what));
        if (wrong) note(o, WRONG, TUTTI_OK, what);
    }
    agree(j, o);
    if (o->kind == RIGHT && ranks != MPI_COMM_NULL) MPI_Comm_free(&ranks);
    return o->kind == RIGHT;
}

/* Returns whether another case can be run after this one. */
static int run_case(judge *j, outcome *o)
{
    if (j->c->kv.servers) return run_keys(j, o);
    j->ranks = MPI_COMM_NULL;
    set_up(j, o);
    agree(j, o);
    if (o->kind == RIGHT) {
        check(j, o);
        agree(j, o);
    }
    if (o->kind == RIGHT) {
        open_run(j, o);
        agree(j, o);
    }
    if (o->kind == RIGHT) {
        run_steps(j, o);
        leave_early(j);
        agree(j, o);
    }
    if (o->kind > REFUSED) return 0;
    if (j->run) j->runner->close(j->run);
    close_exchange(j);
    deadlock_rank_close(j->program);
    j->run = NULL;
    j->program = NULL;
    return 1;
}

/* ---- all cases ---- */

static void report(const judge *j, const char *path, const outcome *o)
{
    static const char *const words[] = {[RIGHT] = "runs to its end, sums are right",
        [UNJUDGED] = "not judged",
        [WRONG] = "wrong",
        [REFUSED] = "refused",
        [FAILED] = "error",
        [HANGS] = "hangs",
        [BROKEN] = "cannot be judged"};
    FILE *file = j->rank ? NULL : fopen(path, "a");
    if (!file) return;
    fprintf(file, "%s\t%s\tmpi\t%s%s%s\n", j->c->name,
        o->kind == RIGHT      ? "ok"
        : o->kind == UNJUDGED ? "none"
        : o->kind == BROKEN   ? "?"
                              : "nok",
        words[o->kind], *o->what ? ": " : "", o->what);
    fclose(file);
}

/* Leaves without MPI_Finalize, which would wait for operations that never end. All ranks leave together, so
 * that the report is written before the launcher misses any. */
static _Noreturn void leave(const judge *j, int status)
{
    outcome o = {0};
    agree(j, &o);
    _exit(status);
}

int main(int argc, char **argv)
{
    int granted, ranks;
    judge all = {.c = NULL};
    if (argc < 4) {
        fprintf(stderr, "usage: mpirun -np P oracle_mpi FILE DEADLINE_S CASE...\n");
        return 2;
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted);
#ifdef MPICH_NAME /* MPICH raises errors of requests on this communicator: tutti-run(1), MPICH */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#endif
    MPI_Comm_dup(MPI_COMM_WORLD, &all.comm);
    MPI_Comm_rank(all.comm, &all.rank);
    MPI_Comm_size(all.comm, &ranks);
    all.deadline_s = atof(argv[2]);
    for (int i = 3; i < argc; i++) {
        deadlock_case *c;
        outcome o = {0};
        if (deadlock_case_load(argv[i], &c) || c->ranks > ranks || granted < MPI_THREAD_MULTIPLE) {
            fprintf(stderr,
                "oracle_mpi: %s: needs more ranks, MPI_THREAD_MULTIPLE or a better case\n",
                argv[i]);
            leave(&all, 2);
        }
        judge j = all;
        j.c = c;
        int clean = 1;
        for (int n = 0; n < (c->nok ? MOST_TRIES : 1) && clean && o.kind == RIGHT; n++)
            clean = run_case(&j, &o);
        report(&j, argv[1], &o);
        if (!clean) leave(&j, o.kind == BROKEN ? 2 : 3);
        free(c);
    }
    MPI_Comm_free(&all.comm);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
