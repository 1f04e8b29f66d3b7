/* The connections of an epoch: of two ranks, the one with the higher number connects to the door of the other, and says
 * which epoch it means. Or MPI has them. */
#include "designs/elastic/elastic_parts.h"

#include "collectives/transport/mesh.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <math.h>
#include <unistd.h>

static tutti_status fail_ended(int64_t epoch)
{
    return tutti_fail(
        TUTTI_ERR_COMM, "epoch %lld has ended before its ranks were connected", (long long)epoch);
}

static tutti_status await_data(tutti_elastic *e, int64_t from, double until_s, int *socket)
{
    const int64_t epoch = e->entered.epoch;
    const double left_s = until_s - tutti_clock_s();
    const struct timespec until = tutti_clock_after(left_s > 0 ? left_s : 0);
    tutti_status status = TUTTI_OK;
    pthread_mutex_lock(&e->lock);
    while (!status && (*socket = tutti_elastic_take_data(e, epoch, from)) < 0) {
        if (atomic_load(&e->broken))
            status = fail_ended(epoch);
        else if (pthread_cond_timedwait(&e->changed, &e->lock, &until))
            status = tutti_fail(TUTTI_ERR_TIMEOUT,
                "rank %lld has not connected for collectives within %g s", (long long)from,
                e->options.join_s);
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

static tutti_status connect_data(
    tutti_elastic *e, const tutti_membership_entry *to, double until_s, int *socket)
{
    static const double most_s = 2, pause_s = 10e-3;
    const int64_t epoch = e->entered.epoch;
    const tutti_elastic_words words = {.purpose = TUTTI_ELASTIC_DATA,
        .epoch = epoch,
        .to = to->id,
        .hello = tutti_elastic_hello(e)};
    char host[TUTTI_ELASTIC_HOST], why[TUTTI_CONNECTION_WHY];
    int port, later = 1;
    if (!tutti_elastic_address_read(to->address, host, &port))
        return tutti_fail(TUTTI_ERR_INVAL, "rank %lld has the address '%s', which is not HOST:PORT",
            (long long)to->id, to->address);
    while (!atomic_load(&e->broken)) {
        unsigned char bytes[TUTTI_TCP_WORDS_BYTES];
        const double left_s = until_s - tutti_clock_s();
        const tutti_tcp_call call = {.address = host,
            .port = port,
            .token = e->token,
            .timeout_s = fmax(0.1, fmin(left_s, most_s)),
            .stale = 1};
        tutti_elastic_words_write(&words, bytes);
        const tutti_status status = tutti_tcp_connect(&call, bytes, &later, why, socket);
        if (!status || !later) return status;
        if (left_s < 0)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "rank %lld was not reached for collectives within %g s: %s", (long long)to->id,
                e->options.join_s, why);
        tutti_clock_sleep(pause_s);
    }
    return fail_ended(epoch);
}

static tutti_status connect_ranks(
    tutti_elastic *e, int rank, double until_s, const tutti_membership *epoch, int socket[])
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < rank && !status; r++)
        status = connect_data(e, &epoch->entry[r], until_s, &socket[r]);
    for (int r = rank + 1; r < epoch->n && !status; r++)
        status = await_data(e, epoch->entry[r].id, until_s, &socket[r]);
    return status;
}

static tutti_status take_mpi(tutti_elastic *e, int lanes, tutti_transport **transport)
{
    const tutti_membership *epoch = &e->entered;
    int member[TUTTI_MEMBERSHIP_MOST];
    tutti_lasting_epoch over = {.epoch = epoch->epoch,
        .member = member,
        .size = epoch->n,
        .rank = tutti_elastic_rank(epoch, e->options.self.id),
        .lanes = lanes,
        .broken = &e->broken};
    for (int r = 0; r < epoch->n; r++) member[r] = (int)epoch->entry[r].id;
    return tutti_lasting_transport(e->options.lasting, &over, transport);
}

tutti_status tutti_elastic_mesh(tutti_elastic *e, int lanes, tutti_transport **mesh)
{
    if (e->options.lasting) return take_mpi(e, lanes, mesh);
    const tutti_membership *epoch = &e->entered;
    int socket[TUTTI_MEMBERSHIP_MOST];
    const int rank = tutti_elastic_rank(epoch, e->options.self.id);
    const tutti_mesh_sockets options = {.rank = rank,
        .size = epoch->n,
        .lanes = lanes,
        .socket = socket,
        .until_s = tutti_clock_s() + e->options.join_s,
        .broken = &e->broken};
    for (int r = 0; r < epoch->n; r++) socket[r] = -1;
    const tutti_status status = connect_ranks(e, rank, options.until_s, epoch, socket);
    if (!status) return tutti_transport_mesh_sockets(&options, mesh);
    for (int r = 0; r < epoch->n; r++)
        if (socket[r] >= 0) close(socket[r]);
    return status;
}
