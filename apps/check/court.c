/* What all of the judge's files use: words to the ranks, and who a communicator is. */
#include "apps/check/court.h"

#include <errno.h>
#include <sys/socket.h>

/* A rank that lets so many bytes lie does not run any more. */
static const size_t most_unread = 16 << 20;

void tutti_court_flush(tutti_rank *rank)
{
    tutti_frame *output = &rank->output;
    while (output->at < output->length) {
        ssize_t sent = send(rank->socket, output->bytes + output->at, output->length - output->at,
            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) break; /* later; or never, as reading will show */
        output->at += (size_t)sent;
    }
    tutti_frame_drop(output);
    if (output->length > most_unread) shutdown(rank->socket, SHUT_RDWR);
}

void tutti_court_send(tutti_judge *judge, int rank, tutti_frame *frame)
{
    tutti_rank *r = &judge->ranks[rank];
    if (r->socket < 0) return;
    tutti_frame_end(frame);
    tutti_frame_append(&r->output, frame->bytes, frame->length);
    tutti_court_flush(r);
}

void tutti_court_send_all(tutti_judge *judge, tutti_frame *frame)
{
    for (int r = 0; r < judge->size; r++) tutti_court_send(judge, r, frame);
}

tutti_court_comm *tutti_court_comm_find(tutti_judge *judge, uint64_t id)
{
    return tutti_table_find(&judge->comms, id);
}
