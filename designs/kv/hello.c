#include "designs/kv/hello.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SERVER,
    SERVERS,
    CLIENTS,
    COPIES,
    TYPE,
    BOUND,
    PERIOD,
    ALPHA, /* the bits of a double that is not negative */
    ANY,
    CLIENT,
    WORKER,
    WORKERS,
    LIFE,
    PROCESS,
    NUMBERS
};
enum { ADDRESS_NUMBER_AT = NUMBERS * sizeof(int64_t) + TUTTI_HELLO_HOST };
_Static_assert(ADDRESS_NUMBER_AT + sizeof(int64_t) <= TUTTI_HELLO_BYTES, "a hello fits");

/* Both machines have the same byte order: the greeting has compared it. */
void tutti_hello_write(const tutti_hello *h, unsigned char bytes[TUTTI_HELLO_BYTES])
{
    int64_t alpha;
    memcpy(&alpha, &h->rule.alpha, sizeof alpha);
    const int64_t number[NUMBERS] = {[SERVER] = h->server,
        [SERVERS] = h->servers,
        [CLIENTS] = h->clients,
        [COPIES] = h->copies,
        [TYPE] = h->rule.type,
        [BOUND] = h->rule.bound,
        [PERIOD] = h->rule.period,
        [ALPHA] = alpha,
        [ANY] = h->any,
        [CLIENT] = h->client,
        [WORKER] = h->worker,
        [WORKERS] = h->workers,
        [LIFE] = h->life,
        [PROCESS] = h->process};
    memset(bytes, 0, TUTTI_HELLO_BYTES);
    memcpy(bytes, number, sizeof number);
    memcpy(bytes + sizeof number, h->host, strnlen(h->host, TUTTI_HELLO_HOST - 1));
    memcpy(bytes + ADDRESS_NUMBER_AT, &h->address_number, sizeof h->address_number);
}

/* Those that may be large. */
static int is_wide(int i)
{
    return i == LIFE || i == BOUND || i == PERIOD || i == ALPHA || i == PROCESS;
}

static tutti_consistency rule_of(const int64_t number[NUMBERS])
{
    tutti_consistency rule = {
        .type = (tutti_kv_type)number[TYPE], .bound = number[BOUND], .period = number[PERIOD]};
    memcpy(&rule.alpha, &number[ALPHA], sizeof rule.alpha);
    return rule;
}

int tutti_hello_read(const unsigned char bytes[TUTTI_HELLO_BYTES], tutti_hello *h)
{
    static const int most = 1 << 20;
    int64_t number[NUMBERS];
    memcpy(number, bytes, sizeof number);
    for (int i = 0; i < NUMBERS; i++)
        if (number[i] < 0 || (number[i] > most && !is_wide(i))) return 0;
    if (number[TYPE] >= TUTTI_KV_TYPES || number[PROCESS] > INT32_MAX) return 0;
    *h = (tutti_hello){.server = (int)number[SERVER],
        .servers = (int)number[SERVERS],
        .clients = (int)number[CLIENTS],
        .copies = (int)number[COPIES],
        .rule = rule_of(number),
        .any = (int)number[ANY],
        .client = (int)number[CLIENT],
        .worker = (int)number[WORKER],
        .workers = (int)number[WORKERS],
        .life = number[LIFE],
        .process = (int)number[PROCESS]};
    memcpy(h->host, bytes + sizeof number, TUTTI_HELLO_HOST - 1);
    memcpy(&h->address_number, bytes + ADDRESS_NUMBER_AT, sizeof h->address_number);
    for (char *c = h->host; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return tutti_consistency_is_sane(&h->rule) && h->workers > 0 &&
           h->workers <= TUTTI_HELLO_WORKERS && h->worker < h->workers;
}

void tutti_hello_name(tutti_hello *h)
{
    h->process = (int)getpid();
    if (gethostname(h->host, sizeof h->host)) snprintf(h->host, sizeof h->host, "?");
    h->host[sizeof h->host - 1] = 0;
}
