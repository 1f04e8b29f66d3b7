#include "apps/mpicheck/judge.h"

#include "apps/mpicheck/tracker.h"
#include "apps/mpicheck/process.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { tick_ms = 50 };

static void receive_site(mpicheck_rank *rank, mpicheck_frame *frame)
{
    int number = (int)mpicheck_frame_get(frame);
    if (number < 1 || number > rank->nplaces + 1) return;
    if (number > rank->nplaces) {
        rank->places = realloc(rank->places, sizeof(*rank->places) * (size_t)number);
        if (!rank->places) abort();
        rank->nplaces = number;
    }
    mpicheck_place *place = &rank->places[number - 1];
    place->module = strdup(mpicheck_frame_get_text(frame));
    place->offset = (uint64_t)mpicheck_frame_get(frame);
    place->symbol = strdup(mpicheck_frame_get_text(frame));
}

static void receive_finding(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_report report = {0};
    int severity = (int)mpicheck_frame_get(frame);
    const char *call = mpicheck_frame_get_text(frame);
    int site = (int)mpicheck_frame_get(frame);
    const char *text = mpicheck_frame_get_text(frame);
    mpicheck_report_add(
        &report, "tutti-mpicheck: %s: rank %d: ", severity == 'E' ? "error" : "note", rank);
    if (call[0] != '\0') {
        mpicheck_report_add(&report, "%s at ", call);
        mpicheck_report_site(&report, judge, rank, site);
        mpicheck_report_add(&report, ": ");
    }
    mpicheck_report_add(&report, "%s", text);
    const char *other = mpicheck_frame_get_text(frame);
    if (other[0] != '\0') {
        mpicheck_report_add(&report, " of %s at ", other);
        mpicheck_report_site(&report, judge, rank, (int)mpicheck_frame_get(frame));
        mpicheck_report_add(&report, ", which is not complete");
    }
    mpicheck_report_add(&report, "\n");
    if (severity == 'E')
        mpicheck_report_error(judge, &report);
    else
        mpicheck_report_write(&report);
}

/* A rank leaves without MPI_Finalize. After MPI_Abort that is intended. */
static void receive_leave(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_report report = {0};
    judge->ranks[rank].state = MPICHECK_RANK_GONE;
    judge->epoch++;
    if (mpicheck_frame_get(frame) == 0) {
        judge->ended = true;
        return;
    }
    mpicheck_report_add(
        &report, "tutti-mpicheck: error: rank %d exits without calling MPI_Finalize\n", rank);
    mpicheck_report_error(judge, &report);
}

static void receive_collective(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_record *record = mpicheck_record_get(frame);
    if (record) mpicheck_tracker_collective(judge, rank, record);
}

static void hear(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_frame_kind kind = mpicheck_frame_kind_of(frame);
    /* After the first error only call sites are of interest: the rest are consequences. */
    if (judge->ended && kind != MPICHECK_FRAME_SITE) return;
    switch (kind) {
    case MPICHECK_FRAME_SITE:
        receive_site(&judge->ranks[rank], frame);
        break;
    case MPICHECK_FRAME_COMM:
        mpicheck_tracker_comm_joined(judge, rank, frame);
        break;
    case MPICHECK_FRAME_COLL:
        receive_collective(judge, rank, frame);
        break;
    case MPICHECK_FRAME_MESSAGE:
        mpicheck_tracker_message(judge, rank, frame);
        break;
    case MPICHECK_FRAME_BLOCKED:
        mpicheck_tracker_blocked(judge, rank, frame);
        break;
    case MPICHECK_FRAME_FREE:
        mpicheck_tracker_unblocked(judge, rank, mpicheck_frame_get(frame));
        break;
    case MPICHECK_FRAME_FINDING:
        receive_finding(judge, rank, frame);
        break;
    case MPICHECK_FRAME_LEAVE:
        receive_leave(judge, rank, frame);
        break;
    default:
        break;
    }
}

/* The connection has ended. Without a LEAVE before, the process has died; the launcher ends the others. */
static void lost(mpicheck_judge *judge, int rank)
{
    mpicheck_rank *r = &judge->ranks[rank];
    close(r->socket);
    r->socket = -1;
    r->output.length = r->output.at = 0;
    if (!judge->ended && r->state != MPICHECK_RANK_GONE) {
        mpicheck_report report = {0};
        mpicheck_report_add(&report, "tutti-mpicheck: error: rank %d has died", rank);
        if (r->last.site > 0) {
            mpicheck_report_add(&report, "; its last collective was %s at ", r->last.call);
            mpicheck_report_site(&report, judge, rank, r->last.site);
        }
        mpicheck_report_add(&report, "\n");
        mpicheck_report_error(judge, &report);
    }
    r->state = MPICHECK_RANK_GONE;
    judge->epoch++;
}

/* Accepts the connections that have shown the token. */
static void welcome(mpicheck_judge *judge)
{
    int one = 1, fd;
    int64_t rank;
    while ((fd = mpicheck_door_receive(&judge->door, &rank)) >= 0) {
        if (rank < 0 || rank >= judge->size || judge->ranks[rank].socket >= 0 ||
            judge->ranks[rank].state != MPICHECK_RANK_RUNS) {
            close(fd);
            continue;
        }
        mpicheck_frame frame = {0};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        judge->ranks[rank].socket = fd;
        mpicheck_frame_begin(&frame, MPICHECK_FRAME_WELCOME);
        mpicheck_frame_put(&frame, judge->answer);
        mpicheck_tracker_send(judge, (int)rank, &frame);
        mpicheck_frame_free(&frame);
    }
}

static void listen_to(mpicheck_judge *judge, int rank)
{
    mpicheck_rank *r = &judge->ranks[rank];
    mpicheck_frame frame;
    if (!mpicheck_frame_receive(&r->input, r->socket)) {
        lost(judge, rank);
        return;
    }
    while (mpicheck_frame_take(&r->input, &frame)) hear(judge, rank, &frame);
    mpicheck_frame_drop(&r->input);
    if (r->input.bad) lost(judge, rank);
}

/* Whether every rank has called MPI_Finalize; if so, all of them may leave. */
static bool all_finalize(mpicheck_judge *judge)
{
    mpicheck_frame frame = {0};
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state != MPICHECK_RANK_FINALIZES) return false;
    if (mpicheck_tracker_unmatched(judge)) return true;
    judge->ended = true;
    if (mpicheck_process_self()->verbose)
        fprintf(stderr, "tutti-mpicheck: no error in %llu collectives of %d ranks\n",
            (unsigned long long)judge->collectives, judge->size);
    mpicheck_frame_begin(&frame, MPICHECK_FRAME_END);
    mpicheck_frame_put(&frame, 0);
    mpicheck_tracker_send_all(judge, &frame);
    mpicheck_frame_free(&frame);
    return true;
}

static bool anyone_left(const mpicheck_judge *judge, int connected)
{
    if (connected < judge->size) return true;
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].socket >= 0) return true;
    return false;
}

/* Waits for input from ranks or at the door, and handles it; returns how many ranks have ever connected. */
static int receive_all(mpicheck_judge *judge, struct pollfd *lines)
{
    int connected = 0;
    for (int r = 0; r < judge->size; r++) {
        const mpicheck_rank *rank = &judge->ranks[r];
        lines[r] = (struct pollfd){.fd = rank->socket, .events = POLLIN};
        if (rank->output.length > 0) lines[r].events |= POLLOUT;
    }
    int strangers = mpicheck_door_poll(&judge->door, lines + judge->size);
    poll(lines, (nfds_t)(judge->size + strangers), tick_ms);
    for (int r = 0; r < judge->size; r++) {
        mpicheck_rank *rank = &judge->ranks[r];
        if (rank->socket >= 0 && (lines[r].revents & POLLOUT)) mpicheck_tracker_flush(rank);
        if (rank->socket >= 0 && (lines[r].revents & ~POLLOUT)) listen_to(judge, r);
    }
    welcome(judge);
    for (int r = 0; r < judge->size; r++)
        connected += judge->ranks[r].socket >= 0 || judge->ranks[r].state != MPICHECK_RANK_RUNS;
    return connected;
}

static void *run(void *with)
{
    mpicheck_judge *judge = with;
    struct pollfd *lines = calloc((size_t)judge->size + MPICHECK_DOOR_MOST + 1, sizeof(*lines));
    int connected = 0;
    if (!lines) abort();
    while (!judge->quits && anyone_left(judge, connected)) {
        connected = receive_all(judge, lines);
        if (connected == judge->size) mpicheck_door_close(&judge->door);
        if (judge->ended) continue;
        mpicheck_tracker_match_tick(judge);
        if (!all_finalize(judge)) mpicheck_tracker_hang_tick(judge);
    }
    free(lines);
    return NULL;
}

mpicheck_judge *mpicheck_judge_start(int listener, const mpicheck_card *card, int ranks)
{
    sigset_t all, before;
    mpicheck_judge *judge = calloc(1, sizeof(*judge));
    if (!judge) return NULL;
    mpicheck_door_open(&judge->door, listener, card->token);
    judge->answer = card->answer;
    judge->size = ranks;
    judge->ranks = calloc((size_t)ranks, sizeof(*judge->ranks));
    if (!judge->ranks) {
        free(judge);
        return NULL;
    }
    for (int r = 0; r < ranks; r++) judge->ranks[r] = (mpicheck_rank){.socket = -1, .threads = 1};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&judge->thread, NULL, run, judge);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) return judge;
    free(judge->ranks);
    free(judge);
    return NULL;
}

static void free_rank(mpicheck_rank *rank)
{
    if (rank->socket >= 0) close(rank->socket);
    for (int i = 0; i < rank->nplaces; i++) {
        free(rank->places[i].module);
        free(rank->places[i].symbol);
    }
    free(rank->places);
    while (rank->blocked_calls) {
        mpicheck_blocked_call *blocked = rank->blocked_calls;
        rank->blocked_calls = blocked->next;
        mpicheck_blocked_call_free(blocked);
    }
    mpicheck_frame_free(&rank->input);
    mpicheck_frame_free(&rank->output);
}

void mpicheck_judge_quit(mpicheck_judge *judge)
{
    if (judge) judge->quits = true;
    mpicheck_judge_join(judge);
}

void mpicheck_judge_join(mpicheck_judge *judge)
{
    if (!judge) return;
    pthread_join(judge->thread, NULL);
    for (int r = 0; r < judge->size; r++) free_rank(&judge->ranks[r]);
    mpicheck_tracker_comms_free(judge);
    mpicheck_tracker_messages_free(judge);
    mpicheck_door_close(&judge->door);
    free(judge->ranks);
    free(judge);
}
