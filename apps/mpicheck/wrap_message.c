/* Point-to-point messages. A blocking call becomes a nonblocking one and a wait in view of the judge; a
 * standard send becomes a synchronous one, which exposes programs that rely on buffering. */
#include "apps/mpicheck/call.h"
#include "apps/mpicheck/collective.h"
#include "apps/mpicheck/pairing.h"
#include "apps/mpicheck/process.h"
#include "apps/mpicheck/requests.h"
#include "apps/mpicheck/wait.h"

#include <limits.h>
#include <stdlib.h>

/* One end of a message, as the program describes it. */
typedef struct message {
    mpicheck_item_kind kind;
    const void *buffer;
    int count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
} message;

/* Whether MPI will accept the arguments; if not, MPI reports the error. */
static bool valid(const message *m, const mpicheck_comm *comm)
{
    int peers = comm->others > 0 ? comm->others : comm->size;
    if (m->count < 0 || m->type == MPI_DATATYPE_NULL) return false;
    if (m->peer == MPI_PROC_NULL) return false; /* no message */
    if (m->kind == MPICHECK_ITEM_RECV && m->peer == MPI_ANY_SOURCE) return true;
    return m->peer >= 0 && m->peer < peers;
}

static void use(mpicheck_used *used, const message *m)
{
    mpicheck_used_add(used, m->buffer, 0, m->count, m->type, -1, m->kind == MPICHECK_ITEM_RECV);
}

/* Describes a request; false: not checked. */
static bool describe(const message *m, mpicheck_request *request)
{
    mpicheck_comm *comm = mpicheck_comm_find(m->comm);
    int size = 0;
    if (!comm || !valid(m, comm)) return false;
    mpicheck_buffer(m->kind == MPICHECK_ITEM_SEND ? "send buffer" : "receive buffer", m->buffer,
        m->count, m->type);
    PMPI_Type_size(m->type, &size);
    *request = (mpicheck_request){
        .item = {.kind = m->kind,
            .comm = comm->id,
            .peer = mpicheck_comm_world(comm, m->peer),
            .tag = m->tag,
            .bytes = (int64_t)size * m->count,
            .call = mpicheck_call_name(),
            .site = mpicheck_call_site()},
        .comm = comm,
        .data = mpicheck_signature_of(m->count, m->type),
        .active = true,
    };
    use(&request->used, m);
    mpicheck_buffers(&request->used, "");
    return true;
}

/* The same for a request that becomes active at once: nothing else may be using its memory. */
static bool describe_active(const message *m, mpicheck_request *request)
{
    if (!describe(m, request)) return false;
    mpicheck_request_check(&request->used);
    return true;
}

/* After MPI was called: remembers the request, or forgets what was described. */
static void made(int rc, bool checked, MPI_Request handle, mpicheck_request *request)
{
    if (!checked) return;
    if (rc == MPI_SUCCESS)
        mpicheck_request_made(handle, request);
    else
        mpicheck_used_free(&request->used);
}

static void guard_buffer(const message *m, mpicheck_request *request)
{
    request->buffer = m->buffer;
    request->count = m->count;
    request->type = m->type;
    request->content = mpicheck_request_content(m->buffer, m->count, m->type);
}

/* Waits for a request made by the wrapper. */
static int complete(MPI_Request *request, MPI_Status *status)
{
    mpicheck_request *known;
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    mpicheck_request_claim(request, 1, &known);
    mpicheck_wait wait = mpicheck_wait_requests((mpicheck_wanted){request, &known, 1}, false);
    int done = 0, rc;
    while ((rc = PMPI_Test(request, &done, used)) == MPI_SUCCESS && !done)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    mpicheck_request_done(known, rc == MPI_SUCCESS ? used : NULL);
    return rc;
}

typedef int isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static isend *standard(void)
{
    return mpicheck_process_self()->buffered ? PMPI_Isend : PMPI_Issend;
}

static int send_blocking(isend *start, const message *m)
{
    mpicheck_request what;
    MPI_Request request;
    bool checked = describe_active(m, &what);
    int rc = start(m->buffer, m->count, m->type, m->peer, m->tag, m->comm, &request);
    made(rc, checked, request, &what);
    if (rc != MPI_SUCCESS) return rc;
    return complete(&request, MPI_STATUS_IGNORE);
}

static int send_nonblocking(isend *start, const message *m, MPI_Request *request)
{
    mpicheck_request what;
    bool checked = describe_active(m, &what);
    if (checked) guard_buffer(m, &what);
    int rc = start(m->buffer, m->count, m->type, m->peer, m->tag, m->comm, request);
    made(rc, checked, *request, &what);
    return rc;
}

#define SEND_PARAMETERS                                                                            \
    const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define SEND_ARGUMENTS buffer, count, type, peer, tag, comm
#define OUTGOING                                                                                   \
    {                                                                                              \
        MPICHECK_ITEM_SEND, buffer, count, type, peer, tag, comm                                   \
    }

#define SENDS(name, iname, start, istart)                                                          \
    int MPI_##name(SEND_PARAMETERS)                                                                \
    {                                                                                              \
        MPICHECK_WRAP(name, (SEND_ARGUMENTS));                                                     \
        message m = OUTGOING;                                                                      \
        MPICHECK_RETURN(send_blocking(start, &m));                                                 \
    }                                                                                              \
    int MPI_##iname(SEND_PARAMETERS, MPI_Request *request)                                         \
    {                                                                                              \
        MPICHECK_WRAP(iname, (SEND_ARGUMENTS, request));                                           \
        message m = OUTGOING;                                                                      \
        MPICHECK_RETURN(send_nonblocking(istart, &m, request));                                    \
    }

SENDS(Send, Isend, standard(), standard())
SENDS(Ssend, Issend, PMPI_Issend, PMPI_Issend)
SENDS(Rsend, Irsend, PMPI_Irsend, PMPI_Irsend)
SENDS(Bsend, Ibsend, PMPI_Ibsend, PMPI_Ibsend)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
    MPI_Status *status)
{
    MPICHECK_WRAP(Recv, (buffer, count, type, peer, tag, comm, status));
    message m = {MPICHECK_ITEM_RECV, buffer, count, type, peer, tag, comm};
    mpicheck_request what;
    MPI_Request request;
    bool checked = describe_active(&m, &what);
    int rc = PMPI_Irecv(buffer, count, type, peer, tag, comm, &request);
    made(rc, checked, request, &what);
    if (rc != MPI_SUCCESS) MPICHECK_RETURN(rc);
    MPICHECK_RETURN(complete(&request, status));
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    MPICHECK_WRAP(Irecv, (buffer, count, type, peer, tag, comm, request));
    message m = {MPICHECK_ITEM_RECV, buffer, count, type, peer, tag, comm};
    mpicheck_request what;
    bool checked = describe_active(&m, &what);
    int rc = PMPI_Irecv(buffer, count, type, peer, tag, comm, request);
    made(rc, checked, *request, &what);
    MPICHECK_RETURN(rc);
}

/* A send and a receive at once; the wait covers both. */
static int exchange(const message *out, const message *in, MPI_Status *status)
{
    mpicheck_request sending, receiving;
    mpicheck_request *known[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    bool receives = describe_active(in, &receiving), sends = describe_active(out, &sending);
    mpicheck_used both = {0};
    if (receives && sends) {
        use(&both, in);
        use(&both, out);
        mpicheck_buffers(&both, "MPI_Sendrecv_replace");
        mpicheck_used_free(&both);
    }
    int rc = PMPI_Irecv(
        (void *)in->buffer, in->count, in->type, in->peer, in->tag, in->comm, &requests[0]);
    if (rc == MPI_SUCCESS)
        rc = standard()(
            out->buffer, out->count, out->type, out->peer, out->tag, out->comm, &requests[1]);
    made(rc, receives, requests[0], &receiving);
    made(rc, sends, requests[1], &sending);
    if (rc != MPI_SUCCESS) return rc;
    mpicheck_request_claim(requests, 2, known);
    mpicheck_wait wait = mpicheck_wait_requests((mpicheck_wanted){requests, known, 2}, false);
    int done = 0;
    while ((rc = PMPI_Testall(2, requests, &done, statuses)) == MPI_SUCCESS && !done)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    for (int i = 0; i < 2; i++)
        mpicheck_request_done(known[i], rc == MPI_SUCCESS ? &statuses[i] : NULL);
    if (status != MPI_STATUS_IGNORE) *status = statuses[0];
    return rc;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
    MPI_Status *status)
{
    MPICHECK_WRAP(Sendrecv, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                recvtype, source, recvtag, comm, status));
    message out = {MPICHECK_ITEM_SEND, sendbuf, sendcount, sendtype, dest, sendtag, comm};
    message in = {MPICHECK_ITEM_RECV, recvbuf, recvcount, recvtype, source, recvtag, comm};
    MPICHECK_RETURN(exchange(&out, &in, status));
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sendtag,
    int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    MPICHECK_WRAP(
        Sendrecv_replace, (buffer, count, type, dest, sendtag, source, recvtag, comm, status));
    int size = 0, at = 0, rc;
    MPI_Count each;
    /* The outgoing message is packed first; MPI_PACKED matches any type. What is too long for that is passed on. */
    if (!mpicheck_comm_find(comm) || count < 0 || type == MPI_DATATYPE_NULL ||
        PMPI_Type_size_x(type, &each) != MPI_SUCCESS || each * count > INT_MAX / 2 ||
        (rc = PMPI_Pack_size(count, type, comm, &size)) != MPI_SUCCESS)
        MPICHECK_RETURN(PMPI_Sendrecv_replace(
            buffer, count, type, dest, sendtag, source, recvtag, comm, status));
    mpicheck_buffer("buffer", buffer, count, type);
    void *packed = malloc((size_t)size + 1);
    if (!packed) abort();
    rc = PMPI_Pack(buffer, count, type, packed, size, &at, comm);
    if (rc == MPI_SUCCESS) {
        message out = {MPICHECK_ITEM_SEND, packed, at, MPI_PACKED, dest, sendtag, comm};
        message in = {MPICHECK_ITEM_RECV, buffer, count, type, source, recvtag, comm};
        rc = exchange(&out, &in, status);
    }
    free(packed);
    MPICHECK_RETURN(rc);
}

static int persist(int rc, const message *m, MPI_Request *request)
{
    mpicheck_request what;
    if (rc != MPI_SUCCESS || !describe(m, &what)) return rc;
    what.persistent = true;
    what.active = false;
    if (m->kind == MPICHECK_ITEM_SEND) {
        what.buffer = m->buffer;
        what.count = m->count;
        what.type = m->type;
    }
    mpicheck_request_made(*request, &what);
    return rc;
}

#define PERSISTENT(name, start)                                                                    \
    int MPI_##name(SEND_PARAMETERS, MPI_Request *request)                                          \
    {                                                                                              \
        MPICHECK_WRAP(name, (SEND_ARGUMENTS, request));                                            \
        message m = OUTGOING;                                                                      \
        MPICHECK_RETURN(persist((start)(SEND_ARGUMENTS, request), &m, request));                   \
    }

PERSISTENT(Send_init, mpicheck_process_self()->buffered ? PMPI_Send_init : PMPI_Ssend_init)
PERSISTENT(Ssend_init, PMPI_Ssend_init)
PERSISTENT(Rsend_init, PMPI_Rsend_init)
PERSISTENT(Bsend_init, PMPI_Bsend_init)

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
    MPI_Request *request)
{
    MPICHECK_WRAP(Recv_init, (buffer, count, type, peer, tag, comm, request));
    message m = {MPICHECK_ITEM_RECV, buffer, count, type, peer, tag, comm};
    MPICHECK_RETURN(
        persist(PMPI_Recv_init(buffer, count, type, peer, tag, comm, request), &m, request));
}

/* What a probe waits for; false: unknown to the judge. */
static mpicheck_item probed(int peer, int tag, MPI_Comm handle)
{
    mpicheck_comm *comm = mpicheck_comm_find(handle);
    mpicheck_item item = {.kind = MPICHECK_ITEM_OTHER, .call = mpicheck_call_name()};
    if (!comm) return item;
    item = (mpicheck_item){.kind = MPICHECK_ITEM_RECV,
        .comm = comm->id,
        .peer = mpicheck_comm_world(comm, peer),
        .tag = tag,
        .number = UINT64_MAX, /* all receives were posted before */
        .call = mpicheck_call_name(),
        .site = mpicheck_call_site()};
    return item;
}

int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPICHECK_WRAP(Probe, (peer, tag, comm, status));
    mpicheck_wait wait = mpicheck_wait_for(probed(peer, tag, comm));
    int found = 0, rc;
    while ((rc = PMPI_Iprobe(peer, tag, comm, &found, status)) == MPI_SUCCESS && !found)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    MPICHECK_RETURN(rc);
}

/* A matched probe takes its message away from receives posted later; MPI_Mrecv gets the data. */
static void taken(int peer, int tag, MPI_Comm handle, const MPI_Status *status)
{
    const mpicheck_comm *comm = mpicheck_comm_find(handle);
    mpicheck_item item = probed(peer, tag, handle);
    if (!comm || status->MPI_SOURCE == MPI_PROC_NULL) return;
    uint64_t number = mpicheck_pairing_posted(&item, (mpicheck_signature){.anything = true});
    mpicheck_pairing_received(
        number, mpicheck_comm_world(comm, status->MPI_SOURCE), status->MPI_TAG);
}

int MPI_Mprobe(int peer, int tag, MPI_Comm comm, MPI_Message *handle, MPI_Status *status)
{
    MPICHECK_WRAP(Mprobe, (peer, tag, comm, handle, status));
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    mpicheck_wait wait = mpicheck_wait_for(probed(peer, tag, comm));
    int found = 0, rc;
    while ((rc = PMPI_Improbe(peer, tag, comm, &found, handle, used)) == MPI_SUCCESS && !found)
        mpicheck_wait_step(&wait);
    mpicheck_wait_end(&wait);
    if (rc == MPI_SUCCESS) taken(peer, tag, comm, used);
    MPICHECK_RETURN(rc);
}

static bool nobody(MPI_Message handle)
{
    return handle == MPI_MESSAGE_NO_PROC;
}

/* The message has already arrived; the probe has reported its sender. */
int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *handle, MPI_Status *status)
{
    MPICHECK_WRAP(Mrecv, (buffer, count, type, handle, status));
    mpicheck_used used = {0};
    mpicheck_buffer("receive buffer", buffer, count, type);
    mpicheck_used_add(&used, buffer, 0, nobody(*handle) ? 0 : count, type, -1, true);
    mpicheck_buffers(&used, "");
    mpicheck_request_check(&used);
    mpicheck_used_free(&used);
    MPICHECK_RETURN(PMPI_Mrecv(buffer, count, type, handle, status));
}

int MPI_Imrecv(
    void *buffer, int count, MPI_Datatype type, MPI_Message *handle, MPI_Request *request)
{
    MPICHECK_WRAP(Imrecv, (buffer, count, type, handle, request));
    bool checked = !nobody(*handle);
    mpicheck_request what = {.item = {.kind = MPICHECK_ITEM_OTHER,
                                 .peer = -1,
                                 .call = mpicheck_call_name(),
                                 .site = mpicheck_call_site()},
        .active = true};
    mpicheck_buffer("receive buffer", buffer, count, type);
    mpicheck_used_add(&what.used, buffer, 0, checked ? count : 0, type, -1, true);
    mpicheck_buffers(&what.used, "");
    mpicheck_request_check(&what.used);
    int rc = PMPI_Imrecv(buffer, count, type, handle, request);
    made(rc, checked, *request, &what);
    MPICHECK_RETURN(rc);
}

static void polled(int found, int peer, int tag, MPI_Comm comm)
{
    if (found)
        mpicheck_wait_no_poll();
    else
        mpicheck_wait_polled(mpicheck_wait_for(probed(peer, tag, comm)));
}

int MPI_Improbe(
    int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *handle, MPI_Status *status)
{
    MPICHECK_WRAP(Improbe, (peer, tag, comm, flag, handle, status));
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    mpicheck_wait_poll_begins();
    int rc = PMPI_Improbe(peer, tag, comm, flag, handle, used);
    if (rc == MPI_SUCCESS && *flag) taken(peer, tag, comm, used);
    polled(*flag, peer, tag, comm);
    MPICHECK_RETURN(rc);
}

int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    MPICHECK_WRAP(Iprobe, (peer, tag, comm, flag, status));
    mpicheck_wait_poll_begins();
    int rc = PMPI_Iprobe(peer, tag, comm, flag, status);
    polled(*flag, peer, tag, comm);
    MPICHECK_RETURN(rc);
}
