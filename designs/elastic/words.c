#include "designs/elastic/words.h"

#include "dag/base/little_endian.h"

#include <stdlib.h>
#include <string.h>

enum {
    PURPOSE_AT = 0,
    EPOCH_AT = 8,
    TO_AT = 16,
    HELLO_AT = 24,
    END = HELLO_AT + TUTTI_MEMBERSHIP_HELLO_BYTES
};

_Static_assert((int)END <= (int)TUTTI_TCP_WORDS_BYTES, "the words of a greeting have no room");

void tutti_elastic_words_write(
    const tutti_elastic_words *w, unsigned char bytes[TUTTI_TCP_WORDS_BYTES])
{
    memset(bytes, 0, TUTTI_TCP_WORDS_BYTES);
    tutti_little_put(bytes + PURPOSE_AT, (uint64_t)w->purpose, 8);
    tutti_little_put(bytes + EPOCH_AT, (uint64_t)w->epoch, 8);
    tutti_little_put(bytes + TO_AT, (uint64_t)w->to, 8);
    tutti_membership_hello_write(&w->hello, bytes + HELLO_AT);
}

const char *tutti_elastic_words_read(
    const unsigned char bytes[TUTTI_TCP_WORDS_BYTES], tutti_elastic_words *w)
{
    const uint64_t purpose = tutti_little_get(bytes + PURPOSE_AT, 8),
                   epoch = tutti_little_get(bytes + EPOCH_AT, 8),
                   to = tutti_little_get(bytes + TO_AT, 8);
    memset(w, 0, sizeof *w);
    const char *wrong = tutti_membership_hello_read(bytes + HELLO_AT, &w->hello);
    if (wrong || w->hello.version != TUTTI_MEMBERSHIP_VERSION) return wrong;
    if (purpose >= TUTTI_ELASTIC_PURPOSES) return "sends an unknown purpose";
    if (epoch > INT64_MAX || to > INT64_MAX) return "sends an invalid number";
    if (purpose == TUTTI_ELASTIC_CONTROL && (epoch || to)) return "sends more than a hello";
    for (int i = END; i < TUTTI_TCP_WORDS_BYTES; i++)
        if (bytes[i]) return "sends more than its words";
    w->purpose = (tutti_elastic_purpose)purpose;
    w->epoch = (int64_t)epoch;
    w->to = (int64_t)to;
    return NULL;
}

int tutti_elastic_address_read(const char *address, char host[TUTTI_ELASTIC_HOST], int *port)
{
    const char *colon = strrchr(address, ':');
    char *end;
    if (!colon || colon == address || colon - address >= TUTTI_ELASTIC_HOST) return 0;
    const long number = strtol(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || number < 1 || number > 65535) return 0;
    const int bracket = *address == '[';
    const size_t length = (size_t)(colon - address) - 2 * (size_t)bracket;
    if (bracket && (colon[-1] != ']' || colon - address < 3)) return 0;
    memcpy(host, address + bracket, length);
    host[length] = 0;
    *port = (int)number;
    return 1;
}
