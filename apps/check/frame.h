/* Frames: what a rank and the judge say to each other, as bytes on a stream socket.
 *
 * A frame is a length, a kind and a row of 64-bit numbers and texts, written in the order in which it
 * is read. Both ends run the same library, so the numbers are in the byte order of the machine. [A] on
 * different frames. */
#ifndef TUTTI_CHECK_FRAME_H
#define TUTTI_CHECK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of frames; the fields stand beside each. */
typedef enum tutti_frame_kind {
    /* rank to judge */
    TUTTI_FRAME_HELLO, /* token, rank */
    TUTTI_FRAME_SITE,  /* number, module, offset, symbol */
    TUTTI_FRAME_COMM,  /* id, maker, site, members of the own and of the other group, world ranks */
    TUTTI_FRAME_COLL,  /* a tutti_record; see record.h */
    TUTTI_FRAME_BLOCKED, /* a tutti_wait; see wait.c */
    TUTTI_FRAME_FREE,    /* thread: it waits no longer */
    TUTTI_FRAME_MESSAGE, /* one end of a point-to-point message; see pairing.c */
    TUTTI_FRAME_FINDING, /* severity, call, site, text */
    TUTTI_FRAME_LEAVE,   /* 1: the process ends without MPI_Finalize, 0: it has called MPI_Abort */
    /* judge to rank */
    TUTTI_FRAME_WELCOME, /* the card's answer to HELLO */
    TUTTI_FRAME_GO,      /* communicator, sequence number: the collective may start */
    TUTTI_FRAME_PROBE,   /* number: say again what you wait for */
    TUTTI_FRAME_END,     /* exit status; all ranks have called MPI_Finalize */
    TUTTI_FRAME_ABORT,   /* exit status */
} tutti_frame_kind;

typedef struct tutti_frame {
    unsigned char *bytes;
    size_t length, capacity, at;
    bool bad; /* a read went past the end, or the stream holds what no frame begins with */
} tutti_frame;

/* How long a HELLO and a WELCOME are; and no frame is longer than the last. */
enum {
    TUTTI_FRAME_HELLO_BYTES = 32,
    TUTTI_FRAME_WELCOME_BYTES = 24,
    TUTTI_FRAME_MOST_BYTES = 1 << 28
};

/* Starts a frame anew; the memory is kept for the next one. */
void tutti_frame_begin(tutti_frame *frame, tutti_frame_kind kind);
void tutti_frame_put(tutti_frame *frame, int64_t number);
void tutti_frame_text(tutti_frame *frame, const char *text);
/* All fields are there: its bytes are what the other side is to get. */
void tutti_frame_end(tutti_frame *frame);
/* Ends the frame and writes it to the socket; false when the other side is gone. */
bool tutti_frame_send(tutti_frame *frame, int socket);

/* Reading: `frame` is one that tutti_frame_take has filled. */
tutti_frame_kind tutti_frame_kind_of(tutti_frame *frame);
int64_t tutti_frame_get(tutti_frame *frame);
/* The text lives as long as the frame's bytes. */
const char *tutti_frame_get_text(tutti_frame *frame);

/* Reads what the socket has into `input`; false at the end of the stream. */
bool tutti_frame_receive(tutti_frame *input, int socket);
/* The next whole frame of `input`, without a copy: valid until the next receive or drop. False and input->bad: there
 * is none, and never will be. */
bool tutti_frame_take(tutti_frame *input, tutti_frame *frame);
/* Forgets the frames of `input` that were taken. */
void tutti_frame_drop(tutti_frame *input);

/* Appends bytes that are frames already. */
void tutti_frame_append(tutti_frame *frame, const void *bytes, size_t length);

void tutti_frame_free(tutti_frame *frame);

#endif
