/* The first ranks of an elastic run meet over MPI: each opens a door, and shows the others its address. */
#include "designs/elastic/elastic_start.h"

#include "dag/base/log.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What a rank shows the others; first only what all take from rank 0. */
typedef struct card {
    tutti_status status;
    uint64_t run;
    char token[TUTTI_TCP_TOKEN_BYTES + 1], address[TUTTI_MEMBERSHIP_ADDRESS];
} card;

static tutti_status draw_run(card *c)
{
    uint64_t word[3];
    if (getrandom(word, sizeof word, 0) != (ssize_t)sizeof word)
        return tutti_fail(TUTTI_ERR_IO, "no random numbers for a token");
    c->run = word[2] & INT64_MAX;
    snprintf(c->token, sizeof c->token, "%016llx%016llx", (unsigned long long)word[0],
        (unsigned long long)word[1]);
    return TUTTI_OK;
}

/* The first of this host that is not for itself alone. */
static const char *find_address(char host[INET_ADDRSTRLEN])
{
    struct ifaddrs *list = NULL;
    const char *found = NULL;
    if (getifaddrs(&list)) return NULL;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
            !(i->ifa_flags & IFF_LOOPBACK))
            found = inet_ntop(AF_INET, &((const struct sockaddr_in *)i->ifa_addr)->sin_addr, host,
                INET_ADDRSTRLEN);
    freeifaddrs(list);
    return found;
}

static tutti_status open_door(card *c, int near, tutti_tcp_listener **door)
{
    char host[INET_ADDRSTRLEN];
    const char *address = near ? "127.0.0.1" : find_address(host);
    if (!address)
        return tutti_fail(TUTTI_ERR_COMM, "this host has no address of IPv4 for the other ranks");
    const tutti_status status = tutti_tcp_listener_open(address, 0, c->token, door);
    if (!status)
        snprintf(c->address, sizeof c->address, "%s:%d", address, tutti_tcp_listener_port(*door));
    return status;
}

/* The worst of the ranks. */
static tutti_status gather_cards(
    tutti_elastic_start *s, card *mine, tutti_status status, card all[])
{
    mine->status = status;
    status = tutti_lasting_gather(s->lasting, mine, sizeof *mine, all);
    for (int r = 0; r < s->ranks && !status; r++)
        status = all[r].status > status ? all[r].status : status;
    return status;
}

static tutti_status find_ranks(tutti_elastic_start *s, card all[], tutti_tcp_listener **door)
{
    card mine = {0};
    const int rank = (int)s->self.id;
    tutti_status status = gather_cards(s, &mine, rank ? TUTTI_OK : draw_run(&mine), all);
    if (status) return status;
    mine = all[0];
    status = gather_cards(s, &mine, open_door(&mine, tutti_lasting_near(s->lasting), door), all);
    if (status) return status;
    s->run = mine.run;
    memcpy(s->token, mine.token, sizeof s->token);
    s->first.n = s->ranks;
    for (int r = 0; r < s->ranks; r++) {
        s->first.entry[r].id = r;
        memcpy(s->first.entry[r].address, all[r].address, sizeof all[r].address);
    }
    s->self = s->first.entry[rank];
    return TUTTI_OK;
}

tutti_status tutti_elastic_start_mpi(
    int least, tutti_elastic_start *start, tutti_tcp_listener **door)
{
    tutti_elastic_start s = {.least = least, .door = -1, .report = -1};
    *door = NULL;
    tutti_status status = tutti_lasting_open(&s.lasting);
    if (status) return status;
    s.ranks = s.most = tutti_lasting_size(s.lasting);
    s.self.id = tutti_lasting_rank(s.lasting);
    if (s.ranks > TUTTI_MEMBERSHIP_MOST || least > s.ranks)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "there are %d ranks: %d are to be left, and at most %d may train", s.ranks, least,
            TUTTI_MEMBERSHIP_MOST);
    card *all = calloc((size_t)s.ranks, sizeof *all);
    if (!status && !all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", s.ranks);
    if (!status) status = find_ranks(&s, all, door);
    free(all);
    if (status) {
        tutti_tcp_listener_close(*door);
        tutti_lasting_close(s.lasting, 1);
        return status;
    }
    *start = s;
    return TUTTI_OK;
}
