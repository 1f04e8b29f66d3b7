/* CUDA's copies and fills, as its documentation tells of each what the host may expect ("API
 * synchronization behavior"). */
#include "tests/device/fake/graph.h"
#include "tests/device/fake/memory.h"
#include "tests/device/fake/order.h"

#include <stdlib.h>
#include <string.h>

/* depth layers of height rows of width bytes. */
typedef struct shape {
    size_t width, height, depth;
} shape;

typedef struct side {
    char *address;
    size_t pitch, layer; /* from a row to the next, and from a layer */
    place_kind place;
    int device;
} side;

typedef struct copy {
    const char *call;
    side to, from;
    shape shape;
    fake_stream *stream;
    int blocking; /* the call without Async */
    char *staged; /* the source's bytes, packed */
    uint64_t sum; /* of the source's bytes when the copy was enqueued */
    int summed;
} copy;

static size_t bytes_of(const shape *s)
{
    return s->width * s->height * s->depth;
}

static size_t extent(const side *s, const shape *of)
{
    return (of->depth - 1) * s->layer + (of->height - 1) * s->pitch + of->width;
}

static char *row(const side *s, size_t z, size_t y)
{
    return s->address + z * s->layer + y * s->pitch;
}

/* ---- Running ---- */

/* Of a row, eight bytes at a time. */
static uint64_t sum_row(uint64_t sum, const char *at, size_t bytes)
{
    uint64_t word = 0;
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 29;
    }
    word = 0;
    memcpy(&word, at, bytes);
    return (sum ^ word) * 0x9e3779b97f4a7c15;
}

static uint64_t sum_of(const copy *c)
{
    uint64_t sum = 0;
    for (size_t z = 0; z < c->shape.depth; z++)
        for (size_t y = 0; y < c->shape.height; y++)
            sum = sum_row(sum, row(&c->from, z, y), c->shape.width);
    return sum;
}

static void move(const copy *c)
{
    const char *staged = c->staged;
    for (size_t z = 0; z < c->shape.depth; z++)
        for (size_t y = 0; y < c->shape.height; y++) {
            const char *from = staged ? staged : memory_inside(row(&c->from, z, y));
            memmove(memory_inside(row(&c->to, z, y)), from, c->shape.width);
            if (staged) staged += c->shape.width;
        }
}

static int run_copy(void *arg)
{
    copy *c = arg;
    if (c->summed && sum_of(c) != c->sum)
        fake_fail("%s: its source at %p was changed before the copy ran", c->call,
            (void *)c->from.address);
    move(c);
    free(c->staged);
    free(c);
    return 1;
}

/* ---- Enqueueing ---- */

/* Pinned memory that something before it may still write is not looked at. */
static void watch_source(copy *c)
{
    if (c->from.place != PLACE_PINNED || c->blocking || queue_host_function()) return;
    if (queue_user(c->from.address, extent(&c->from, &c->shape), 1)) return;
    c->sum = sum_of(c);
    c->summed = 1;
}

/* Nobody reads what a copy will write, before it is done. */
static void poison_target(const copy *c)
{
    if (c->to.place != PLACE_PINNED || c->blocking || queue_host_function()) return;
    if (queue_user(c->to.address, extent(&c->to, &c->shape), 0)) return;
    for (size_t z = 0; z < c->shape.depth; z++)
        for (size_t y = 0; y < c->shape.height; y++)
            memset(row(&c->to, z, y), POISON, c->shape.width);
}

static void stage(copy *c)
{
    c->staged = malloc(bytes_of(&c->shape));
    if (!c->staged) fake_fail("%s: no memory", c->call);
    char *to = c->staged;
    for (size_t z = 0; z < c->shape.depth; z++)
        for (size_t y = 0; y < c->shape.height; y++, to += c->shape.width)
            memcpy(to, row(&c->from, z, y), c->shape.width);
}

static int list_accesses(fake_access *list, const side *s, const shape *of, fake_mode mode)
{
    if (s->place == PLACE_PAGEABLE) return 0;
    for (size_t z = 0; z < of->depth; z++)
        list[z] = (fake_access){row(s, z, 0), of->width, mode, of->height, s->pitch};
    return (int)of->depth;
}

/* When a graph that has the copy is launched. */
static void look_at_host(void *arg)
{
    watch_source(arg);
    poison_target(arg);
}

static fake_count kind_of(const copy *c)
{
    if (c->from.place == PLACE_DEVICE && c->to.place == PLACE_DEVICE)
        return c->from.device == c->to.device ? FAKE_ON_DEVICE : FAKE_BETWEEN_DEVICES;
    if (c->to.place == PLACE_DEVICE) return FAKE_TO_DEVICE;
    return c->from.place == PLACE_DEVICE ? FAKE_TO_HOST : FAKE_COUNTS;
}

/* Or records. */
static cudaError_t enqueue(const copy *c)
{
    fake_access *list = malloc(2 * c->shape.depth * sizeof *list);
    copy *arg = malloc(sizeof *arg);
    if (!list || !arg) fake_fail("%s: no memory", c->call);
    *arg = *c;
    int count = list_accesses(list, &c->to, &c->shape, FAKE_WRITE);
    count += list_accesses(list + count, &c->from, &c->shape, FAKE_READ);
    const fake_work work = {.call = c->call,
        .run = run_copy,
        .arg = arg,
        .bytes = sizeof *arg,
        .access = list,
        .accesses = count};
    const graph_effect effect = {kind_of(c), bytes_of(&c->shape), look_at_host};
    cudaError_t error = cudaSuccess;
    if (c->stream->capture)
        error = graph_record(c->stream, &work, &effect);
    else
        queue_put(c->stream, &work, NULL);
    free(list);
    return error;
}

static void wait_for(const fake_stream *s)
{
    order_wait((point){s->index, s->put}, &s->known);
}

/* What the host may expect when the call returns:
 *   host to host                 it is done
 *   pageable host to device      the host's bytes were read; the device's may not be there yet
 *   device to pageable host      it is done
 *   pinned host, either way      nothing; done, if the call is a blocking one
 *   device to device             nothing, whatever the call */
static void transfer(copy *c)
{
    const int on_host = c->to.place != PLACE_DEVICE && c->from.place != PLACE_DEVICE;
    if (on_host) {
        wait_for(c->stream);
        move(c);
        return;
    }
    if (c->from.place == PLACE_PAGEABLE) {
        if (order_coin()) wait_for(c->stream); /* which CUDA may do */
        stage(c);
        enqueue(c);
        return;
    }
    watch_source(c);
    poison_target(c);
    enqueue(c);
    if (c->to.place == PLACE_PAGEABLE ||
        (c->blocking && (c->to.place == PLACE_PINNED || c->from.place == PLACE_PINNED)))
        wait_for(c->stream);
}

static void count_copy(const copy *c)
{
    const fake_count what = kind_of(c);
    if (what == FAKE_COUNTS) return;
    count_add(what, c->call, 1);
    count_add((fake_count)(what + 1), c->call, bytes_of(&c->shape));
    if (c->from.place == PLACE_PAGEABLE || c->to.place == PLACE_PAGEABLE)
        count_add(FAKE_PAGEABLE, c->call, 1);
    if (c->blocking) count_add(FAKE_SYNCHRONISATIONS, c->call, 1);
}

static void look_at(copy *c, side *s)
{
    block *b;
    s->place = memory_place(c->call, s->address, extent(s, &c->shape), &b);
    s->device = s->place == PLACE_DEVICE ? b->device : -1;
}

/* The kind that the caller gave, and the addresses. */
static void check_kind(const copy *c, enum cudaMemcpyKind kind)
{
    static const char *const names[] = {
        "HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice"};
    if (kind == cudaMemcpyDefault) return;
    if ((unsigned)kind > cudaMemcpyDefault) fake_fail("%s: kind %d", c->call, (int)kind);
    const int to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const int from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to != (c->to.place == PLACE_DEVICE))
        fake_fail("%s, %s: the target %p is %s", c->call, names[kind], (void *)c->to.address,
            to ? "the host's memory" : "a device's address");
    if (from != (c->from.place == PLACE_DEVICE))
        fake_fail("%s, %s: the source %p is %s", c->call, names[kind], (void *)c->from.address,
            from ? "the host's memory" : "a device's address");
}

/* A graph reads the host's memory at each launch, and writes it then. */
static void forbid_pageable(const copy *c)
{
    const side *host = c->from.place == PLACE_PAGEABLE ? &c->from : &c->to;
    if (host->place == PLACE_PAGEABLE)
        fake_fail("%s on %s, which is captured: %p is pageable memory of the host", c->call,
            queue_name(c->stream), (void *)host->address);
}

static cudaError_t record(const copy *c)
{
    forbid_pageable(c);
    return enqueue(c);
}

static cudaError_t start(copy *c, enum cudaMemcpyKind kind, cudaStream_t handle)
{
    fake_enter(c->call);
    c->stream = queue_stream(c->call, handle);
    if (!bytes_of(&c->shape)) return fake_return(cudaSuccess);
    look_at(c, &c->to);
    look_at(c, &c->from);
    check_kind(c, kind);
    if (c->stream->capture) return fake_return(record(c));
    count_copy(c);
    transfer(c);
    return fake_return(cudaSuccess);
}

/* ---- Lines ---- */

static cudaError_t line(const char *call, void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream, int blocking)
{
    copy c = {.call = call,
        .to.address = to,
        .from.address = (char *)from,
        .shape = {bytes, 1, 1},
        .blocking = blocking};
    return start(&c, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return line("cudaMemcpy", to, from, bytes, kind, NULL, 1);
}

cudaError_t cudaMemcpyAsync(
    void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return line("cudaMemcpyAsync", to, from, bytes, kind, stream, 0);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device; /* the addresses tell */
    (void)from_device;
    return line("cudaMemcpyPeer", to, from, bytes, cudaMemcpyDeviceToDevice, NULL, 1);
}

cudaError_t cudaMemcpyPeerAsync(
    void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream)
{
    (void)to_device;
    (void)from_device;
    return line("cudaMemcpyPeerAsync", to, from, bytes, cudaMemcpyDeviceToDevice, stream, 0);
}

/* ---- Rectangles and boxes ---- */

static cudaError_t rectangle(const char *call, void *to, size_t to_pitch, const void *from,
    size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
    int blocking)
{
    copy c = {.call = call,
        .to = {.address = to, .pitch = to_pitch},
        .from = {.address = (char *)from, .pitch = from_pitch},
        .shape = {width, height, 1},
        .blocking = blocking};
    if (width > to_pitch || width > from_pitch)
        fake_fail("%s: rows of %zu bytes, with a pitch of %zu and %zu", call, width, to_pitch,
            from_pitch);
    return start(&c, kind, stream);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
    size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return rectangle("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind, NULL, 1);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return rectangle(
        "cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, stream, 0);
}

static side side_of(const struct cudaPitchedPtr *p, const struct cudaPos *at)
{
    const size_t layer = p->pitch * p->ysize;
    return (side){.address = (char *)p->ptr + at->z * layer + at->y * p->pitch + at->x,
        .pitch = p->pitch,
        .layer = layer};
}

static cudaError_t box(
    const char *call, const struct cudaMemcpy3DParms *p, cudaStream_t stream, int blocking)
{
    if (p->srcArray || p->dstArray) fake_fail("%s: the fake has no arrays", call);
    copy c = {.call = call,
        .to = side_of(&p->dstPtr, &p->dstPos),
        .from = side_of(&p->srcPtr, &p->srcPos),
        .shape = {p->extent.width, p->extent.height, p->extent.depth},
        .blocking = blocking};
    return start(&c, p->kind, stream);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return box("cudaMemcpy3D", p, NULL, 1);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return box("cudaMemcpy3DAsync", p, stream, 0);
}

static cudaError_t peer_box(
    const char *call, const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream, int blocking)
{
    const struct cudaMemcpy3DParms same = {.srcArray = p->srcArray,
        .srcPos = p->srcPos,
        .srcPtr = p->srcPtr,
        .dstArray = p->dstArray,
        .dstPos = p->dstPos,
        .dstPtr = p->dstPtr,
        .extent = p->extent,
        .kind = cudaMemcpyDeviceToDevice};
    return box(call, &same, stream, blocking);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return peer_box("cudaMemcpy3DPeer", p, NULL, 1);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return peer_box("cudaMemcpy3DPeerAsync", p, stream, 0);
}

/* ---- Fills ---- */

typedef struct fill {
    char *to;
    int value;
    size_t bytes;
} fill;

static int run_fill(void *arg)
{
    const fill *f = arg;
    memset(memory_inside(f->to), f->value, f->bytes);
    free(arg);
    return 1;
}

static cudaError_t start_fill(
    const char *call, void *to, int value, size_t bytes, cudaStream_t handle)
{
    fake_enter(call);
    fake_stream *s = queue_stream(call, handle);
    if (!bytes) return fake_return(cudaSuccess);
    if (memory_place(call, to, bytes, NULL) != PLACE_DEVICE)
        fake_fail("%s: %p is the host's memory", call, to);
    fill *arg = malloc(sizeof *arg);
    if (!arg) fake_fail("%s: no memory", call);
    *arg = (fill){to, value, bytes};
    const graph_effect effect = {.count = FAKE_FILLS};
    const fake_access access = {.address = to, .bytes = bytes, .mode = FAKE_WRITE};
    const fake_work work = {.call = call,
        .run = run_fill,
        .arg = arg,
        .bytes = sizeof *arg,
        .access = &access,
        .accesses = 1};
    if (s->capture) return fake_return(graph_record(s, &work, &effect));
    count_add(FAKE_FILLS, call, 1);
    queue_put(s, &work, NULL);
    return fake_return(cudaSuccess);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return start_fill("cudaMemset", to, value, bytes, NULL);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return start_fill("cudaMemsetAsync", to, value, bytes, stream);
}
