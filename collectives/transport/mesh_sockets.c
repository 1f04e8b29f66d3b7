/* How a mesh is made from sockets: the ranks show each other where their memory is. Two that have booted together, and
 * can both map the other's memory, use that; others keep the socket.
 *
 *     each to each     a card: which boot of which machine, and the memory
 *     each to each     a byte: this rank has mapped the memory of the other */
#include "collectives/transport/mesh.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/process.h"
#include "dag/base/little_endian.h"
#include "dag/base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CARD_WORDS = 8, CARD_BYTES = 8 * CARD_WORDS };

static const uint64_t card_begins = 0x3264726163747574u; /* "tutcard2" */

/* What a rank shows another. Little-endian. */
typedef struct card {
    uint64_t boot; /* a hash; 0: unknown */
    int rank;
    tutti_shm_name memory;
} card;

typedef struct opening {
    const tutti_mesh_sockets *options;
    int *socket; /* those that are still open here; -1 */
    uint64_t boot;
    card *theirs;
    unsigned char (*out)[CARD_BYTES], (*in)[CARD_BYTES];
    unsigned char *maps; /* this rank has mapped that one's memory */
    tutti_mesh_options mesh;
} opening;

/* ---- talking ---- */

/* What is left of a message to a rank, and of one from it. */
typedef struct pair {
    size_t sent, got;
} pair;

static tutti_status fail_pair(int r, const char *why)
{
    return tutti_fail(TUTTI_ERR_COMM, "rank %d %s while the ranks were connected", r, why);
}

static tutti_status move_bytes(opening *o, int r, pair *p, size_t bytes)
{
    const int s = o->socket[r];
    ssize_t n = 0;
    if (p->sent < bytes)
        n = send(s, o->out[r] + p->sent, bytes - p->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return fail_pair(r, "could not be reached");
    if (n > 0) p->sent += (size_t)n;
    if (p->got == bytes) return TUTTI_OK;
    n = recv(s, o->in[r] + p->got, bytes - p->got, MSG_DONTWAIT);
    if (n == 0) return fail_pair(r, "has closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return fail_pair(r, "was lost");
    if (n > 0) p->got += (size_t)n;
    return TUTTI_OK;
}

static int is_over(const opening *o)
{
    return o->options->broken && atomic_load(o->options->broken);
}

/* Sends out[r], and receives in[r], for all r. */
static tutti_status exchange_bytes(opening *o, size_t bytes)
{
    static const double poll_s = 100e-6;
    const int size = o->options->size;
    pair *pairs = calloc((size_t)size, sizeof *pairs);
    tutti_status status =
        pairs ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d ranks", size);
    int missing = size;
    while (!status && missing) {
        missing = 0;
        for (int r = 0; r < size && !status; r++) {
            if (r == o->options->rank) continue;
            status = move_bytes(o, r, &pairs[r], bytes);
            missing += pairs[r].sent < bytes || pairs[r].got < bytes;
        }
        if (!status && missing && is_over(o))
            status = tutti_fail(TUTTI_ERR_COMM, "the ranks that were connected have changed");
        if (!status && missing && tutti_clock_s() > o->options->until_s)
            status = tutti_fail(TUTTI_ERR_TIMEOUT, "%d ranks have not connected in time", missing);
        if (!status && missing) tutti_clock_sleep(poll_s);
    }
    free(pairs);
    return status;
}

/* ---- cards ---- */

static void write_card(const card *c, unsigned char bytes[CARD_BYTES])
{
    const uint64_t word[CARD_WORDS] = {card_begins, c->boot, (uint64_t)c->rank,
        (uint64_t)c->memory.pid, (uint64_t)c->memory.began, (uint64_t)c->memory.file,
        (uint64_t)c->memory.bell, c->memory.key};
    for (int i = 0; i < CARD_WORDS; i++) tutti_little_put(bytes + 8 * i, word[i], 8);
}

static tutti_status read_card(const unsigned char bytes[CARD_BYTES], int r, card *c)
{
    uint64_t word[CARD_WORDS];
    for (int i = 0; i < CARD_WORDS; i++) word[i] = tutti_little_get(bytes + 8 * i, 8);
    if (word[0] != card_begins || word[2] != (uint64_t)r)
        return fail_pair(r, "is not who has answered");
    *c = (card){.boot = word[1],
        .rank = r,
        .memory = {
            (int64_t)word[3], (int64_t)word[4], (int64_t)word[5], (int64_t)word[6], word[7]}};
    return TUTTI_OK;
}

static uint64_t hash_boot(void)
{
    char boot[TUTTI_PROCESS_BOOT];
    tutti_process_boot(boot);
    return *boot ? tutti_rng_stream(boot) : 0;
}

static tutti_status exchange_cards(opening *o)
{
    const tutti_mesh_sockets *s = o->options;
    const tutti_shm_options memory = {.rings = s->size - 1,
        .ring_bytes = TUTTI_MESH_RING_BYTES,
        .arena_bytes = tutti_mesh_arena_bytes};
    card mine = {.boot = o->boot, .rank = s->rank};
    tutti_status status = o->boot ? tutti_shm_create(&memory, &o->mesh.mine) : TUTTI_OK;
    if (status) return status;
    if (o->mesh.mine) tutti_shm_get_name(o->mesh.mine, &mine.memory);
    for (int r = 0; r < s->size; r++) write_card(&mine, o->out[r]);
    status = exchange_bytes(o, CARD_BYTES);
    for (int r = 0; r < s->size && !status; r++)
        if (r != s->rank) status = read_card(o->in[r], r, &o->theirs[r]);
    o->theirs[s->rank] = mine;
    return status;
}

/* ---- connections ---- */

/* Without it, the two use the socket: no failure. */
static void map_memory(opening *o, int r)
{
    if (!o->boot || o->theirs[r].boot != o->boot) return;
    o->maps[r] = !tutti_shm_map(&o->theirs[r].memory, &o->mesh.theirs[r]);
}

/* The ring of rank r in the memory of `of`. */
static int find_ring(int of, int r)
{
    return r - (r > of);
}

static tutti_status connect_memory(opening *o, int r)
{
    const int self = o->options->rank;
    close(o->socket[r]);
    o->socket[r] = -1;
    return tutti_shm_connect(o->mesh.mine, find_ring(self, r), o->mesh.theirs[r],
        find_ring(r, self), &tutti_mesh_connection, &o->mesh.peer[r]);
}

static tutti_status connect_pair(opening *o, int r)
{
    if (o->maps[r] && o->in[r][0]) return connect_memory(o, r);
    tutti_shm_close(o->mesh.theirs[r]);
    o->mesh.theirs[r] = NULL;
    const int socket = o->socket[r];
    o->socket[r] = -1;
    return tutti_mesh_connect_socket(NULL, socket, &o->mesh.peer[r]);
}

static tutti_status connect_all(opening *o)
{
    const tutti_mesh_sockets *s = o->options;
    for (int r = 0; r < s->size; r++) {
        if (r != s->rank) map_memory(o, r);
        o->out[r][0] = o->maps[r];
    }
    tutti_status status = exchange_bytes(o, 1);
    for (int r = 0; r < s->size && !status; r++)
        if (r != s->rank) status = connect_pair(o, r);
    return status;
}

/* Ranks of one boot share a number. All ranks have the same cards. */
static void number_hosts(const opening *o, int host[])
{
    for (int r = 0; r < o->options->size; r++) {
        int first = 0;
        while (first < r && (!o->theirs[r].boot || o->theirs[first].boot != o->theirs[r].boot))
            first++;
        host[r] = first;
    }
}

/* ---- opening ---- */

static tutti_status allocate(opening *o)
{
    const size_t size = (size_t)o->options->size;
    o->socket = malloc(size * sizeof *o->socket);
    o->theirs = calloc(size, sizeof *o->theirs);
    o->out = calloc(size, sizeof *o->out);
    o->in = calloc(size, sizeof *o->in);
    o->maps = calloc(size, 1);
    o->mesh.peer = calloc(size, sizeof *o->mesh.peer);
    o->mesh.theirs = calloc(size, sizeof *o->mesh.theirs);
    if (o->socket && o->theirs && o->out && o->in && o->maps && o->mesh.peer && o->mesh.theirs) {
        memcpy(o->socket, o->options->socket, size * sizeof *o->socket);
        return TUTTI_OK;
    }
    free(o->socket);
    o->socket = NULL;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a mesh of %zu ranks", size);
}

/* A mesh takes the parts over, also on failure. */
static tutti_status make_mesh(opening *o, tutti_transport **transport)
{
    const tutti_mesh_sockets *s = o->options;
    int *host = calloc((size_t)s->size, sizeof *host), near = 1;
    if (!host) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a mesh of %d ranks", s->size);
    number_hosts(o, host);
    for (int r = 0; r < s->size; r++) near = near && host[r] == host[0];
    o->mesh.rank = s->rank;
    o->mesh.size = s->size;
    o->mesh.lanes = s->lanes;
    o->mesh.host = host;
    o->mesh.near = near;
    o->mesh.broken = s->broken;
    const tutti_status status = tutti_transport_mesh(&o->mesh, transport);
    free(host);
    memset(o->mesh.peer, 0, (size_t)s->size * sizeof *o->mesh.peer);
    memset(o->mesh.theirs, 0, (size_t)s->size * sizeof *o->mesh.theirs);
    o->mesh.mine = NULL;
    return status;
}

static void free_opening(opening *o)
{
    for (int r = 0; r < o->options->size; r++) {
        const int socket = o->socket ? o->socket[r] : o->options->socket[r];
        if (socket >= 0) close(socket);
        if (o->mesh.peer && o->mesh.peer[r]) tutti_connection_close(o->mesh.peer[r]);
        if (o->mesh.theirs) tutti_shm_close(o->mesh.theirs[r]);
    }
    tutti_shm_close(o->mesh.mine);
    free(o->socket);
    free(o->theirs);
    free(o->out);
    free(o->in);
    free(o->maps);
    free(o->mesh.peer);
    free(o->mesh.theirs);
}

tutti_status tutti_transport_mesh_sockets(
    const tutti_mesh_sockets *options, tutti_transport **transport)
{
    opening o = {.options = options, .boot = hash_boot()};
    if (options->size == 1) o.boot = 0; /* alone, it needs no shared memory */
    tutti_status status = allocate(&o);
    if (!status) status = exchange_cards(&o);
    if (!status) status = connect_all(&o);
    if (!status) status = make_mesh(&o, transport);
    free_opening(&o);
    return status;
}
