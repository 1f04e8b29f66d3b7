#include "apps/check/judge.h"

#include "apps/check/court.h"
#include "apps/check/process.h"

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

static void hear_site(tutti_rank *rank, tutti_frame *frame)
{
    int number = (int)tutti_frame_get(frame);
    if (number < 1 || number > rank->nplaces + 1) return;
    if (number > rank->nplaces) {
        rank->places = realloc(rank->places, sizeof(*rank->places) * (size_t)number);
        if (!rank->places) abort();
        rank->nplaces = number;
    }
    tutti_place *place = &rank->places[number - 1];
    place->module = strdup(tutti_frame_get_text(frame));
    place->offset = (uint64_t)tutti_frame_get(frame);
    place->symbol = strdup(tutti_frame_get_text(frame));
}

static void hear_finding(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_report report = {0};
    int severity = (int)tutti_frame_get(frame);
    const char *call = tutti_frame_get_text(frame);
    int site = (int)tutti_frame_get(frame);
    const char *text = tutti_frame_get_text(frame);
    tutti_report_add(
        &report, "tutti-check: %s: rank %d: ", severity == 'E' ? "error" : "note", rank);
    if (call[0] != '\0') {
        tutti_report_add(&report, "%s at ", call);
        tutti_report_site(&report, judge, rank, site);
        tutti_report_add(&report, ": ");
    }
    tutti_report_add(&report, "%s\n", text);
    if (severity == 'E')
        tutti_report_error(judge, &report);
    else
        tutti_report_write(&report);
}

/* A rank that leaves without MPI_Finalize. After MPI_Abort that is what was asked for. */
static void hear_leave(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_report report = {0};
    judge->ranks[rank].state = TUTTI_RANK_GONE;
    judge->epoch++;
    if (tutti_frame_get(frame) == 0) {
        judge->ended = true;
        return;
    }
    tutti_report_add(
        &report, "tutti-check: error: rank %d ends without having called MPI_Finalize\n", rank);
    tutti_report_error(judge, &report);
}

static void hear_collective(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_record *record = tutti_record_get(frame);
    if (record) tutti_court_collective(judge, rank, record);
}

static void hear(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_frame_kind kind = tutti_frame_kind_of(frame);
    /* After the first error only places are of interest: what follows is the fall. */
    if (judge->ended && kind != TUTTI_FRAME_SITE) return;
    switch (kind) {
    case TUTTI_FRAME_SITE:
        hear_site(&judge->ranks[rank], frame);
        break;
    case TUTTI_FRAME_COMM:
        tutti_court_comm_joined(judge, rank, frame);
        break;
    case TUTTI_FRAME_COLL:
        hear_collective(judge, rank, frame);
        break;
    case TUTTI_FRAME_MESSAGE:
        tutti_court_message(judge, rank, frame);
        break;
    case TUTTI_FRAME_BLOCKED:
        tutti_court_blocked(judge, rank, frame);
        break;
    case TUTTI_FRAME_FREE:
        tutti_court_unblocked(judge, rank, tutti_frame_get(frame));
        break;
    case TUTTI_FRAME_FINDING:
        hear_finding(judge, rank, frame);
        break;
    case TUTTI_FRAME_LEAVE:
        hear_leave(judge, rank, frame);
        break;
    default:
        break;
    }
}

/* The line has ended. Without a word before, the process has died; the launcher ends the others. */
static void lost(tutti_judge *judge, int rank)
{
    tutti_rank *r = &judge->ranks[rank];
    close(r->socket);
    r->socket = -1;
    r->output.length = r->output.at = 0;
    if (!judge->ended && r->state != TUTTI_RANK_GONE) {
        tutti_report report = {0};
        tutti_report_add(&report, "tutti-check: error: rank %d has died", rank);
        if (r->last.site > 0) {
            tutti_report_add(&report, "; its last collective was %s at ", r->last.call);
            tutti_report_site(&report, judge, rank, r->last.site);
        }
        tutti_report_add(&report, "\n");
        tutti_report_error(judge, &report);
    }
    r->state = TUTTI_RANK_GONE;
    judge->epoch++;
}

/* Takes the lines that have shown the token. */
static void welcome(tutti_judge *judge)
{
    int one = 1, fd;
    int64_t rank;
    while ((fd = tutti_door_hear(&judge->door, &rank)) >= 0) {
        if (rank < 0 || rank >= judge->size || judge->ranks[rank].socket >= 0 ||
            judge->ranks[rank].state != TUTTI_RANK_RUNS) {
            close(fd);
            continue;
        }
        tutti_frame frame = {0};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        judge->ranks[rank].socket = fd;
        tutti_frame_begin(&frame, TUTTI_FRAME_WELCOME);
        tutti_frame_put(&frame, judge->answer);
        tutti_court_send(judge, (int)rank, &frame);
        tutti_frame_free(&frame);
    }
}

static void listen_to(tutti_judge *judge, int rank)
{
    tutti_rank *r = &judge->ranks[rank];
    tutti_frame frame;
    if (!tutti_frame_receive(&r->input, r->socket)) {
        lost(judge, rank);
        return;
    }
    while (tutti_frame_take(&r->input, &frame)) hear(judge, rank, &frame);
    tutti_frame_drop(&r->input);
    if (r->input.bad) lost(judge, rank);
}

/* Whether every rank has called MPI_Finalize; then they are all let go. */
static bool all_finalize(tutti_judge *judge)
{
    tutti_frame frame = {0};
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].state != TUTTI_RANK_FINALIZES) return false;
    if (tutti_court_unmatched(judge)) return true;
    judge->ended = true;
    if (tutti_process_self()->verbose)
        fprintf(stderr, "tutti-check: no error in %llu collectives of %d ranks\n",
            (unsigned long long)judge->collectives, judge->size);
    tutti_frame_begin(&frame, TUTTI_FRAME_END);
    tutti_frame_put(&frame, 0);
    tutti_court_send_all(judge, &frame);
    tutti_frame_free(&frame);
    return true;
}

static bool anyone_left(const tutti_judge *judge, int connected)
{
    if (connected < judge->size) return true;
    for (int r = 0; r < judge->size; r++)
        if (judge->ranks[r].socket >= 0) return true;
    return false;
}

/* Waits for a word, from ranks or at the door, and hears it; then how many ranks have ever connected. */
static int hear_all(tutti_judge *judge, struct pollfd *lines)
{
    int connected = 0;
    for (int r = 0; r < judge->size; r++) {
        const tutti_rank *rank = &judge->ranks[r];
        lines[r] = (struct pollfd){.fd = rank->socket, .events = POLLIN};
        if (rank->output.length > 0) lines[r].events |= POLLOUT;
    }
    int strangers = tutti_door_poll(&judge->door, lines + judge->size);
    poll(lines, (nfds_t)(judge->size + strangers), tick_ms);
    for (int r = 0; r < judge->size; r++) {
        tutti_rank *rank = &judge->ranks[r];
        if (rank->socket >= 0 && (lines[r].revents & POLLOUT)) tutti_court_flush(rank);
        if (rank->socket >= 0 && (lines[r].revents & ~POLLOUT)) listen_to(judge, r);
    }
    welcome(judge);
    for (int r = 0; r < judge->size; r++)
        connected += judge->ranks[r].socket >= 0 || judge->ranks[r].state != TUTTI_RANK_RUNS;
    return connected;
}

static void *run(void *with)
{
    tutti_judge *judge = with;
    struct pollfd *lines = calloc((size_t)judge->size + TUTTI_DOOR_MOST + 1, sizeof(*lines));
    int connected = 0;
    if (!lines) abort();
    while (!judge->quits && anyone_left(judge, connected)) {
        connected = hear_all(judge, lines);
        if (connected == judge->size) tutti_door_close(&judge->door);
        if (judge->ended) continue;
        tutti_court_match_tick(judge);
        if (!all_finalize(judge)) tutti_court_hang_tick(judge);
    }
    free(lines);
    return NULL;
}

tutti_judge *tutti_judge_start(int listener, const tutti_card *card, int ranks)
{
    sigset_t all, before;
    tutti_judge *judge = calloc(1, sizeof(*judge));
    if (!judge) return NULL;
    tutti_door_open(&judge->door, listener, card->token);
    judge->answer = card->answer;
    judge->size = ranks;
    judge->ranks = calloc((size_t)ranks, sizeof(*judge->ranks));
    if (!judge->ranks) {
        free(judge);
        return NULL;
    }
    for (int r = 0; r < ranks; r++) judge->ranks[r] = (tutti_rank){.socket = -1, .threads = 1};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&judge->thread, NULL, run, judge);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) return judge;
    free(judge->ranks);
    free(judge);
    return NULL;
}

static void free_rank(tutti_rank *rank)
{
    if (rank->socket >= 0) close(rank->socket);
    for (int i = 0; i < rank->nplaces; i++) {
        free(rank->places[i].module);
        free(rank->places[i].symbol);
    }
    free(rank->places);
    while (rank->stops) {
        tutti_stop *stop = rank->stops;
        rank->stops = stop->next;
        tutti_court_stop_free(stop);
    }
    tutti_frame_free(&rank->input);
    tutti_frame_free(&rank->output);
}

void tutti_judge_quit(tutti_judge *judge)
{
    if (judge) judge->quits = true;
    tutti_judge_join(judge);
}

void tutti_judge_join(tutti_judge *judge)
{
    if (!judge) return;
    pthread_join(judge->thread, NULL);
    for (int r = 0; r < judge->size; r++) free_rank(&judge->ranks[r]);
    tutti_court_comms_free(judge);
    tutti_court_messages_free(judge);
    tutti_door_close(&judge->door);
    free(judge->ranks);
    free(judge);
}
