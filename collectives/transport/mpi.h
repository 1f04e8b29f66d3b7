/* The inside of the MPI transport: shared by mpi_message.c (messages) and mpi_collective.c (the MPI
 * library's collectives). */
#ifndef TUTTI_TRANSPORT_MPI_H
#define TUTTI_TRANSPORT_MPI_H

#include "collectives/transport/transport.h"

#include <mpi.h>

/* What a request is for. */
typedef struct tutti_mpi_piece {
    tutti_message *of;
    int bytes;
} tutti_mpi_piece;

/* The requests under way, of all lanes. */
typedef struct tutti_mpi_requests {
    MPI_Request *request;   /* [room] */
    tutti_mpi_piece *piece; /* [room] */
    int *ended;             /* [room] indices of the requests that a look has found to have ended */
    MPI_Status *status;     /* [room] their statuses */
    int count, room;
    unsigned looks; /* so far */
} tutti_mpi_requests;

typedef struct tutti_mpi {
    tutti_transport base;
    MPI_Comm *lane; /* one communicator each; errors are returned */
    size_t piece;   /* largest message in bytes */
    tutti_mpi_requests under_way;
    tutti_message *idle; /* messages to reuse */
    int taken_in;        /* unexpected messages under way */
    int growing;         /* lanes that are yet to be opened */
    MPI_Comm fresh;      /* the next of them */
    MPI_Request opening; /* while it is under way */
} tutti_mpi;

/* Logs MPI's sentence for this code and the operation; returns COMM. */
tutti_status tutti_mpi_fail(int code, const char *what);

/* tutti_transport_ops.collective. UNSUPPORTED, with the count, where MPI's int cannot count the
 * elements. */
tutti_status tutti_mpi_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message);

#endif
