/* The wire format of connections: a greeting from either end, then frames. Sizes are fixed, or checked before they
 * are used. Numbers are little-endian.
 *
 * Data are sent only after a receive has been posted: irecv sends WANT, and isend waits for it. So no message blocks
 * another, and neither end buffers unexpected messages, except for a limited number of small ones that go EARLY.
 *
 * The n-th WANT of an end has the number n, from 0 on. It may name a place: memory of that end that the other can
 * write to (stream.h). The other end then copies the message to the place, and sends PLACED. From WANT to PLACED the
 * place belongs to the other end, unless that has answered REVOKE with REVOKED. [P] */
#ifndef TUTTI_TCP_FRAME_H
#define TUTTI_TCP_FRAME_H

#include <stdint.h>

typedef enum tutti_tcp_kind {
    TUTTI_TCP_WANT,  /* a receive of `bytes` bytes is posted */
    TUTTI_TCP_DATA,  /* `bytes` bytes follow, of the oldest message wanted on this lane and tag */
    TUTTI_TCP_UNFIT, /* that message has `bytes` bytes, unlike its receive: it is not sent */
    TUTTI_TCP_PING,  /* this end is alive */
    TUTTI_TCP_EARLY, /* a whole message of `bytes` bytes follows, for which no WANT had come; WANT comes all the same */
    TUTTI_TCP_PLACED, /* the message for the WANT with the number `bytes` lies at its place */
    TUTTI_TCP_REVOKE, /* the receive with the number `bytes` is cancelled: do not write to its place */
    TUTTI_TCP_REVOKED, /* the other end does not and will not; the message goes without a place */
    TUTTI_TCP_KINDS
} tutti_tcp_kind;

typedef struct tutti_tcp_frame {
    tutti_tcp_kind kind;
    int lane, tag;
    uint64_t bytes, place; /* place: of a WANT; 0: none */
} tutti_tcp_frame;

enum {
    TUTTI_TCP_HEADER_BYTES = 32,
    TUTTI_TCP_PIECE_BYTES = 1 << 18, /* a longer message goes in several DATA frames */
};

/* The limits of a frame's lane and tag. */
typedef struct tutti_tcp_limits {
    int lanes;
    int64_t tags;
} tutti_tcp_limits;

void tutti_tcp_frame_write(const tutti_tcp_frame *frame, unsigned char header[]);
/* NULL, or what is wrong with the header, as a predicate: "sends ...". */
const char *tutti_tcp_frame_read(
    const unsigned char header[], const tutti_tcp_limits *limits, tutti_tcp_frame *frame);

/* ---- greetings ---- */

enum {
    TUTTI_TCP_VERSION = 2,
    TUTTI_TCP_TOKEN_BYTES = 64,
    TUTTI_TCP_WORDS_BYTES = 256,
    TUTTI_TCP_GREETING_BYTES = 20 + TUTTI_TCP_TOKEN_BYTES + TUTTI_TCP_WORDS_BYTES,
};

/* The server's answer to a greeting. */
typedef enum tutti_tcp_verdict {
    TUTTI_TCP_WELCOME,
    TUTTI_TCP_WRONG_TOKEN,
    TUTTI_TCP_WRONG_VERSION,
    TUTTI_TCP_REFUSED, /* `words` is the reason */
    TUTTI_TCP_LATER,   /* refused for now: `words` is the reason; try again */
    TUTTI_TCP_VERDICTS
} tutti_tcp_verdict;

typedef struct tutti_tcp_greeting {
    int version;
    tutti_tcp_verdict verdict;                  /* in an answer */
    char token[TUTTI_TCP_TOKEN_BYTES + 1];      /* from the client */
    unsigned char words[TUTTI_TCP_WORDS_BYTES]; /* the caller's */
} tutti_tcp_greeting;

void tutti_tcp_greeting_write(const tutti_tcp_greeting *greeting, unsigned char bytes[]);
/* Whether the first 8 bytes are those of a greeting. */
int tutti_tcp_greeting_begins(const unsigned char bytes[]);
/* NULL, or what is wrong, as a predicate. If the version differs, only the version is read. */
const char *tutti_tcp_greeting_read(const unsigned char bytes[], tutti_tcp_greeting *greeting);
/* Whether two tokens are equal, in constant time. */
int tutti_tcp_token_equal(const char a[], const char b[]);

#endif
