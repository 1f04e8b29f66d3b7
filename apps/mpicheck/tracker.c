/* Shared by the judge's files: sending to the ranks, and finding communicators. */
#include "apps/mpicheck/tracker.h"

#include <errno.h>
#include <sys/socket.h>

/* A rank that leaves more bytes unread no longer runs. */
static const size_t most_unread = 16 << 20;

void mpicheck_tracker_flush(mpicheck_rank *rank)
{
    mpicheck_frame *output = &rank->output;
    while (output->at < output->length) {
        ssize_t sent = send(rank->socket, output->bytes + output->at, output->length - output->at,
            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) break; /* retried later; a closed connection shows when reading */
        output->at += (size_t)sent;
    }
    mpicheck_frame_drop(output);
    if (output->length > most_unread) shutdown(rank->socket, SHUT_RDWR);
}

void mpicheck_tracker_send(mpicheck_judge *judge, int rank, mpicheck_frame *frame)
{
    mpicheck_rank *r = &judge->ranks[rank];
    if (r->socket < 0) return;
    mpicheck_frame_end(frame);
    mpicheck_frame_append(&r->output, frame->bytes, frame->length);
    mpicheck_tracker_flush(r);
}

void mpicheck_tracker_send_all(mpicheck_judge *judge, mpicheck_frame *frame)
{
    for (int r = 0; r < judge->size; r++) mpicheck_tracker_send(judge, r, frame);
}

mpicheck_tracker_comm *mpicheck_tracker_comm_find(mpicheck_judge *judge, uint64_t id)
{
    return mpicheck_table_find(&judge->comms, id);
}
