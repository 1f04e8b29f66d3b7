/* This process as a rank of the checked program: its end of the connection to the judge.
 *
 * A preloaded library gets no handle from its caller, so mpicheck_process_self returns the
 * process's only mpicheck_process. Everything here is [A] unless marked otherwise. */
#ifndef TUTTI_MPICHECK_PROCESS_H
#define TUTTI_MPICHECK_PROCESS_H

#include "apps/mpicheck/frame.h"
#include "apps/mpicheck/threads.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The exit status of every rank once the library has found an error. */
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

/* Whether calls are being checked. */
bool mpicheck_process_active(void);

/* For start.c: the socket to the judge; -1: none. */
void mpicheck_process_connected(int socket);
/* Starts checking calls; `others`: threads of the process that are not the program's. Collective
 * over MPI_COMM_WORLD. [M] */
void mpicheck_process_on(const mpicheck_threads *others);
/* Stops checking calls. orderly: neither MPI nor the process is ending. [M] */
void mpicheck_process_off(bool orderly);

/* Number of the program's threads (neither MPI's nor the tool's) that do not wait for another
 * thread. */
int mpicheck_process_awake(void);

/* Lets MPI make progress for other ranks; returns the result of that MPI call. */
int mpicheck_process_progress(void);

/* A frame to the judge: open, put fields, post. The connection is locked in between. */
mpicheck_frame *mpicheck_process_open(mpicheck_frame_kind kind);
void mpicheck_process_post(void);

/* Ends the process if the judge has ordered it; otherwise returns. */
void mpicheck_process_obey(void);
/* The judge has received an error of this rank, or will: gives it time to report, then ends. */
void mpicheck_process_await_verdict(void) __attribute__((noreturn));

#endif
