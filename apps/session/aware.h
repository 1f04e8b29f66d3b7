/* --cuda-aware: collectives in the memory of GPUs over an MPI that takes such memory (CUDA-aware). Their
 * messages are given to MPI as they are, and kernels combine them between messages, on a stream of
 * its own: the schedules, and so the bits, are those of main memory. Such an MPI takes GPU
 * memory in sends and receives that do not block, and in collectives that block, but not in those
 * that do not; so the library's own are not used.
 *
 *   MPI has received -> kernel on the stream -> its event has passed -> MPI may send */
#ifndef TUTTI_SESSION_AWARE_H
#define TUTTI_SESSION_AWARE_H

#include "collectives/transport/transport.h"

/* Gives MPI's transport the arithmetic of GPU `gpu` (collectives/transport/arithmetic.h). Buffers of
 * device memory are that GPU's, and ready when a collective is started. Of sums, those of TUTTI_F32
 * and TUTTI_BF16 are known. KERNEL, NOMEM. */
tutti_status tutti_transport_aware(tutti_transport *mpi, int gpu);

#endif
