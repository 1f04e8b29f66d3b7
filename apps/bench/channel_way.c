#include "apps/bench/channel_way.h"

#include "collectives/transport/fabric.h"
#include "collectives/transport/mesh.h"
#include "collectives/transport/tcp.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SENDER, RECEIVER, RANKS, LINE = 64, MESSAGE_TAG = 0, ANSWER_TAG = 1 };

static const char *const names[TUTTI_CHANNEL_KINDS] = {
    "shm", "tcp", "fabric", "mpi", "rpc", "shm, written there"};
static const char *const words[TUTTI_CHANNEL_USES] = {"hand", "read"};

/* ---- opening and closing ---- */

/* A connection over loopback between the two, whatever interfaces there are. */
static tutti_status connect_socket(tutti_world *world, int *socket)
{
    static const char address[] = "127.0.0.1", token[] = "tutti-bench channel";
    unsigned char greeting[TUTTI_TCP_WORDS_BYTES] = {0}, answer[TUTTI_TCP_WORDS_BYTES] = {0};
    char why[TUTTI_CONNECTION_WHY], from[TUTTI_TCP_NAME];
    const double until_s = tutti_clock_s() + world->timeout_s;
    tutti_tcp_listener *listener = NULL;
    int port = 0, later;
    tutti_status status = TUTTI_OK;
    *socket = -1;
    if (world->boot.rank == SENDER) status = tutti_tcp_listener_open(address, 0, token, &listener);
    if (listener) port = tutti_tcp_listener_port(listener);
    status = tutti_world_agree(world, status);
    if (!status) status = tutti_world_share(world, &port, sizeof port);
    if (!status && world->boot.rank == RECEIVER)
        status = tutti_tcp_connect(
            &(tutti_tcp_call){
                .address = address, .port = port, .token = token, .timeout_s = world->timeout_s},
            greeting, &later, why, socket);
    while (!status && listener && *socket < 0) {
        *socket = tutti_tcp_listener_accept(listener, greeting, from);
        if (*socket >= 0 && !tutti_tcp_answer(*socket, TUTTI_TCP_WELCOME, answer)) {
            close(*socket);
            *socket = -1;
        }
        if (*socket < 0 && tutti_clock_s() > until_s)
            status = tutti_fail(TUTTI_ERR_TIMEOUT, "rank 1 has not connected");
    }
    tutti_tcp_listener_close(listener);
    return tutti_world_agree(world, status);
}

static tutti_status open_network(tutti_interconnect **network)
{
    return tutti_fabric_open(NULL, network);
}

/* Over loopback: a mesh would use shared memory. */
static tutti_status open_socket(tutti_world *world, int over_fabric, tutti_transport **transport)
{
    const int rank = world->boot.rank;
    tutti_connection *peer[RANKS] = {NULL};
    tutti_interconnect *network = NULL;
    int socket = -1;
    tutti_status status = over_fabric ? open_network(&network) : TUTTI_OK;
    status = tutti_world_agree(world, status);
    if (!status) status = connect_socket(world, &socket);
    if (status && socket >= 0) close(socket);
    if (!status) status = tutti_mesh_connect_socket(network, socket, &peer[!rank]);
    if (status) {
        if (network) network->ops->close(network);
        return status;
    }
    const tutti_mesh_options options = {
        .rank = rank, .size = RANKS, .lanes = 1, .peer = peer, .network = network};
    return tutti_transport_mesh(&options, transport);
}

static tutti_status open_transport(
    tutti_world *world, tutti_channel_kind kind, int far, tutti_transport **transport)
{
    const tutti_transport_options waits = {.timeout_s = world->timeout_s};
    const int over_fabric = kind == TUTTI_CHANNEL_FABRIC;
    if (!far && (kind == TUTTI_CHANNEL_TCP || over_fabric))
        return open_socket(world, over_fabric, transport);
    tutti_status status = tutti_transport_mpi(world->boot.comm, 1, transport);
    if (status || kind == TUTTI_CHANNEL_MPI) return status;
    return tutti_transport_mesh_with(transport, &waits, over_fabric ? open_network : NULL);
}

/* What is received is in the memory that the transport has for it, as the tensors of a run are. */
static tutti_status take_memory(const tutti_world *world, tutti_channel_way *way, size_t bytes)
{
    const tutti_transport_ops *ops = way->transport->ops;
    void *memory = NULL;
    way->placed = world->boot.rank == RECEIVER && ops->take_memory &&
                  ops->take_memory(way->transport, bytes, &memory) == TUTTI_OK;
    way->message = way->placed ? memory : tutti_mem_aligned(bytes);
    way->tensor = way->is_rpc ? tutti_mem_aligned(bytes) : way->message;
    if (way->message && way->tensor) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a tensor of %zu bytes", bytes);
}

const char *tutti_channel_way_lacks(tutti_channel_kind kind, int far)
{
    const int between_hosts = kind >= TUTTI_CHANNEL_TCP && kind <= TUTTI_CHANNEL_MPI;
    if (far && !between_hosts) return "it is shared memory";
    return kind == TUTTI_CHANNEL_FABRIC ? tutti_fabric_lacks() : NULL;
}

tutti_status tutti_channel_way_open(
    tutti_world *world, tutti_channel_kind kind, int far, size_t bytes, tutti_channel_way *way)
{
    *way = (tutti_channel_way){.far = far,
        .is_rpc = kind == TUTTI_CHANNEL_RPC,
        .is_written_there = kind == TUTTI_CHANNEL_WRITTEN_THERE};
    snprintf(way->name, sizeof way->name, "%s", names[kind]);
    tutti_status status = open_transport(world, kind, far, &way->transport);
    if (!status) status = take_memory(world, way, bytes);
    return tutti_world_agree(world, status);
}

tutti_status tutti_channel_way_start(
    tutti_world *world, const char *command, tutti_channel_way *way)
{
    *way = (tutti_channel_way){0};
    tutti_status status = TUTTI_OK;
    if (world->boot.rank == SENDER)
        status = tutti_peer_start(command, world->timeout_s, &way->program);
    if (way->program) snprintf(way->name, sizeof way->name, "%s", tutti_peer_about(way->program));
    return tutti_world_agree(world, status);
}

enum { MOST_ADDRESSES = 8 };

/* The addresses of this host but loopback, IPv4 as numbers; 0: no more. */
static void find_addresses(double address[MOST_ADDRESSES])
{
    struct ifaddrs *list = NULL;
    int count = 0;
    if (getifaddrs(&list)) return;
    for (const struct ifaddrs *i = list; i && count < MOST_ADDRESSES; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
            !(i->ifa_flags & IFF_LOOPBACK))
            address[count++] =
                (double)ntohl(((const struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr);
    freeifaddrs(list);
}

/* As gRPC writes where a server is. */
static void write_target(const double address[], int port, char *target, size_t room)
{
    size_t at = 0;
    for (int i = 0; i < MOST_ADDRESSES && address[i] > 0 && at < room; i++) {
        char name[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &(struct in_addr){htonl((uint32_t)address[i])}, name, sizeof name);
        at += (size_t)snprintf(target + at, room - at, "%s%s:%d", i ? "," : "ipv4:", name, port);
    }
}

tutti_status tutti_channel_way_start_far(
    tutti_world *world, const char *program, tutti_channel_way *way)
{
    char target[512] = "", command[PATH_MAX + sizeof target];
    const int serves = world->boot.rank == RECEIVER;
    double place[1 + MOST_ADDRESSES] = {0}; /* rank 1's port and addresses */
    tutti_status status = TUTTI_OK;
    *way = (tutti_channel_way){.far = 1};
    snprintf(command, sizeof command, "exec '%s' serve 0.0.0.0:0", program);
    if (serves) {
        status = tutti_peer_start(command, world->timeout_s, &way->program);
        if (!status) place[0] = tutti_peer_number(way->program, "port");
        find_addresses(place + 1);
    }
    status = tutti_world_agree(world, status);
    if (!status) status = tutti_world_max(world, 1 + MOST_ADDRESSES, place);
    write_target(place + 1, (int)place[0], target, sizeof target);
    snprintf(command, sizeof command, "exec '%s' '%s'", program, target);
    if (!serves && !status) status = tutti_peer_start(command, world->timeout_s, &way->program);
    if (!status) snprintf(way->name, sizeof way->name, "%s", tutti_peer_about(way->program));
    way->name[strcspn(way->name, ",")] = 0;
    return tutti_world_agree(world, status);
}

void tutti_channel_way_close(tutti_channel_way *way)
{
    tutti_transport *t = way->transport;
    if (way->is_rpc) free(way->tensor);
    if (way->placed)
        t->ops->give_memory(t, way->message);
    else
        free(way->message);
    tutti_transport_close(t);
    tutti_peer_stop(way->program);
    *way = (tutti_channel_way){0};
}

/* ---- rounds ---- */

/* As a communication thread does between hosts. */
static void rest(tutti_transport *t)
{
    static const double nap_s = 50e-6, longest_s = 4e-3;
    pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    if (!t->ops->wait)
        tutti_clock_sleep(nap_s);
    else
        (void)t->ops->wait(t, &alone, longest_s);
}

/* As tutti_world_spin: a yield takes as long as a short message. */
static tutti_status spin(
    const tutti_world *world, const tutti_channel_way *way, tutti_message *message)
{
    tutti_transport *t = way->transport;
    enum { POLLS_BEFORE_YIELD = 16, YIELDS_BEFORE_CLOCK = 64 };
    const double until_s = tutti_clock_s() + world->timeout_s;
    tutti_status status = TUTTI_OK;
    const int polls_before_rest = t->ops->wait ? 0 : POLLS_BEFORE_YIELD;
    int done = !message;
    for (int polls = 1; !done && !status; polls++) {
        status = t->ops->test(t, message, &done);
        if (way->far && !done && polls > polls_before_rest) rest(t);
        if (polls % POLLS_BEFORE_YIELD) continue;
        sched_yield();
        if (polls % (POLLS_BEFORE_YIELD * YIELDS_BEFORE_CLOCK) == 0 && tutti_clock_s() > until_s)
            return tutti_fail(
                TUTTI_ERR_TIMEOUT, "a message has not arrived within %g s", world->timeout_s);
    }
    return status;
}

/* As a kernel would: each cache line is written. */
static void make_anew(unsigned char *tensor, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE) tensor[i]++;
}

/* Makes the tensor, in rank 1's memory once that has posted its receive. Small ones have no such memory. */
static tutti_status write_there(const tutti_world *world, tutti_transport *t,
    const unsigned char *input, size_t bytes, int *wrote)
{
    const double until_s = tutti_clock_s() + world->timeout_s;
    void *there = NULL;
    *wrote = 0;
    if (!t->ops->claim || bytes <= t->small_bytes) return TUTTI_OK;
    while (!(there = t->ops->claim(t, 0, RECEIVER, MESSAGE_TAG, bytes)))
        if (tutti_clock_s() > until_s)
            return tutti_fail(
                TUTTI_ERR_TIMEOUT, "rank 1 has no shared memory for %zu bytes", bytes);
    memcpy(there, input, bytes);
    *wrote = 1;
    return TUTTI_OK;
}

static tutti_status send_tensor(
    const tutti_world *world, tutti_channel_way *way, size_t bytes, int is_checked)
{
    tutti_transport *t = way->transport;
    tutti_message *sent = NULL, *answered = NULL;
    uint64_t answer;
    int wrote = 0;
    tutti_status status =
        t->ops->irecv(t, 0, RECEIVER, ANSWER_TAG, &answer, sizeof answer, &answered);
    if (!status && way->is_written_there)
        status = write_there(world, t, way->tensor, bytes, &wrote);
    if (status) return status;
    if (!wrote && !is_checked && !way->far) make_anew(way->tensor, bytes);
    const double begun_s = tutti_clock_s();
    if (way->is_rpc) memcpy(way->message, way->tensor, bytes);
    if (wrote) t->ops->wrote(t, 0, RECEIVER, MESSAGE_TAG);
    status = t->ops->isend(t, 0, RECEIVER, MESSAGE_TAG, way->message, bytes, &sent);
    if (!status) status = spin(world, way, sent);
    if (!status) status = spin(world, way, answered);
    way->took_s += tutti_clock_s() - begun_s;
    return status;
}

static uint64_t read_lines(const unsigned char *data, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i += LINE) sum += data[i];
    return sum;
}

static tutti_status post_receive(tutti_channel_way *way, size_t bytes, tutti_message **message)
{
    tutti_transport *t = way->transport;
    *message = NULL;
    return t->ops->irecv(t, 0, SENDER, MESSAGE_TAG, way->message, bytes, message);
}

/* The next receive is posted before the answer: its sender knows where it goes. */
static tutti_status receive_tensors(const tutti_world *world, tutti_channel_way *way, size_t bytes,
    tutti_channel_use use, int64_t rounds)
{
    tutti_transport *t = way->transport;
    tutti_message *message, *sent;
    tutti_status status = post_receive(way, bytes, &message);
    for (int64_t i = 1; i <= rounds && !status; i++) {
        uint64_t answer = 0;
        status = spin(world, way, message);
        if (!status && way->is_rpc) memcpy(way->tensor, way->message, bytes);
        if (!status && use == TUTTI_CHANNEL_READ) answer = read_lines(way->tensor, bytes);
        if (!status && i < rounds) status = post_receive(way, bytes, &message);
        sent = NULL;
        if (!status)
            status = t->ops->isend(t, 0, SENDER, ANSWER_TAG, &answer, sizeof answer, &sent);
        if (!status) status = spin(world, way, sent);
    }
    return status;
}

/* is_checked: the tensor stays as it is. */
static tutti_status run_rounds(const tutti_world *world, tutti_channel_way *way, size_t bytes,
    tutti_channel_use use, int64_t rounds, int is_checked)
{
    pthread_mutex_t *lock = way->transport->lock;
    tutti_status status = TUTTI_OK;
    if (lock) pthread_mutex_lock(lock);
    if (world->boot.rank == RECEIVER) status = receive_tensors(world, way, bytes, use, rounds);
    for (int64_t i = 0; i < rounds && world->boot.rank == SENDER && !status; i++)
        status = send_tensor(world, way, bytes, is_checked);
    if (lock) pthread_mutex_unlock(lock);
    return status;
}

/* Rank 0 asks its program; rank 1 sleeps. Between hosts, cpu_s is that of both programs. */
static tutti_status ask_program(const tutti_world *world, tutti_channel_way *way, size_t bytes,
    const char *how, int64_t rounds, double *round_s)
{
    char request[64];
    *round_s = 0;
    if (world->boot.rank != SENDER) return TUTTI_OK;
    snprintf(request, sizeof request, "%zu %" PRId64 " %s", bytes, rounds, how);
    tutti_status status = tutti_peer_ask(way->program, request, world->timeout_s, round_s);
    if (!status) way->cpu_s = tutti_peer_block_number(way->program, "cpu_s");
    return status;
}

static double used_cpu_s(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used)) return 0;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

tutti_status tutti_channel_way_time(tutti_world *world, tutti_channel_way *way, size_t bytes,
    tutti_channel_use use, int64_t rounds, double *round_s)
{
    tutti_status status = tutti_world_barrier(world);
    if (status) return status;
    const double begun_s = tutti_clock_s();
    if (!way->transport) {
        status = ask_program(world, way, bytes, words[use], rounds, round_s);
    } else {
        const double cpu_s = used_cpu_s();
        double cpu[RANKS] = {0};
        way->took_s = 0;
        status = run_rounds(world, way, bytes, use, rounds, 0);
        cpu[world->boot.rank] = (used_cpu_s() - cpu_s) / (double)rounds;
        if (!status) status = tutti_world_max(world, RANKS, cpu);
        way->cpu_s = cpu[SENDER] + cpu[RECEIVER];
        *round_s = way->took_s / (double)rounds;
    }
    double all[] = {*round_s, (tutti_clock_s() - begun_s) / (double)rounds};
    if (!status) status = tutti_world_max(world, 2, all);
    *round_s = all[0];
    way->whole_s = all[1];
    return status;
}

/* ---- checking ---- */

static unsigned char byte_of(size_t i)
{
    return (unsigned char)(i * 7 + i / 251 + 1);
}

tutti_status tutti_channel_way_check(tutti_world *world, tutti_channel_way *way, size_t bytes)
{
    double ignored_s;
    tutti_status status = TUTTI_OK;
    const int receives = world->boot.rank == RECEIVER;
    if (!way->transport) {
        status = ask_program(world, way, bytes, "check", 1, &ignored_s);
        return tutti_world_agree(world, status);
    }
    for (size_t i = 0; i < bytes; i++) way->tensor[i] = receives ? 0 : byte_of(i);
    status = run_rounds(world, way, bytes, TUTTI_CHANNEL_HAND, 1, 1);
    for (size_t i = 0; i < bytes && receives && !status; i++)
        if (way->tensor[i] != byte_of(i))
            status = tutti_fail(TUTTI_ERR_INTERNAL, "%s: byte %zu of %zu is %u, not %u", way->name,
                i, bytes, way->tensor[i], byte_of(i));
    return tutti_world_agree(world, status);
}
