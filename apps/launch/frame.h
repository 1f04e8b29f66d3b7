/* What tutti-run and its agent on another host tell each other, over the standard input and output of the agent:
 *
 *     KIND SPACE LENGTH NEWLINE, LENGTH bytes, NEWLINE
 *
 * Slurm passes on lines: so each ends with one. [A] */
#ifndef TUTTI_LAUNCH_FRAME_H
#define TUTTI_LAUNCH_FRAME_H

#include <stddef.h>

enum {
    TUTTI_LAUNCH_FRAME_MOST = 32 << 10, /* bytes: a whole frame fits into an empty pipe */
    TUTTI_LAUNCH_FRAME_ROOM = TUTTI_LAUNCH_FRAME_MOST + 16
};

typedef enum tutti_launch_kind {
    TUTTI_LAUNCH_DOOR =
        'd', /* of the agent: its version, a blank, and the port that its rank will listen on */
    TUTTI_LAUNCH_OUTPUT = 'o',   /* of the rank */
    TUTTI_LAUNCH_ENTERED = 'e',  /* the rank trains */
    TUTTI_LAUNCH_FINISHED = 'f', /* the rank has come to the end of the run */
    TUTTI_LAUNCH_ENDED = 'x',    /* the rank's end, as wait(2) has it */
    TUTTI_LAUNCH_START = 's',    /* to the agent: words, each with a 0 behind it (agent.h) */
    TUTTI_LAUNCH_SIGNAL = 'k'    /* to the agent: the number of a signal for the rank */
} tutti_launch_kind;

/* Bytes that have come, from `begin` to `end`. */
typedef struct tutti_launch_frames {
    size_t begin, end;
    char bytes[TUTTI_LAUNCH_FRAME_ROOM + 1];
} tutti_launch_frames;

typedef struct tutti_launch_frame {
    tutti_launch_kind kind;
    size_t length;
    const char *bytes; /* with a 0 behind them; until the next call */
} tutti_launch_frame;

/* 0: it cannot be written, or not as a whole. */
int tutti_launch_frame_write(int fd, tutti_launch_kind kind, const char *bytes, size_t length);
/* Reads what has come. 0: nothing more will. */
int tutti_launch_frames_fill(tutti_launch_frames *frames, int fd);
/* 1: the next frame; 0: it has not come as a whole; -1: what has come is none. */
int tutti_launch_frames_next(tutti_launch_frames *frames, tutti_launch_frame *frame);

#endif
