/* Streams, what is on them, and events. All under the fake's lock.
 *
 * A stream is a queue of operations. An operation may run when it is the first of its stream, and
 * the points that it waits for are done. A point is a place in a stream: "after its n-th operation".
 * What is known (`known`) says, of each stream, up to where it is done: as an operation that begins
 * may take for granted, or as the host has seen. */
#ifndef TUTTI_DEVICE_QUEUE_H
#define TUTTI_DEVICE_QUEUE_H

#include "tests/device/fake/state.h"

typedef struct point {
    int stream;
    uint64_t number; /* 0: the beginning */
} point;

typedef struct known {
    int count;
    uint64_t *number; /* per fake_stream */
} known;

typedef struct operation {
    fake_work work;
    point at;
    point *wait;
    int waits;
    known known; /* when it is done */
    fake_access *access;
    int host;           /* a host function: a user's code, which may wait for the user's locks */
    int idle;           /* a record or a wait: nothing is lost if nobody waits for it */
    cudaEvent_t event;  /* that it records; NULL */
    uint64_t ticket;    /* in the order of all operations */
    double ripe, again; /* when it runs in any case; not to be tried before */
    struct operation *next, *next_recent;
} operation;

typedef struct fake_stream {
    int index, device, live;
    unsigned flags;
    int priority;
    uint64_t put, done, demanded;
    double spent; /* seconds that its operations would have taken */
    known known;  /* when its last operation is done */
    operation *first, *last;
    struct capture *capture; /* graph.c's; NULL: what is put on it runs */
} fake_stream;

typedef struct fake_event {
    int live, device, recorded, index;
    unsigned flags, generation;
    point at;
    known known;
    double time; /* of the record's completion; 0: not yet */
} fake_event;

void queue_open(void);

/* The stream of a handle; the calling thread's device says which default stream. */
fake_stream *queue_stream(const char *call, cudaStream_t handle);
cudaStream_t queue_stream_new(int device, unsigned flags, int priority);
/* "stream 3 of device 0", in one of a few static buffers. */
const char *queue_name(const fake_stream *s);
/* The index-th, from 0: first the default stream of each device. Streams stay after they were destroyed. */
fake_stream *queue_at(int index);
int queue_count(void);

fake_event *queue_event(const char *call, cudaEvent_t handle);
cudaEvent_t queue_event_new(int device, unsigned flags);
void queue_event_release(fake_event *e);

/* What an operation waits for besides its stream. */
typedef struct queue_extra {
    const fake_event *wait;
    cudaEvent_t record;
    int host;
    int idle; /* nothing is lost if nobody waits for it */
    int more; /* nothing runs yet: more is put there at once */
} queue_extra;
/* Puts it at the stream's end; then lets operations run as the order says. */
void queue_put(fake_stream *s, const fake_work *work, const queue_extra *extra);

int queue_done(point at);
/* The host knows that this is done; or what is put on the stream comes behind it. */
int queue_is_seen(point at);
int queue_is_before(point at, const fake_stream *s);
/* The host has seen that this is done. */
void queue_see(const known *seen);
/* to: the later of both, for each stream. */
void queue_join(known *to, const known *from);
void queue_forget(known *k);
/* An operation has run: order.c tells. */
void queue_finish(operation *op);

/* An operation that the host has not seen complete and that touches the bytes; NULL. writes: only
 * those that write, and are not done. */
const operation *queue_user(const void *address, size_t bytes, int writes);
/* Any that the host has not seen complete, and that does something; NULL. */
const operation *queue_unseen(void);
/* A host function is on a stream and not done. */
int queue_host_function(void);

#endif
