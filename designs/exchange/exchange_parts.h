/* The internals of an exchange, shared by exchange_open.c (opening and closing), exchange_options.c,
 * exchange_thread.c (what its communicating thread sets up and tears down), exchange_hooks.c (what a runner calls),
 * exchange_calls.c (what the main thread calls), exchange_apply.c (graphs) and exchange_group.c (groups and edges). */
#ifndef TUTTI_EXCHANGE_PARTS_H
#define TUTTI_EXCHANGE_PARTS_H

#include "designs/exchange/exchange.h"
#include "designs/exchange/lanes.h"
#include "designs/thread/comm_thread.h"
#include "designs/thread/halt.h"
#include "designs/thread/mpi_thread.h"

struct tutti_exchange {
    tutti_exchange_options options;
    tutti_boot boot;
    char *algorithm;              /* the options', which need not last */
    tutti_topology *topology;     /* the links of the run; NULL: not known */
    tutti_rules *rules;           /* that the algorithm names, or NULL */
    int chunks_free;              /* the rules may say how long chunks are */
    const void *attached;         /* pointer to the MPI_Comm of an existing program, or NULL */
    tutti_mpi_thread *mpi_thread; /* MPI's thread, if MPI outlives the comm thread; or NULL */
    tutti_transport *transport;   /* from the caller, until the comm owns it; or NULL */
    /* What setup is at; the main thread reads it if that takes too long. */
    _Atomic(const char *) setting_up;
    int booted;
    int missing;   /* a rank was missing when the comm thread ended */
    int comm_core; /* the comm thread's processor, or -1 */
    tutti_comm_thread *thread;
    tutti_clocks *clocks; /* NULL without control messages */
    tutti_halt *halt;     /* NULL without control messages */
    tutti_active_messages *messages;
    tutti_lanes *lanes;      /* of groups and edges; NULL: no groups or edges */
    int groups;              /* made so far */
    tutti_order_plan *order; /* NULL: collectives go in program order */
};

/* exchange_options.c: checks and completes these options, and keeps what need not last. */
tutti_status tutti_exchange_take_options(tutti_exchange *x, const tutti_exchange_options *given);
/* exchange_options.c: all settings that ranks must share, as text; the caller frees it. NULL: no memory. */
char *tutti_exchange_settings_text(const tutti_exchange *x);

/* exchange_thread.c: starts the communicating thread. After a TIMEOUT it may still use x. */
tutti_status tutti_exchange_start_thread(tutti_exchange *x);

/* exchange_hooks.c: the main thread begins or ends to wait for other ranks. */
void tutti_exchange_set_waiting(void *ctx, int begins);

#endif
