/* This process as a rank of the checked program: its end of the line to the judge.
 *
 * A preloaded library has no handle that its caller could hand over, so the one tutti_process of the
 * process is found by tutti_process_self. Everything here is [A] unless it says otherwise. */
#ifndef TUTTI_CHECK_PROCESS_H
#define TUTTI_CHECK_PROCESS_H

#include "apps/check/frame.h"
#include "apps/check/threads.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What the library exits with, on every rank, when it has found an error. */
enum { TUTTI_CHECK_STATUS = 86 };

typedef struct tutti_process {
    int rank, size;        /* in MPI_COMM_WORLD */
    bool threads;          /* MPI_THREAD_MULTIPLE was granted */
    bool buffered;         /* standard sends may be buffered: TUTTI_CHECK_BUFFERING */
    bool verbose;          /* TUTTI_CHECK_VERBOSE */
    bool leaks;            /* TUTTI_CHECK_LEAKS */
    double timeout_s;      /* TUTTI_CHECK_TIMEOUT; 0: never */
    _Atomic int64_t probe; /* number of the judge's last question */
    _Atomic int aborting;  /* exit status; 0: not aborting */
    _Atomic int ended;     /* 1: every rank has called MPI_Finalize */
    _Atomic int status;    /* what to exit with; meaningful once ended */
} tutti_process;

tutti_process *tutti_process_self(void);

/* Whether calls are checked now. */
bool tutti_process_active(void);

/* For start.c. The line to the judge; -1: there is none. */
void tutti_process_connected(int socket);
/* Calls are checked from here on; `others`: threads of the process that are not the program's. Collective over
 * MPI_COMM_WORLD. [M] */
void tutti_process_on(const tutti_threads *others);
/* They are checked no more. orderly: MPI is not at its end, nor is the process. [M] */
void tutti_process_off(bool orderly);

/* Threads of the program (neither MPI's nor the tool's) that do not wait for another thread. */
int tutti_process_threads(void);

/* Has MPI do what there is to do for other ranks; the result of the call that it takes. */
int tutti_process_progress(void);

/* A frame to the judge: open, put fields, post. The line is locked in between. */
tutti_frame *tutti_process_open(tutti_frame_kind kind);
void tutti_process_post(void);

/* Ends the process when the judge has said so; otherwise returns. */
void tutti_process_obey(void);
/* The judge has got an error from this rank, or will: gives it time to say so, then ends. */
void tutti_process_await_verdict(void) __attribute__((noreturn));

#endif
