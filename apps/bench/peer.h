/* Another program that does the same work, run in blocks on request.
 *
 * The peer is a command that prints {"event": "ready", ...} when it is warm and then, for each line
 * on its stdin, does one block of steps and prints {"event": "block", "step_ms": S, ...}; see
 * torch_compute.py. Every wait has a deadline. Threads: [M]. */
#ifndef TUTTI_BENCH_PEER_H
#define TUTTI_BENCH_PEER_H

#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_peer tutti_peer;

/* What runs the peer that `wish` asks for: itself, or for "auto" a script of this folder, where
 * /usr/bin/python3 has PyTorch. Writes a command without arguments into text; NULL for "none", and
 * where there is none (logged as information). */
const char *tutti_peer_program(const char *wish, const char *script, char *text, size_t size);

/* Starts the command with /bin/sh and waits until it is ready; about: the words it gives for itself
 * ("torch 1.13.0a0"). IO or TIMEOUT (logged) when it does not come up. */
tutti_status tutti_peer_start(const char *command, double timeout_s, tutti_peer **peer);
const char *tutti_peer_about(const tutti_peer *peer);
/* One block; *step_s: seconds a step of it. */
tutti_status tutti_peer_block(tutti_peer *peer, double timeout_s, double *step_s);
/* Ends it. Accepts NULL. */
void tutti_peer_stop(tutti_peer *peer);

#endif
