/* This process as a rank of the checked program: its end of the line to the judge.
 *
 * A preloaded library has no handle that its caller could hand over, so the one mpicheck_process of the
 * process is found by mpicheck_process_self. Everything here is [A] unless it says otherwise. */
#ifndef TUTTI_MPICHECK_PROCESS_H
#define TUTTI_MPICHECK_PROCESS_H

#include "apps/mpicheck/frame.h"
#include "apps/mpicheck/threads.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What the library exits with, on every rank, when it has found an error. */
enum { MPICHECK_STATUS = 86 };

typedef struct mpicheck_process {
    int rank, size;        /* in MPI_COMM_WORLD */
    bool threads;          /* MPI_THREAD_MULTIPLE was granted */
    bool buffered;         /* standard sends may be buffered: TUTTI_MPICHECK_BUFFERING */
    bool verbose;          /* TUTTI_MPICHECK_VERBOSE */
    bool leaks;            /* TUTTI_MPICHECK_LEAKS */
    double timeout_s;      /* TUTTI_MPICHECK_TIMEOUT; 0: never */
    _Atomic int64_t probe; /* number of the judge's last question */
    _Atomic int aborting;  /* exit status; 0: not aborting */
    _Atomic int ended;     /* 1: every rank has called MPI_Finalize */
    _Atomic int status;    /* what to exit with; meaningful once ended */
} mpicheck_process;

mpicheck_process *mpicheck_process_self(void);

/* Whether calls are checked now. */
bool mpicheck_process_active(void);

/* For start.c. The line to the judge; -1: there is none. */
void mpicheck_process_connected(int socket);
/* Calls are checked from here on; `others`: threads of the process that are not the program's. Collective over
 * MPI_COMM_WORLD. [M] */
void mpicheck_process_on(const mpicheck_threads *others);
/* They are checked no more. orderly: MPI is not at its end, nor is the process. [M] */
void mpicheck_process_off(bool orderly);

/* Threads of the program (neither MPI's nor the tool's) that do not wait for another thread. */
int mpicheck_process_threads(void);

/* Has MPI do what there is to do for other ranks; the result of the call that it takes. */
int mpicheck_process_progress(void);

/* A frame to the judge: open, put fields, post. The line is locked in between. */
mpicheck_frame *mpicheck_process_open(mpicheck_frame_kind kind);
void mpicheck_process_post(void);

/* Ends the process when the judge has said so; otherwise returns. */
void mpicheck_process_obey(void);
/* The judge has got an error from this rank, or will: gives it time to say so, then ends. */
void mpicheck_process_await_verdict(void) __attribute__((noreturn));

#endif
