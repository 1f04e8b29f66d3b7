/* Another program that does the same work, one block per request.
 *
 * The peer is a command that prints {"event": "ready", ...} after its warm-up. Then, for each line
 * on its stdin, it runs one block of steps and prints {"event": "block", "step_ms": S, ...}; see
 * torch_compute.py. Every wait has a deadline. Threads: [M]. */
#ifndef TUTTI_BENCH_PEER_H
#define TUTTI_BENCH_PEER_H

#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_peer tutti_peer;

/* The command for the peer that `wish` asks for, without arguments, into text (of at least 4 KiB);
 * an empty text where there is no peer.
 *
 *   a folder   a script of this folder, run by the folder's bin/python3: a virtual environment with
 *              PyTorch, as tutti-bench peers --install makes it. Without PyTorch: USAGE,
 *              UNSUPPORTED or IO (logged)
 *   "auto"     the same script run by /usr/bin/python3; no peer if it has no PyTorch, or one with a
 *              slow BLAS (logged as information)
 *   "none"     no peer
 *   otherwise  the command itself; USAGE (logged) for a path that does not exist */
tutti_status tutti_peer_program(const char *wish, const char *script, char *text, size_t size);

/* Starts the command with /bin/sh and waits until it is ready; about: its own description
 * ("torch 1.13.0a0"). IO or TIMEOUT (logged) if it does not come up. */
tutti_status tutti_peer_start(const char *command, double timeout_s, tutti_peer **peer);
const char *tutti_peer_about(const tutti_peer *peer);
/* Runs one block; *step_s: seconds per step. */
tutti_status tutti_peer_block(tutti_peer *peer, double timeout_s, double *step_s);
/* Stops the program. Accepts NULL. */
void tutti_peer_stop(tutti_peer *peer);

#endif
