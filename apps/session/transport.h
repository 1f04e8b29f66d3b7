/* --transport: what carries the collectives of a training program. The
 * choice, which the ranks make when their exchange opens. */
#ifndef TUTTI_SESSION_TRANSPORT_H
#define TUTTI_SESSION_TRANSPORT_H

#include "collectives/transport/transport.h"
#include "dag/base/conf.h"
#include "dag/run/binding.h"

/* clang-format off */

/* int, for tutti_session_transport.aware */
#define TUTTI_SETTING_CUDA_AWARE(...)                                                              \
    {TUTTI_CONF_FLAG, "cuda-aware", .environment = "TUTTI_CUDA_AWARE",                             \
        .help = "with --device cuda and --transport mpi, give MPI the memory of GPUs, if it takes "  \
                "it (CUDA-aware)", __VA_ARGS__}

/* clang-format on */

/* For TUTTI_SETTING_TRANSPORT of a program that may have GPUs. [P] */
const char *tutti_transport_choice(int i);

/* Where a rank of a session computes, and what carries its collectives. */
typedef struct tutti_session_transport {
    const char *word;   /* a choice, the same on all ranks; NULL: mpi */
    const char *device; /* for tutti_device_choose; NULL: `place` has been chosen */
    const char *needs;  /* why the collectives need mpi; NULL: they do not */
    int aware;          /* MPI is given the memory of GPUs; the same on all ranks */
    /* once open has returned OK, what carries collectives, and all of the place, of which tf32 is
     * given */
    const char *chosen;
    tutti_binding_place place;
} tutti_session_transport;

/* tutti_exchange_options.choose_transport; ctx is a tutti_session_transport. USAGE, on all ranks, if the word is
 * cuda and a rank has no GPU, or nccl or `aware` and that cannot be (the first rank that knows logs
 * why). auto then means mpi, and rank 0 logs why; with `aware` it means mpi. Errors of the transport. */
tutti_status tutti_session_transport_open(
    void *ctx, tutti_transport **transport, int lanes, double timeout_s);
/* For ranks that have another transport than MPI's, and keep it: chooses the place. USAGE as above. */
tutti_status tutti_session_transport_over(
    tutti_session_transport *chosen, tutti_transport *ranks, double timeout_s);

#endif
