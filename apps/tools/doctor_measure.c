/* Measures what messages between ranks take, and what a rank does itself. */
#include "apps/tools/doctor_links.h"
#include "collectives/buf/buf.h"
#include "collectives/transport/gather.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "dag/base/cpus.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/mem.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TURNS = 41,            /* of what is short; the median counts */
    RATE_TURNS = 5,        /* of what is long; the median */
    LEAST_BYTES = 1 << 16, /* of what is long; then twice as many, until it takes long enough */
    MOST_BYTES = 1 << 25,
    OWN_BYTES = 1 << 22 /* of vectors that a rank copies and adds up */
};
static const double enough_s = 0.15;

/* This rank's side of a measurement. */
typedef struct side {
    tutti_transport *t;
    double timeout_s;
    char *out, *in; /* [MOST_BYTES] */
} side;

/* A message that is under way, or has ended at once. */
static tutti_status await(const side *s, tutti_message *message, int peer)
{
    const double since = tutti_clock_s();
    int done = !message;
    while (!done) {
        pthread_mutex_lock(s->t->lock);
        tutti_status status = s->t->ops->test(s->t, message, &done);
        pthread_mutex_unlock(s->t->lock);
        if (status) return status;
        if (!done && tutti_clock_s() - since > s->timeout_s)
            return tutti_fail(
                TUTTI_ERR_TIMEOUT, "rank %d has not answered within %g s", peer, s->timeout_s);
        if (!done) sched_yield();
    }
    return TUTTI_OK;
}

/* Starts a message of these bytes of out or in. */
static tutti_status start_message(
    const side *s, int sends, int peer, size_t from, size_t bytes, tutti_message **message)
{
    pthread_mutex_lock(s->t->lock);
    tutti_status status = sends ? s->t->ops->isend(s->t, 0, peer, 0, s->out + from, bytes, message)
                                : s->t->ops->irecv(s->t, 0, peer, 0, s->in + from, bytes, message);
    pthread_mutex_unlock(s->t->lock);
    return status;
}

static tutti_status pass_message(const side *s, int sends, int peer, size_t bytes)
{
    tutti_message *message;
    tutti_status status = start_message(s, sends, peer, 0, bytes, &message);
    return status ? status : await(s, message, peer);
}

/* A short message there and back; *took: half of that. */
static tutti_status round_trip(const side *s, int leads, int peer, double *took)
{
    double x[TURNS];
    for (int i = 0; i < TURNS; i++) {
        const double since = tutti_clock_s();
        tutti_status status = pass_message(s, leads, peer, 8);
        if (!status) status = pass_message(s, !leads, peer, 8);
        if (status) return status;
        x[i] = (tutti_clock_s() - since) / 2;
    }
    *took = tutti_median(TURNS, x);
    return TUTTI_OK;
}

/* What a short message takes of the sender's and of the receiver's time: it has arrived when it is looked for. */
static tutti_status own_time(const side *s, int leads, int peer, tutti_measure *m)
{
    const double pause_s = 300e-6;
    double sent[TURNS], received[TURNS];
    tutti_message *out, *in;
    for (int i = 0; i < TURNS; i++) {
        tutti_status status = start_message(s, 0, peer, 0, 8, &in);
        double since = tutti_clock_s();
        if (!status) status = start_message(s, 1, peer, 0, 8, &out);
        sent[i] = tutti_clock_s() - since;
        if (status) return status;
        tutti_clock_sleep(pause_s);
        since = tutti_clock_s();
        status = await(s, in, peer);
        received[i] = tutti_clock_s() - since;
        if (!status) status = await(s, out, peer);
        /* Both begin the next turn together. */
        if (!status) status = pass_message(s, leads, peer, 8);
        if (!status) status = pass_message(s, !leads, peer, 8);
        if (status) return status;
    }
    m->send_s = tutti_median(TURNS, sent);
    m->recv_s = tutti_median(TURNS, received);
    return TUTTI_OK;
}

/* Both send pieces, some of them at a time: with more, all would arrive together at the end; with fewer, links would
 * wait for the next. */
enum { PIECES = 64, AT_A_TIME = 8 };

/* How long what came in took: a piece, and all of it. */
typedef struct arrival {
    double piece_s, all_s;
} arrival;

/* Of the pieces that are neither latency nor what an idle link takes in at once, from each in the second quarter on to
 * the last: the longest, because a rank that did not run has seen too late what had arrived meanwhile. */
static double longest_piece(const double since[PIECES], double end)
{
    double longest = 0;
    for (int i = PIECES / 4; i <= PIECES / 2; i++) {
        const double piece = (end - since[i]) / (PIECES - i);
        if (piece > longest) longest = piece;
    }
    return longest;
}

static tutti_status send_pieces(const side *s, int peer, size_t bytes, arrival *arrived)
{
    tutti_message *out[PIECES], *in[PIECES];
    const size_t piece = bytes / PIECES;
    double since[PIECES];
    int started = 0;
    tutti_status status = TUTTI_OK;
    for (int i = 0; !status && i < PIECES; i++) {
        for (; !status && started < PIECES && started < i + AT_A_TIME; started++) {
            const size_t from = (size_t)started * piece;
            status = start_message(s, 0, peer, from, piece, &in[started]);
            if (!status) status = start_message(s, 1, peer, from, piece, &out[started]);
        }
        since[i] = tutti_clock_s();
        if (!status) status = await(s, in[i], peer);
        if (!status) status = await(s, out[i], peer);
    }
    if (status) return status;
    const double end = tutti_clock_s();
    *arrived = (arrival){longest_piece(since, end), end - since[0]};
    return TUTTI_OK;
}

/* The same from a common beginning, as the leader sees it. */
static tutti_status send_together(
    const side *s, int leads, int peer, size_t bytes, arrival *arrived)
{
    tutti_status status = pass_message(s, leads, peer, 8);
    if (!status) status = pass_message(s, !leads, peer, 8);
    if (!status) status = send_pieces(s, peer, bytes, arrived);
    if (status) return status;
    memcpy(s->out, arrived, sizeof *arrived);
    status = pass_message(s, leads, peer, sizeof *arrived);
    if (!status && !leads) memcpy(arrived, s->in, sizeof *arrived);
    return status;
}

/* The median of some turns, with as many bytes as take long enough. */
static tutti_status both_ways(const side *s, int leads, int peer, double *bytes_per_s)
{
    double rate[RATE_TURNS];
    int turns = 0;
    for (size_t bytes = LEAST_BYTES; turns < RATE_TURNS;) {
        arrival arrived;
        tutti_status status = send_together(s, leads, peer, bytes, &arrived);
        if (status) return status;
        if (turns || arrived.all_s >= enough_s || bytes >= MOST_BYTES)
            rate[turns++] = (double)bytes / PIECES / arrived.piece_s;
        else
            bytes *= 2;
    }
    *bytes_per_s = tutti_median(turns, rate);
    return TUTTI_OK;
}

static void measure_own(const side *s, tutti_measure *m)
{
    const size_t bytes = OWN_BYTES;
    double best_copy = 1e9, best_sum = 1e9;
    for (int turn = 0; turn < 5; turn++) {
        double since = tutti_clock_s();
        tutti_buf_copy(s->out, s->in, bytes);
        double took = tutti_clock_s() - since;
        if (took < best_copy) best_copy = took;
        since = tutti_clock_s();
        tutti_buf_reduce(TUTTI_F32, TUTTI_SUM, s->out, s->in, (int64_t)(bytes / sizeof(float)), 0);
        took = tutti_clock_s() - since;
        if (took < best_sum) best_sum = took;
    }
    m->copy = (double)bytes / best_copy;
    m->reduce = (double)bytes / best_sum;
}

/* Whom this one of n meets in a round of n - 1 (n odd: n), in which all have a partner if n is even; -1: no one. */
static int partner(int n, int round, int mine)
{
    const int even = n + n % 2, last = even - 1;
    int other;
    if (mine == last)
        other = round * (even / 2) % last; /* twice that is round, modulo last */
    else {
        other = (round - mine + last) % last;
        if (other == mine) other = last;
    }
    return other < n ? other : -1;
}

static int rounds_of(int n)
{
    return n < 2 ? 0 : n + n % 2 - 1;
}

/* Its own number among the ranks of its host, how many there are, and the rank of one of them. */
static int rank_on_host(const tutti_measures *m, int host, int index)
{
    for (int r = 0; r < m->ranks; r++)
        if (m->host[r] == host && index-- == 0) return r;
    return -1;
}

/* Gathers the hosts' names, and numbers the hosts. */
static tutti_status find_hosts(const side *s, tutti_measures *m)
{
    tutti_measure mine = {.cores = 0};
    const tutti_cpus allowed = tutti_cpus_allowed();
    mine.cores = tutti_cpus_count(&allowed);
    if (gethostname(mine.host, sizeof mine.host - 1)) mine.host[0] = '\0';
    tutti_status status = tutti_transport_gather(s->t, &mine, sizeof mine, m->rank, s->timeout_s);
    for (int r = 0; !status && r < m->ranks; r++) {
        int first = 0;
        while (s->t->host && s->t->host[first] != s->t->host[r]) first++;
        m->host[r] = first == r ? m->hosts++ : m->host[first];
    }
    return status;
}

static tutti_status measure_pair(
    const side *s, int leads, int peer, tutti_measure *mine, tutti_way *found)
{
    tutti_status status = round_trip(s, leads, peer, &found->time_s);
    if (!status) status = own_time(s, leads, peer, mine);
    if (!status) status = both_ways(s, leads, peer, &found->bytes_per_s);
    return status;
}

/* All pairs of a host's ranks with neighbouring numbers at once. */
static tutti_status measure_memory(const side *s, const tutti_measures *m, tutti_measure *mine)
{
    const int host = m->host[s->t->rank];
    int index = 0;
    while (rank_on_host(m, host, index) != s->t->rank) index++;
    const int peer = rank_on_host(m, host, index ^ 1);
    tutti_way found;
    if (peer < 0) return TUTTI_OK;
    tutti_status status = measure_pair(s, index % 2 == 0, peer, mine, &found);
    mine->memory = found.bytes_per_s; /* each of the two counts what it sends */
    return status;
}

static tutti_status measure_all(
    const side *s, void (*enter)(void *, const char *), void *ctx, tutti_measures *m)
{
    const int rank = s->t->rank, host = m->host[rank], speaks = rank_on_host(m, host, 0) == rank;
    tutti_measure mine = m->rank[rank];
    tutti_way *row = calloc((size_t)m->hosts, sizeof *row), *rows = NULL;
    if (!row) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d hosts", m->hosts);
    if (enter) enter(ctx, "measuring messages within hosts");
    tutti_status status = measure_memory(s, m, &mine);
    for (int round = 0; !status && round < rounds_of(m->hosts); round++) {
        const int other = speaks ? partner(m->hosts, round, host) : -1;
        if (enter) enter(ctx, "measuring messages between hosts");
        char all[m->ranks], done = 1;
        if (other >= 0)
            status = measure_pair(s, host < other, rank_on_host(m, other, 0), &mine, &row[other]);
        if (!status) status = tutti_transport_gather(s->t, &done, 1, all, s->timeout_s);
    }
    if (!status) measure_own(s, &mine);
    if (!status) status = tutti_transport_gather(s->t, &mine, sizeof mine, m->rank, s->timeout_s);
    const size_t bytes = (size_t)m->hosts * sizeof *row;
    if (!status && !(rows = malloc((size_t)m->ranks * bytes)))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the ways of %d hosts", m->hosts);
    if (!status) status = tutti_transport_gather(s->t, row, bytes, rows, s->timeout_s);
    for (int h = 0; !status && h < m->hosts; h++)
        memcpy(&m->way[(size_t)h * (size_t)m->hosts],
            &rows[(size_t)rank_on_host(m, h, 0) * (size_t)m->hosts], bytes);
    free(row);
    free(rows);
    return status;
}

tutti_status tutti_doctor_measure(const tutti_boot *boot, double timeout_s,
    void (*enter)(void *ctx, const char *stage), void *ctx, tutti_measures *m)
{
    side s = {.timeout_s = timeout_s};
    const size_t ranks = (size_t)boot->size;
    *m = (tutti_measures){.ranks = boot->size};
    if (boot->size < 2)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--measure needs two ranks at least: tutti-run -n 2 tutti-doctor --measure FILE");
    tutti_status status = tutti_transport_mpi(boot->comm, 1, &s.t);
    if (status) return status;
    m->host = calloc(ranks, sizeof *m->host);
    m->rank = calloc(ranks, sizeof *m->rank);
    s.out = tutti_mem_aligned(MOST_BYTES);
    s.in = tutti_mem_aligned(MOST_BYTES);
    if (!m->host || !m->rank || !s.out || !s.in)
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for messages of %d bytes", MOST_BYTES);
    if (!status) status = find_hosts(&s, m);
    if (!status && !(m->way = calloc((size_t)m->hosts * (size_t)m->hosts, sizeof *m->way)))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the ways of %d hosts", m->hosts);
    if (!status) status = measure_all(&s, enter, ctx, m);
    free(s.out);
    free(s.in);
    tutti_transport_close(s.t);
    if (status) tutti_measures_free(m);
    return status;
}

void tutti_measures_free(tutti_measures *m)
{
    free(m->host);
    free(m->rank);
    free(m->way);
    *m = (tutti_measures){.ranks = 0};
}
