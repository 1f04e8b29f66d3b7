/* Another program that does the same work, one block per request.
 *
 * The peer is a command that prints {"event": "ready", ...} after its warm-up. Then, for each line
 * on its stdin, it runs one block of steps and prints {"event": "block", "step_ms": S, ...}; see
 * torch_compute.py. Every wait has a deadline. Threads: [M]. */
#ifndef TUTTI_BENCH_PEER_H
#define TUTTI_BENCH_PEER_H

#include "dag/base/conf.h"
#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_peer tutti_peer;

/* A peer of a bench's own: a script of this folder, and the Python module that it cannot do
 * without. */
typedef struct tutti_peer_script {
    const char *file, *module;
    const char *package; /* what tutti-bench peers is to install; NULL: PyTorch */
    const char *option;  /* where it was asked for; NULL: peer */
    const char *device;  /* where it computes, as its option has it; NULL: it has no such option */
    const char *model;   /* that it must have; NULL: its --probe is not asked for one */
} tutti_peer_script;

/* The command for the peer that `wish` asks for, without arguments but for --device, into text (of at least 4 KiB);
 * an empty text where there is no peer.
 *
 *   a folder   the script run by the folder's bin/python3: a virtual environment with PyTorch, as
 *              tutti-bench peers --install makes it. Without the module, or where the script's --probe
 *              fails: USAGE, UNSUPPORTED or IO (logged)
 *   "auto"     the script run by /usr/bin/python3; no peer if that has no such module, or where --probe
 *              fails: a PyTorch with a slow BLAS, or without a GPU, or a script without the model (logged as
 *              information)
 *   "none"     no peer
 *   otherwise  the command itself; USAGE (logged) for a path that does not exist */
tutti_status tutti_peer_program(
    const char *wish, const tutti_peer_script *script, char *text, size_t size);

/* Writes the text as one word of the shell's language; "" if it does not fit. [P] */
enum { TUTTI_PEER_QUOTED = 1200 };
void tutti_peer_quote(const char *text, char word[TUTTI_PEER_QUOTED]);

/* Finds a file of this folder, wherever the program is installed. Returns 0 if it is nowhere. */
enum { TUTTI_PEER_PATH = 1024 };
int tutti_peer_find_file(const char *file, char path[TUTTI_PEER_PATH]);

/* How peers run: the words of --peer-variants, each a peer of its own. */
enum { TUTTI_PEER_VARIANTS = 8, TUTTI_PEER_VARIANT = 20 };
typedef struct tutti_peer_variants {
    int count;
    char word[TUTTI_PEER_VARIANTS][TUTTI_PEER_VARIANT];
} tutti_peer_variants;
/* Words of letters, digits and dashes, separated by commas; otherwise USAGE (logged). [P] */
tutti_status tutti_peer_split_variants(
    const tutti_conf *conf, const char *list, tutti_peer_variants *variants);

/* Starts the command with /bin/sh and waits until it is ready; about: its own description
 * ("torch 1.13.0a0"). IO or TIMEOUT (logged) if it does not come up. */
tutti_status tutti_peer_start(const char *command, double timeout_s, tutti_peer **peer);
const char *tutti_peer_about(const tutti_peer *peer);
/* A number of the "ready" event; NAN if it has none of this name. */
double tutti_peer_number(const tutti_peer *peer, const char *name);
/* Runs one block; *step_s: seconds per step. */
tutti_status tutti_peer_block(tutti_peer *peer, double timeout_s, double *step_s);
/* The same, of what the line (at most 250 characters) asks for. */
tutti_status tutti_peer_ask(
    tutti_peer *peer, const char *request, double timeout_s, double *step_s);
/* A number of the latest "block" event; NAN if it has none of this name. */
double tutti_peer_block_number(const tutti_peer *peer, const char *name);
/* Stops the program. Accepts NULL. */
void tutti_peer_stop(tutti_peer *peer);

#endif
