/* Frames: the messages between a rank and the judge, as bytes on a stream socket.
 *
 * A frame is a length, a kind and a sequence of 64-bit numbers and texts, read in the order in
 * which they are written. Both ends run the same library, so numbers are in the machine's byte
 * order. [A] on different frames. */
#ifndef TUTTI_MPICHECK_FRAME_H
#define TUTTI_MPICHECK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of frames, each with its fields. */
typedef enum mpicheck_frame_kind {
    /* rank to judge */
    MPICHECK_FRAME_HELLO,   /* token, rank */
    MPICHECK_FRAME_SITE,    /* number, module, offset, symbol */
    MPICHECK_FRAME_COMM,    /* id, maker, site, sizes of the local and remote group, world ranks */
    MPICHECK_FRAME_COLL,    /* a mpicheck_record; see record.h */
    MPICHECK_FRAME_BLOCKED, /* a mpicheck_wait; see wait.c */
    MPICHECK_FRAME_FREE,    /* thread: it no longer waits */
    MPICHECK_FRAME_MESSAGE, /* one end of a point-to-point message; see pairing.c */
    MPICHECK_FRAME_FINDING, /* severity, call, site, text, another call, its site */
    MPICHECK_FRAME_LEAVE, /* 1: the process ends without MPI_Finalize, 0: it has called MPI_Abort */
    /* judge to rank */
    MPICHECK_FRAME_WELCOME, /* the card's answer to HELLO */
    MPICHECK_FRAME_GO,      /* communicator, sequence number: the collective may start */
    MPICHECK_FRAME_PROBE,   /* number: report again what you wait for */
    MPICHECK_FRAME_END,     /* exit status; all ranks have called MPI_Finalize */
    MPICHECK_FRAME_ABORT,   /* exit status */
} mpicheck_frame_kind;

typedef struct mpicheck_frame {
    unsigned char *bytes;
    size_t length, capacity, at;
    bool bad; /* a read went past the end, or the stream does not continue with a frame */
} mpicheck_frame;

/* Lengths of a HELLO and a WELCOME, and the limit for every frame. */
enum {
    MPICHECK_FRAME_HELLO_BYTES = 32,
    MPICHECK_FRAME_WELCOME_BYTES = 24,
    MPICHECK_FRAME_MOST_BYTES = 1 << 28
};

/* Starts a new frame; reuses the memory. */
void mpicheck_frame_begin(mpicheck_frame *frame, mpicheck_frame_kind kind);
void mpicheck_frame_put(mpicheck_frame *frame, int64_t number);
void mpicheck_frame_text(mpicheck_frame *frame, const char *text);
/* Completes the frame: its bytes are ready to send. */
void mpicheck_frame_end(mpicheck_frame *frame);
/* Ends the frame and writes it to the socket; false when the other side is gone. */
bool mpicheck_frame_send(mpicheck_frame *frame, int socket);

/* Reading: mpicheck_frame_take has filled `frame`. */
mpicheck_frame_kind mpicheck_frame_kind_of(mpicheck_frame *frame);
int64_t mpicheck_frame_get(mpicheck_frame *frame);
/* The text lives as long as the frame's bytes. */
const char *mpicheck_frame_get_text(mpicheck_frame *frame);

/* Reads what the socket has into `input`; false at the end of the stream. */
bool mpicheck_frame_receive(mpicheck_frame *input, int socket);
/* The next whole frame of `input`, not copied: valid until the next receive or drop. False and
 * input->bad: no further frame will come. */
bool mpicheck_frame_take(mpicheck_frame *input, mpicheck_frame *frame);
/* Drops the frames of `input` that were taken. */
void mpicheck_frame_drop(mpicheck_frame *input);

/* Appends bytes that already are frames. */
void mpicheck_frame_append(mpicheck_frame *frame, const void *bytes, size_t length);

void mpicheck_frame_free(mpicheck_frame *frame);

#endif
