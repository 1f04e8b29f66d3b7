/* A connection: messages between two processes, over a socket (tcp.h: how it is established), in memory that both
 * share (shm.h), or over libfabric (fabric.h). It is not a transport: it has one peer; a mesh is a
 * transport that is made of connections (mesh.h).
 *
 * The k-th message sent on (lane, tag) matches the k-th receive there at the other end. Buffers are the caller's and
 * must stay untouched until test reports the message done. Messages move only in passes.
 *
 * Not locked: one thread at a time. */
#ifndef TUTTI_CONNECTION_H
#define TUTTI_CONNECTION_H

#include "collectives/transport/stream.h"
#include "dag/base/status.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

enum { TUTTI_CONNECTION_WHY = TUTTI_STREAM_WHY };

typedef struct tutti_connection tutti_connection;
/* A send or recv under way. */
typedef struct tutti_connection_message tutti_connection_message;

typedef struct tutti_connection_options {
    int lanes; /* the same lanes and tags at both ends */
    int urgent_lanes; /* messages of a lane below it go before those of higher lanes; lanes from it on are equal */
    int64_t tags; /* at most 2^31 */
    double
        silence_s; /* the connection breaks when nothing has arrived for this long; may be INFINITY */
    /* messages up to this size do not wait for their receive, and go before larger ones; the same at both ends */
    size_t early_bytes;
} tutti_connection_options;

/* Takes over the socket, also on failure. INVAL, NOMEM. */
tutti_status tutti_connection_open(
    int socket, const tutti_connection_options *options, tutti_connection **connection);
/* The same over any stream (stream.h). */
tutti_status tutti_connection_open_over(
    tutti_stream *stream, const tutti_connection_options *options, tutti_connection **connection);
/* All its messages must have been tested. */
void tutti_connection_close(tutti_connection *connection);

/* COMM: it is broken. NOMEM. */
tutti_status tutti_connection_isend(tutti_connection *connection, int lane, int tag,
    const void *data, size_t bytes, tutti_connection_message **message);
tutti_status tutti_connection_irecv(tutti_connection *connection, int lane, int tag, void *data,
    size_t bytes, tutti_connection_message **message);
/* Whether the message has ended; then it is freed. Makes no progress itself. COMM; MISMATCH: the two ends differ in
 * size. */
tutti_status tutti_connection_test(tutti_connection_message *message, int *done);
/* Ends the message without its partner, unless the two are matched; test still has to report its end. A receive whose
 * memory the other end may write to ends when that has answered. */
void tutti_connection_cancel(tutti_connection *connection, tutti_connection_message *message);
/* Gives up a message; if it is matched, the connection breaks. */
void tutti_connection_abandon(tutti_connection *connection, tutti_connection_message *message);
/* Sets the priority of a send; 0 at first. Among the matched sends of equal lanes, the one with the largest priority
 * goes first, the oldest of equal ones, in pieces of TUTTI_TCP_PIECE_BYTES. Sends of one lane and tag stay in their
 * order. */
void tutti_connection_set_priority(tutti_connection_message *message, int priority);

/* Writing a message where it is received, before it is sent: the memory of the receive that the next send on this
 * lane and tag matches. NULL: none is known, its memory is not lent, it has another size, or an earlier send
 * waits. From here to wrote the memory is the caller's to write to, also when the connection breaks meanwhile:
 * what mapped it has to stay. The send comes after wrote; nothing is copied for it, and its data are not read. */
void *tutti_connection_claim(tutti_connection *connection, int lane, int tag, size_t bytes);
/* What was claimed is not written to any more. */
void tutti_connection_wrote(tutti_connection *connection, int lane, int tag);

/* Reads and writes what the socket allows, and checks for silence; never waits. */
void tutti_connection_pass(tutti_connection *connection);
/* What to wait for before the next pass. */
struct pollfd tutti_connection_poll(const tutti_connection *connection);
/* Whether a pass may move anything; of sockets poll(2) knows it. Asked last before sleeping. */
int tutti_connection_may_move(const tutti_connection *connection);
/* Whether its stream wakes who sleeps in memory (shm.h). */
int tutti_connection_wakes(const tutti_connection *connection);
/* What wakes who sleeps in poll(2). fd -1: nothing: it wakes, is broken, or can only be tried. */
struct pollfd tutti_connection_sleep_on(const tutti_connection *connection);
/* NULL while the connection works; else why it broke, as a predicate: "has closed the connection". All its messages
 * then end with COMM. */
const char *tutti_connection_broken(const tutti_connection *connection);
/* Breaks it from this end, at once. */
void tutti_connection_break(tutti_connection *connection);
/* Shuts down the sending direction; call it once everything is flushed. The connection breaks when the other end has
 * closed. */
void tutti_connection_shut(tutti_connection *connection);
/* Bytes received, and messages: those that the other end placed, those that came through the stream, and small ones,
 * which may go early. */
typedef struct tutti_connection_received {
    uint64_t placed, streamed, small;
    uint64_t placed_messages, streamed_messages, small_messages;
    /* Of those sent: they were claimed and written before; and they were copied to the other end's memory. */
    uint64_t written_messages, moved_messages;
} tutti_connection_received;
tutti_connection_received tutti_connection_count(const tutti_connection *connection);
/* Whether all that was sent has gone out to the socket. */
int tutti_connection_flushed(const tutti_connection *connection);

#endif
