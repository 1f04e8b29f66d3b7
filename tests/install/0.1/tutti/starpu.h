/* The interface of Tutti 0.1.0 (designs/attach.h there), without comments: old programs were
 * compiled with it. */
#ifndef TUTTI_ATTACH_H
#define TUTTI_ATTACH_H

#include <mpi.h>
#include <starpu.h>
#include <stddef.h>

typedef enum tutti_status { TUTTI_OK, TUTTI_ERR_USAGE, TUTTI_ERR_INVAL } tutti_status;
typedef enum tutti_dtype { TUTTI_F32, TUTTI_F64, TUTTI_I32, TUTTI_I64, TUTTI_U8 } tutti_dtype;
typedef enum tutti_reduce_op { TUTTI_SUM, TUTTI_PROD, TUTTI_MIN, TUTTI_MAX } tutti_reduce_op;
typedef struct tutti_session tutti_session;
typedef starpu_data_handle_t tutti_handle;

typedef struct tutti_attach_options {
    const char *design;
    int lanes;
    const char *algorithm;
    const char *check;
    double stall_warn_s, stall_dump_s, stall_abort_s;
} tutti_attach_options;

tutti_status tutti_attach(
    MPI_Comm comm, const tutti_attach_options *options, tutti_session **session);
tutti_status tutti_detach(tutti_session *session);
tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op);
tutti_status tutti_wait(tutti_session *session, double timeout_s);
const char *tutti_status_name(tutti_status status);

#endif
