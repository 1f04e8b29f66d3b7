#include "designs/elastic/words.h"

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

static void put(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++) to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

void tutti_elastic_words_write(
    const tutti_elastic_words *w, unsigned char bytes[TUTTI_TCP_WORDS_BYTES])
{
    memset(bytes, 0, TUTTI_TCP_WORDS_BYTES);
    put(bytes + PURPOSE_AT, (uint64_t)w->purpose);
    put(bytes + EPOCH_AT, (uint64_t)w->epoch);
    put(bytes + TO_AT, (uint64_t)w->to);
    tutti_membership_hello_write(&w->hello, bytes + HELLO_AT);
}

const char *tutti_elastic_words_read(
    const unsigned char bytes[TUTTI_TCP_WORDS_BYTES], tutti_elastic_words *w)
{
    const uint64_t purpose = get(bytes + PURPOSE_AT), epoch = get(bytes + EPOCH_AT),
                   to = get(bytes + TO_AT);
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
