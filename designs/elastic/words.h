/* What a rank says when it connects to the door of another, and what that answers: the words of a greeting
 * (collectives/transport/tcp.h). Readers check everything. [P] */
#ifndef TUTTI_ELASTIC_WORDS_H
#define TUTTI_ELASTIC_WORDS_H

#include "collectives/transport/tcp_frame.h"
#include "designs/membership/message.h"

typedef enum tutti_elastic_purpose {
    TUTTI_ELASTIC_CONTROL, /* messages of the membership */
    TUTTI_ELASTIC_DATA,    /* messages of collectives, in one epoch */
    TUTTI_ELASTIC_PURPOSES
} tutti_elastic_purpose;

typedef struct tutti_elastic_words {
    tutti_elastic_purpose purpose;
    int64_t epoch, to;            /* of DATA: who is meant; else 0 */
    tutti_membership_hello hello; /* who speaks */
} tutti_elastic_words;

void tutti_elastic_words_write(
    const tutti_elastic_words *words, unsigned char bytes[TUTTI_TCP_WORDS_BYTES]);
/* NULL, or what is wrong, as a predicate: "sends ...". If the version differs, only the version is read. */
const char *tutti_elastic_words_read(
    const unsigned char bytes[TUTTI_TCP_WORDS_BYTES], tutti_elastic_words *words);

enum { TUTTI_ELASTIC_HOST = TUTTI_MEMBERSHIP_ADDRESS };

/* "HOST:PORT" in its parts; an IPv6 address is in brackets. 0: it is not like that. */
int tutti_elastic_address_read(const char *address, char host[TUTTI_ELASTIC_HOST], int *port);

#endif
