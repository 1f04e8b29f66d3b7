/* The messages of a membership (membership.h), and the hello of a newcomer, as bytes of a fixed size. Readers check
 * everything: whatever the bytes are, they are a message that a member could have written, or are refused. [P] */
#ifndef TUTTI_MEMBERSHIP_MESSAGE_H
#define TUTTI_MEMBERSHIP_MESSAGE_H

#include <stdint.h>

enum {
    TUTTI_MEMBERSHIP_VERSION = 1, /* of the messages */
    TUTTI_MEMBERSHIP_MOST = 64,   /* members and guests together */
    TUTTI_MEMBERSHIP_ADDRESS = 64,
    TUTTI_MEMBERSHIP_ENTRY_BYTES = 16 + TUTTI_MEMBERSHIP_ADDRESS,
    TUTTI_MEMBERSHIP_MESSAGE_BYTES = 72 + TUTTI_MEMBERSHIP_MOST * TUTTI_MEMBERSHIP_ENTRY_BYTES,
    TUTTI_MEMBERSHIP_HELLO_BYTES = 40 + TUTTI_MEMBERSHIP_ADDRESS
};

typedef enum tutti_membership_kind {
    TUTTI_MEMBERSHIP_VIEW,    /* to a guest: the members, and guests that came before it (fresh) */
    TUTTI_MEMBERSHIP_READY,   /* from a guest: it is connected to all of the list */
    TUTTI_MEMBERSHIP_SUSPECT, /* the rank `about` is silent */
    TUTTI_MEMBERSHIP_PROPOSE, /* the list of an epoch; about: the last epoch that its sender knows to be committed */
    TUTTI_MEMBERSHIP_ACK, /* of a PROPOSE: the sender has left its epoch; newest, before */
    TUTTI_MEMBERSHIP_REFUSE, /* of the PROPOSE of epoch `about`: the sender knows this list, and epoch `highest` */
    TUTTI_MEMBERSHIP_COMMIT, /* the epoch begins, from snapshot `newest`; fresh: who does not have it */
    TUTTI_MEMBERSHIP_OUT,    /* an epoch is committed without the receiver */
    TUTTI_MEMBERSHIP_STOP,   /* all stop, because... */
    TUTTI_MEMBERSHIP_FINISH, /* the sender has come to the end of the run */
    TUTTI_MEMBERSHIP_DONE,   /* all have */
    TUTTI_MEMBERSHIP_KINDS
} tutti_membership_kind;

/* The flag of a PROPOSE; the flags of a REFUSE; the flag of a STOP. */
enum {
    TUTTI_MEMBERSHIP_GENTLY = 1,     /* no rank is lost: collectives under way may end first */
    TUTTI_MEMBERSHIP_COMMITTED = 1,  /* the list is known to be committed */
    TUTTI_MEMBERSHIP_TOO_EARLY = 2,  /* propose an epoch later than `highest` */
    TUTTI_MEMBERSHIP_TOO_FEW = 1,    /* fewer than the least are left; `about`: how many */
    TUTTI_MEMBERSHIP_NO_SNAPSHOT = 2 /* there is no snapshot that all have */
};

typedef struct tutti_membership_entry {
    int64_t id; /* never used again */
    int fresh;
    char address[TUTTI_MEMBERSHIP_ADDRESS]; /* of its door */
} tutti_membership_entry;

typedef struct tutti_membership_message {
    tutti_membership_kind kind;
    int flag;
    int64_t epoch, about, highest, proposer;
    int64_t newest, before; /* steps of snapshots; -1: none */
    int n;
    tutti_membership_entry entry[TUTTI_MEMBERSHIP_MOST]; /* by id, ascending */
} tutti_membership_message;

void tutti_membership_message_write(
    const tutti_membership_message *message, unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES]);
/* NULL, or what is wrong, as a predicate: "sends ...". */
const char *tutti_membership_message_read(
    const unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES], tutti_membership_message *message);

/* What a newcomer says at a door. Who has another token does not come this far (collectives/transport/tcp.h). */
typedef struct tutti_membership_hello {
    int version;
    int64_t id;
    uint64_t run, options; /* the run that it belongs to, and a hash of its options */
    char address[TUTTI_MEMBERSHIP_ADDRESS];
} tutti_membership_hello;

void tutti_membership_hello_write(
    const tutti_membership_hello *hello, unsigned char bytes[TUTTI_MEMBERSHIP_HELLO_BYTES]);
/* As above. If the version differs, only the version is read. */
const char *tutti_membership_hello_read(
    const unsigned char bytes[TUTTI_MEMBERSHIP_HELLO_BYTES], tutti_membership_hello *hello);

#endif
