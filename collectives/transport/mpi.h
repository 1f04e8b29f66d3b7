/* The internals of the MPI transport: mpi_open.c (opening and closing), above mpi_message.c (messages) and
 * mpi_collective.c (the MPI library's collectives), and below both mpi_request.c (MPI's requests under way). */
#ifndef TUTTI_TRANSPORT_MPI_H
#define TUTTI_TRANSPORT_MPI_H

#include "collectives/transport/transport.h"

#include <mpi.h>

/* A send or recv, or a collective of the library: one MPI request per piece, which is in the
 * transport's list while under way. */
typedef struct tutti_mpi_message {
    struct tutti_mpi_message *next; /* while idle */
    int left;                       /* pieces under way */
    int is_send, peer, lane;
    const char *kind; /* of the library's collective; NULL: a send or recv */
    int cancelled;    /* its data are not needed */
    int abandoned;    /* no longer tested: tutti_mpi_look frees it when it has ended */
    int unexpected;   /* received by a sweep, without a matching receive */
    void *kept;       /* memory that MPI uses; freed with it */
    /* moved when it has ended */
    void *to;
    const void *from;
    size_t bytes;        /* of the message, or to be moved */
    unsigned looked;     /* the latest look when it was last tested */
    tutti_status status; /* the first failure */
} tutti_mpi_message;

/* What a request is for. */
typedef struct tutti_mpi_piece {
    tutti_mpi_message *of;
    int bytes;
} tutti_mpi_piece;

/* The requests under way, of all lanes. */
typedef struct tutti_mpi_requests {
    MPI_Request *request;   /* [room] */
    tutti_mpi_piece *piece; /* [room] */
    int *ended;             /* [room] indices of the requests that the last look found ended */
    MPI_Status *status;     /* [room] their statuses */
    int count, room;
    unsigned looks; /* so far */
} tutti_mpi_requests;

typedef struct tutti_mpi {
    tutti_transport base;
    MPI_Comm *lane; /* one communicator each; errors are returned */
    size_t piece;   /* largest message in bytes */
    tutti_mpi_requests under_way;
    tutti_mpi_message *idle;     /* messages to reuse */
    MPI_Op op[TUTTI_REDUCE_OPS]; /* of the library's collectives; MPI_OP_NULL: not used yet */
    int unexpected;              /* messages under way that a sweep receives */
    int growing;                 /* lanes yet to be opened */
    MPI_Comm fresh;              /* the next one */
    MPI_Request opening;         /* of the next one, while it is being duplicated */
    /* ---- over a communicator that is lent (tutti_mpi_lent) ---- */
    int *member; /* [size] its ranks in the communicator; NULL: the same */
    int stride;  /* all lanes are that communicator: lane k has the tags from k * stride on */
    const atomic_int *broken; /* NULL: it never is */
    double until_s;           /* it is broken: how long sends may take to end; 0: it is not */
} tutti_mpi;

/* Logs MPI's sentence for this code and the operation; returns COMM. */
tutti_status tutti_mpi_fail(int code, const char *what);

/* A message like this one, with room for `pieces` requests. NOMEM. */
tutti_status tutti_mpi_message_new(
    tutti_mpi *t, const tutti_mpi_message *like, int pieces, tutti_mpi_message **message);
/* The message must have no requests under way. */
void tutti_mpi_message_free(tutti_mpi *t, tutti_mpi_message *message);
/* The place for the message's next request; tutti_mpi_started counts it once it has started. */
MPI_Request *tutti_mpi_place(tutti_mpi *t, tutti_mpi_message *message, int bytes);
void tutti_mpi_started(tutti_mpi *t, tutti_mpi_message *message);
/* Lets MPI make progress, and records what has ended. */
void tutti_mpi_look(tutti_mpi *t);
/* Removes the requests that are MPI_REQUEST_NULL. */
void tutti_mpi_close_gaps(tutti_mpi_requests *requests);

/* A transport over a communicator that the caller keeps, of some of its ranks. */
typedef struct tutti_mpi_lent {
    MPI_Comm comm;
    const int *member; /* [size] its ranks there */
    int size, rank, lanes;
    const uint64_t *host;     /* of each rank of the communicator: tutti_mpi_host */
    const atomic_int *broken; /* once set, what is under way ends with an error */
} tutti_mpi_lent;
tutti_status tutti_transport_mpi_lent(const tutti_mpi_lent *lent, tutti_transport **transport);
/* Receives from any rank are not for those that have died so far. */
void tutti_mpi_forget_dead(MPI_Comm comm);
/* Whether MPI knows that a rank of the communicator has died. */
int tutti_mpi_is_dead(MPI_Comm comm, int rank);
/* A hash of this host. Returns MPI's code. */
int tutti_mpi_host(uint64_t *hash);

/* Of tutti_transport_ops. collective: UNSUPPORTED, with the count, where MPI's int cannot count the elements. */
tutti_status tutti_mpi_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message);
tutti_status tutti_mpi_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message);
tutti_status tutti_mpi_test(tutti_transport *t, tutti_message *message, int *done);
void tutti_mpi_cancel(tutti_transport *t, tutti_message *message);
void tutti_mpi_sweep(tutti_transport *t, int first, int lanes);
void tutti_mpi_abandon(tutti_transport *t, tutti_message *message);
tutti_status tutti_mpi_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message);

#endif
