/* How the ranks of an MPI program open a mesh: each shows the others where its shared memory and its port are, over
 * MPI; then those of a host map each other's memory, and of two on different hosts the higher connects to the lower. */
#include "collectives/transport/gather.h"
#include "collectives/transport/mesh.h"
#include "collectives/transport/tcp.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_ADDRESSES = 8 };

/* What a rank shows the others. */
typedef struct card {
    tutti_status status; /* of its memory and its port */
    tutti_shm_name memory;
    uint32_t address[MOST_ADDRESSES]; /* of this host, IPv4 in network order; 0: none */
    int port;
    char token[TUTTI_TCP_TOKEN_BYTES]; /* of its port */
} card;

typedef struct opening {
    tutti_transport *mpi;
    double timeout_s, until_s;
    tutti_status (*open_network)(tutti_interconnect **network); /* NULL: sockets */
    card mine, *all;
    tutti_tcp_listener *listener;
    tutti_mesh_options mesh;
} opening;

static int is_near(const opening *o, int r)
{
    return !o->mpi->host || o->mpi->host[r] == o->mpi->host[o->mpi->rank];
}

/* The ring of rank r in the memory of `of`: the ranks of the host in their order, without `of`. */
static int ring_of(const opening *o, int of, int r)
{
    int ring = 0;
    for (int q = 0; q < r; q++) ring += q != of && is_near(o, q);
    return ring;
}

static void find_addresses(card *c)
{
    struct ifaddrs *list = NULL;
    int count = 0;
    if (!getifaddrs(&list))
        for (const struct ifaddrs *i = list; i && count < MOST_ADDRESSES; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
                !(i->ifa_flags & IFF_LOOPBACK))
                memcpy(&c->address[count++],
                    &((const struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr,
                    sizeof *c->address);
    if (list) freeifaddrs(list);
}

static tutti_status draw_token(card *c)
{
    uint64_t word[3];
    if (getrandom(word, sizeof word, 0) != (ssize_t)sizeof word)
        return tutti_fail(TUTTI_ERR_IO, "no random numbers for a token");
    snprintf(c->token, sizeof c->token, "%016llx%016llx%016llx", (unsigned long long)word[0],
        (unsigned long long)word[1], (unsigned long long)word[2]);
    return TUTTI_OK;
}

static tutti_status open_port(opening *o)
{
    find_addresses(&o->mine);
    tutti_status status = draw_token(&o->mine);
    if (!status) status = tutti_tcp_listener_open("0.0.0.0", 0, o->mine.token, &o->listener);
    if (!status) o->mine.port = tutti_tcp_listener_port(o->listener);
    return status;
}

static tutti_status fill_card(opening *o)
{
    const size_t size = (size_t)o->mpi->size;
    int near = 0;
    o->mesh.peer = calloc(size, sizeof *o->mesh.peer);
    o->mesh.theirs = calloc(size, sizeof *o->mesh.theirs);
    if (!o->mesh.peer || !o->mesh.theirs)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a mesh of %zu ranks", size);
    for (int r = 0; r < o->mpi->size; r++) near += r != o->mpi->rank && is_near(o, r);
    const tutti_shm_options options = {
        .rings = near, .ring_bytes = TUTTI_MESH_RING_BYTES, .arena_bytes = tutti_mesh_arena_bytes};
    tutti_status status = near ? tutti_shm_create(&options, &o->mesh.mine) : TUTTI_OK;
    if (!status && near) tutti_shm_get_name(o->mesh.mine, &o->mine.memory);
    if (!status && near < o->mpi->size - 1) status = open_port(o);
    if (!status && o->open_network) status = o->open_network(&o->mesh.network);
    if (!status && o->mesh.network && near == o->mpi->size - 1) { /* it is there, and not needed */
        o->mesh.network->ops->close(o->mesh.network);
        o->mesh.network = NULL;
    }
    return status;
}

/* ---- connecting ---- */

static tutti_status connect_near(opening *o, int r)
{
    const int self = o->mpi->rank;
    tutti_status status = tutti_shm_map(&o->all[r].memory, &o->mesh.theirs[r]);
    if (status) return status;
    return tutti_shm_connect(o->mesh.mine, ring_of(o, self, r), o->mesh.theirs[r],
        ring_of(o, r, self), &tutti_mesh_connection, &o->mesh.peer[r]);
}

static void write_words(unsigned char words[TUTTI_TCP_WORDS_BYTES], int from, int to)
{
    memset(words, 0, TUTTI_TCP_WORDS_BYTES);
    snprintf((char *)words, TUTTI_TCP_WORDS_BYTES, "mesh %d to %d", from, to);
}

/* An address may be another host's as well: who answers must be that rank. */
static tutti_status connect_far(opening *o, int r)
{
    const int self = o->mpi->rank;
    char why[TUTTI_CONNECTION_WHY] = "it has no address but that of itself";
    unsigned char words[TUTTI_TCP_WORDS_BYTES], wanted[TUTTI_TCP_WORDS_BYTES];
    write_words(wanted, r, self);
    int left = 0;
    while (left < MOST_ADDRESSES && o->all[r].address[left]) left++;
    for (int i = 0; left; i++, left--) {
        char address[INET_ADDRSTRLEN];
        int later = 0, socket = -1;
        const double left_s = fmax(0.1, o->until_s - tutti_clock_s());
        const tutti_tcp_call call = {.address = address,
            .port = o->all[r].port,
            .token = o->all[r].token,
            .timeout_s = left_s,
            .reach_s = left_s / left,
            .stale = 1};
        inet_ntop(AF_INET, &o->all[r].address[i], address, sizeof address);
        write_words(words, self, r);
        tutti_status status = tutti_tcp_connect(&call, words, &later, why, &socket);
        if (status && !later) return status;
        if (status) continue;
        if (!memcmp(words, wanted, sizeof words))
            return tutti_mesh_connect_socket(o->mesh.network, socket, &o->mesh.peer[r]);
        snprintf(why, sizeof why, "another rank has answered");
        close(socket);
    }
    return tutti_fail(TUTTI_ERR_COMM, "no connection to rank %d: %s", r, why);
}

/* The rank that these words are from, if it may connect to this one; -1: none. */
static int find_caller(const opening *o, const unsigned char words[TUTTI_TCP_WORDS_BYTES])
{
    unsigned char like[TUTTI_TCP_WORDS_BYTES];
    for (int r = o->mpi->rank + 1; r < o->mpi->size; r++) {
        write_words(like, r, o->mpi->rank);
        if (!is_near(o, r) && !o->mesh.peer[r] && !memcmp(like, words, sizeof like)) return r;
    }
    return -1;
}

static tutti_status accept_one(opening *o, int *accepted)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    char from[TUTTI_TCP_NAME];
    const int socket = tutti_tcp_listener_accept(o->listener, words, from);
    *accepted = 0;
    if (socket < 0) return TUTTI_OK;
    const int r = find_caller(o, words);
    write_words(words, o->mpi->rank, r);
    if (!tutti_tcp_answer(socket, r < 0 ? TUTTI_TCP_REFUSED : TUTTI_TCP_WELCOME, words) || r < 0) {
        close(socket);
        return TUTTI_OK;
    }
    *accepted = 1;
    return tutti_mesh_connect_socket(o->mesh.network, socket, &o->mesh.peer[r]);
}

static tutti_status accept_all(opening *o, int expected)
{
    static const double poll_s = 1e-3;
    while (expected) {
        int accepted;
        tutti_status status = accept_one(o, &accepted);
        if (status) return status;
        expected -= accepted;
        if (!accepted && tutti_clock_s() > o->until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "%d ranks have not connected to rank %d within %g s: does the network let its port "
                "%d through?",
                expected, o->mpi->rank, o->timeout_s, o->mine.port);
        if (!accepted) tutti_clock_sleep(poll_s);
    }
    return TUTTI_OK;
}

static tutti_status connect_all(opening *o)
{
    const int self = o->mpi->rank;
    tutti_status status = TUTTI_OK;
    int callers = 0;
    for (int r = 0; r < o->mpi->size && !status; r++) {
        if (r == self) continue;
        if (is_near(o, r))
            status = connect_near(o, r);
        else if (r < self)
            status = connect_far(o, r);
        else
            callers++;
    }
    return status ? status : accept_all(o, callers);
}

/* ---- the ranks agree ---- */

/* Whether all cards have this status field OK; else the first failure, on every rank. */
static tutti_status exchange_cards(opening *o, tutti_status status)
{
    o->mine.status = status;
    tutti_status gathered =
        tutti_transport_gather(o->mpi, &o->mine, sizeof o->mine, o->all, o->timeout_s);
    for (int r = 0; r < o->mpi->size && !gathered && !status; r++)
        if (o->all[r].status)
            status = tutti_fail(o->all[r].status, "rank %d has no connections to the others: %s", r,
                tutti_status_text(o->all[r].status));
    return status ? status : gathered;
}

static void close_parts(const opening *o)
{
    for (int r = 0; r < o->mpi->size; r++) {
        if (o->mesh.peer && o->mesh.peer[r]) tutti_connection_close(o->mesh.peer[r]);
        if (o->mesh.theirs) tutti_shm_close(o->mesh.theirs[r]);
    }
    if (o->mesh.network) o->mesh.network->ops->close(o->mesh.network);
    tutti_shm_close(o->mesh.mine);
}

static tutti_status open_mesh(opening *o, tutti_transport **opened)
{
    tutti_status status = exchange_cards(o, fill_card(o));
    if (!status) status = exchange_cards(o, connect_all(o));
    if (status) {
        close_parts(o);
        return status;
    }
    o->mesh.rank = o->mpi->rank;
    o->mesh.size = o->mpi->size;
    o->mesh.lanes = o->mpi->lanes;
    o->mesh.host = o->mpi->host;
    o->mesh.near = o->mpi->near;
    status = exchange_cards(o, tutti_transport_mesh(&o->mesh, opened));
    if (status) tutti_transport_close(*opened);
    return status;
}

tutti_status tutti_transport_mesh_over(
    tutti_transport **transport, const tutti_transport_options *options)
{
    return tutti_transport_mesh_with(transport, options, NULL);
}

tutti_status tutti_transport_mesh_with(tutti_transport **transport,
    const tutti_transport_options *options,
    tutti_status (*open_network)(tutti_interconnect **network))
{
    tutti_transport *mpi = *transport, *opened = NULL;
    opening o = {.mpi = mpi,
        .timeout_s = options->timeout_s,
        .open_network = open_network,
        .until_s = tutti_clock_s() + options->timeout_s,
        .all = calloc((size_t)mpi->size, sizeof(card))};
    if (!o.all) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", mpi->size);
    tutti_status status = open_mesh(&o, &opened);
    tutti_tcp_listener_close(o.listener);
    free(o.mesh.peer);
    free(o.mesh.theirs);
    free(o.all);
    if (status) return status;
    tutti_transport_close(mpi);
    *transport = opened;
    return TUTTI_OK;
}
