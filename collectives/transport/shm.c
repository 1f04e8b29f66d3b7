#define _GNU_SOURCE /* memfd_create */
#include "collectives/transport/shm.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/process.h"
#include "dag/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, MOST_RINGS = 1 << 16 };

/* How many bytes were written and read since the start. Each count has one writer. */
typedef struct ring {
    _Alignas(LINE) _Atomic uint64_t written;
    _Atomic int ended; /* nothing more is written */
    _Alignas(LINE) _Atomic uint64_t read;
    _Alignas(LINE) unsigned char bytes[];
} ring;

/* What the shared memory begins with; then rings, then the arena. */
typedef struct head {
    uint64_t key, rings, ring_bytes, arena, arena_bytes;
} head;

/* A piece of the arena. */
typedef struct block {
    size_t at, bytes;
    int taken;
    int lent; /* receives whose memory another process may write to */
} block;

struct tutti_shm {
    head layout; /* a copy: others can write to the shared one */
    unsigned char *memory;
    size_t bytes;
    int file; /* -1: another process's */
    int bell; /* both ends of a pipe that the process reads; -1: none */
    tutti_shm_name name;
    pthread_mutex_t lock; /* protects the blocks */
    block *block;         /* all of the arena, by address */
    int blocks, room;
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t ring_stride(const head *h)
{
    return round_up(sizeof(ring) + h->ring_bytes, PAGE);
}

static size_t total_bytes(const head *h)
{
    return (size_t)(h->arena + h->arena_bytes);
}

static ring *find_ring(const tutti_shm *s, int i)
{
    return (ring *)(s->memory + PAGE + (size_t)i * ring_stride(&s->layout));
}

/* ---- creating, mapping ---- */

static tutti_status new_shm(const head *layout, tutti_shm **shm)
{
    tutti_shm *s = calloc(1, sizeof *s);
    block *first = calloc(1, sizeof *first);
    if (!s || !first) {
        free(s);
        free(first);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for shared memory");
    }
    s->layout = *layout;
    s->bytes = total_bytes(layout);
    s->file = s->bell = -1;
    s->block = first;
    s->blocks = s->room = 1;
    first->bytes = (size_t)layout->arena_bytes;
    pthread_mutex_init(&s->lock, NULL);
    *shm = s;
    return TUTTI_OK;
}

/* After a failure tasks that never ended may use it as long as the process lives. */
static int has_taken(const tutti_shm *s)
{
    int taken = 0;
    for (int i = 0; i < s->blocks; i++) taken |= s->block[i].taken;
    return taken;
}

void tutti_shm_close(tutti_shm *s)
{
    if (!s) return;
    if (s->memory && !has_taken(s)) munmap(s->memory, s->bytes);
    if (s->file >= 0) close(s->file);
    if (s->bell >= 0) close(s->bell);
    pthread_mutex_destroy(&s->lock);
    free(s->block);
    free(s);
}

static tutti_status map_memory(tutti_shm *s, int file)
{
    void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return tutti_fail(TUTTI_ERR_NOMEM,
            "%zu bytes of shared memory cannot be mapped: %s (see ulimit -v)", s->bytes,
            strerror(errno));
    s->memory = memory;
    return TUTTI_OK;
}

/* Reserves memory, so that none is missing when it is written to. */
static tutti_status reserve(const tutti_shm *s, size_t at, size_t bytes)
{
    int code;
    do code = posix_fallocate(s->file, (off_t)at, (off_t)bytes);
    while (code == EINTR);
    if (!code) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no %zu bytes of shared memory: %s", bytes, strerror(code));
}

/* A file above the limit would end the process by a signal. */
static tutti_status make_file(tutti_shm *s)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < s->bytes)
        return tutti_fail(TUTTI_ERR_NOMEM,
            "shared memory needs %zu bytes, and this process may have files of %llu (see ulimit "
            "-f)",
            s->bytes, (unsigned long long)limit.rlim_cur);
    s->file = memfd_create("tutti", MFD_CLOEXEC);
    if (s->file < 0 || ftruncate(s->file, (off_t)s->bytes))
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no shared memory of %zu bytes: %s", s->bytes, strerror(errno));
    return reserve(s, 0, (size_t)s->layout.arena);
}

/* A file of process `pid`, by its descriptor. */
static int open_file(int64_t pid, int64_t file, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)pid, (long long)file);
    return open(path, flags | O_RDWR | O_CLOEXEC);
}

/* One descriptor has both ends: a process that rings has a reader, its own, and gets no signal. */
static tutti_status make_bell(tutti_shm *s)
{
    int ends[2];
    if (!pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        s->bell = open_file(getpid(), ends[0], O_NONBLOCK);
        close(ends[0]);
        close(ends[1]);
    }
    if (s->bell >= 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no pipe for shared memory: %s", strerror(errno));
}

static uint64_t draw_key(const tutti_shm_name *name)
{
    const uint64_t now = (uint64_t)(tutti_clock_s() * 1e9);
    return 1 | tutti_rng_below((uint64_t)name->pid, now, (uint64_t)name->file, UINT64_MAX);
}

tutti_status tutti_shm_create(const tutti_shm_options *o, tutti_shm **shm)
{
    if (o->rings < 1 || o->rings > MOST_RINGS || o->ring_bytes < LINE ||
        (o->ring_bytes & (o->ring_bytes - 1)) || o->ring_bytes > (size_t)1 << 30 ||
        o->arena_bytes > (size_t)1 << 46)
        return tutti_fail(TUTTI_ERR_INVAL,
            "no shared memory with %d rings of %zu bytes, and %zu bytes for buffers", o->rings,
            o->ring_bytes, o->arena_bytes);
    head layout = {.rings = (uint64_t)o->rings,
        .ring_bytes = o->ring_bytes,
        .arena_bytes = round_up(o->arena_bytes, PAGE)};
    layout.arena = PAGE + layout.rings * ring_stride(&layout);
    tutti_shm *s;
    tutti_status status = new_shm(&layout, &s);
    if (status) return status;
    status = make_file(s);
    if (!status) status = map_memory(s, s->file);
    if (!status) status = make_bell(s);
    if (status) {
        tutti_shm_close(s);
        return status;
    }
    s->name = (tutti_shm_name){.pid = getpid(), .file = s->file, .bell = s->bell};
    tutti_process_look(s->name.pid, NULL, &s->name.began);
    s->layout.key = s->name.key = draw_key(&s->name);
    memcpy(s->memory, &s->layout, sizeof s->layout);
    *shm = s;
    return TUTTI_OK;
}

void tutti_shm_get_name(const tutti_shm *shm, tutti_shm_name *name)
{
    *name = shm->name;
}

/* Whether this file is the memory with that name. */
static int check_file(int file, const tutti_shm_name *name, head *layout)
{
    struct stat now;
    return pread(file, layout, sizeof *layout, 0) == (ssize_t)sizeof *layout &&
           layout->key == name->key && !fstat(file, &now) && layout->rings <= MOST_RINGS &&
           layout->arena == PAGE + layout->rings * ring_stride(layout) &&
           total_bytes(layout) == (size_t)now.st_size;
}

tutti_status tutti_shm_map(const tutti_shm_name *name, tutti_shm **shm)
{
    head layout;
    tutti_shm *s = NULL;
    const int bell = open_file(name->pid, name->bell, O_NONBLOCK),
              file = open_file(name->pid, name->file, 0);
    if (bell < 0 || file < 0) {
        if (bell >= 0) close(bell);
        if (file >= 0) close(file);
        return tutti_fail(TUTTI_ERR_COMM, "the shared memory of process %lld cannot be opened: %s",
            (long long)name->pid, strerror(errno));
    }
    tutti_status status = check_file(file, name, &layout)
                              ? new_shm(&layout, &s)
                              : tutti_fail(TUTTI_ERR_COMM,
                                    "process %lld is another one here: do the ranks see the same "
                                    "processes (containers)?",
                                    (long long)name->pid);
    if (!status) status = map_memory(s, file);
    close(file);
    if (s)
        s->bell = bell;
    else
        close(bell);
    if (status) {
        tutti_shm_close(s);
        return status;
    }
    s->name = *name;
    *shm = s;
    return TUTTI_OK;
}

/* ---- the arena ---- */

static unsigned char *arena(const tutti_shm *s)
{
    return s->memory + s->layout.arena;
}

static int is_free(const block *b)
{
    return !b->taken && !b->lent;
}

/* The block that has this byte of the arena; NULL: none. Lock held. */
static block *find_block(tutti_shm *s, size_t at)
{
    int low = 0, high = s->blocks;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->block[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    block *b = low ? &s->block[low - 1] : NULL;
    return b && at - b->at < b->bytes ? b : NULL;
}

/* Cuts the first `bytes` bytes off. Lock held. */
static int split_block(tutti_shm *s, int i, size_t bytes)
{
    if (s->block[i].bytes == bytes) return 1;
    if (s->blocks == s->room) {
        block *more = realloc(s->block, 2 * (size_t)s->room * sizeof *more);
        if (!more) return 0;
        s->block = more;
        s->room *= 2;
    }
    memmove(&s->block[i + 2], &s->block[i + 1], (size_t)(s->blocks - i - 1) * sizeof *s->block);
    s->blocks++;
    block *b = &s->block[i];
    b[1] = (block){.at = b->at + bytes, .bytes = b->bytes - bytes};
    b->bytes = bytes;
    return 1;
}

/* Joins free neighbours. Lock held. */
static void join_blocks(tutti_shm *s)
{
    int kept = 0;
    for (int i = 1; i < s->blocks; i++)
        if (is_free(&s->block[kept]) && is_free(&s->block[i]))
            s->block[kept].bytes += s->block[i].bytes;
        else
            s->block[++kept] = s->block[i];
    s->blocks = kept + 1;
}

tutti_status tutti_shm_take(tutti_shm *s, size_t bytes, void **memory)
{
    const size_t needed = round_up(bytes ? bytes : 1, LINE);
    tutti_status status = TUTTI_OK;
    pthread_mutex_lock(&s->lock);
    int i = 0;
    while (i < s->blocks && (!is_free(&s->block[i]) || s->block[i].bytes < needed)) i++;
    if (needed < bytes || i == s->blocks || !split_block(s, i, needed))
        status = tutti_fail(TUTTI_ERR_NOMEM,
            "a buffer of %zu bytes does not fit into the %llu bytes of shared memory", bytes,
            (unsigned long long)s->layout.arena_bytes);
    else
        status = reserve(s, (size_t)s->layout.arena + s->block[i].at, needed);
    if (!status) {
        s->block[i].taken = 1;
        *memory = arena(s) + s->block[i].at;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void tutti_shm_give(tutti_shm *s, void *memory)
{
    if (!memory) return;
    pthread_mutex_lock(&s->lock);
    block *b = find_block(s, (size_t)((unsigned char *)memory - arena(s)));
    if (b) b->taken = 0;
    join_blocks(s);
    pthread_mutex_unlock(&s->lock);
}

size_t tutti_shm_used(tutti_shm *s)
{
    size_t used = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->blocks; i++) used += is_free(&s->block[i]) ? 0 : s->block[i].bytes;
    pthread_mutex_unlock(&s->lock);
    return used;
}

/* ---- sleeping ---- */

/* Of the process whose memory it is: a line of its own in the first page. */
static _Atomic uint32_t *asleep(const tutti_shm *s)
{
    return (_Atomic uint32_t *)(void *)(s->memory + 2 * LINE);
}

enum { AWAKE, ASLEEP, DOZING /* in poll(2) */ };

/* A writer stores its count, then reads whether the reader sleeps; that one says that it sleeps, then reads the count:
 * in the one order of all four, at least one sees the other. */
int tutti_shm_sleep(tutti_shm *s, int (*may_move)(void *ctx), void *ctx, double timeout_s)
{
    const struct timespec most = {
        (time_t)timeout_s, (long)(1e9 * (timeout_s - (double)(time_t)timeout_s))};
    atomic_store(asleep(s), ASLEEP);
    const int sleeps = !may_move(ctx);
    if (sleeps) syscall(SYS_futex, asleep(s), FUTEX_WAIT, ASLEEP, &most, NULL, 0);
    atomic_store(asleep(s), AWAKE);
    return sleeps;
}

int tutti_shm_doze(tutti_shm *s)
{
    atomic_store(asleep(s), DOZING);
    return s->bell;
}

void tutti_shm_rise(tutti_shm *s, int rang)
{
    char rings[64];
    atomic_store(asleep(s), AWAKE);
    if (rang) (void)!read(s->bell, rings, sizeof rings);
}

void tutti_shm_wake(tutti_shm *s)
{
    const uint32_t how = atomic_load(asleep(s)) ? atomic_exchange(asleep(s), AWAKE) : AWAKE;
    if (how == ASLEEP) syscall(SYS_futex, asleep(s), FUTEX_WAKE, 1, NULL, NULL, 0);
    if (how == DOZING) (void)!write(s->bell, "", 1);
}

/* ---- connections ---- */

static const double look_s = 50e-3; /* how often to see whether the other process is there */

typedef struct shm_stream {
    tutti_stream base;
    tutti_shm *mine, *theirs;
    ring *in, *out;
    double looked_s;
} shm_stream;

/* Copies into the ring, from this count on. */
static void put_bytes(ring *r, uint64_t at, size_t size, const void *from, size_t bytes)
{
    const size_t begin = (size_t)(at & (size - 1)), first = size - begin;
    const size_t now = bytes < first ? bytes : first;
    memcpy(r->bytes + begin, from, now);
    if (bytes > now) memcpy(r->bytes, (const char *)from + now, bytes - now);
}

static void get_bytes(const ring *r, uint64_t at, size_t size, void *to, size_t bytes)
{
    const size_t begin = (size_t)(at & (size - 1)), first = size - begin;
    const size_t now = bytes < first ? bytes : first;
    memcpy(to, r->bytes + begin, now);
    if (bytes > now) memcpy((char *)to + now, r->bytes, bytes - now);
}

static ssize_t refuse_counts(tutti_stream *s)
{
    snprintf(s->why, sizeof s->why, "has damaged the shared memory");
    return -1;
}

static ssize_t shm_write(tutti_stream *s, const struct iovec *part, int parts)
{
    shm_stream *m = (shm_stream *)s;
    const size_t size = (size_t)m->theirs->layout.ring_bytes;
    uint64_t at = atomic_load_explicit(&m->out->written, memory_order_relaxed);
    const uint64_t used = at - atomic_load_explicit(&m->out->read, memory_order_acquire);
    if (used > size) return refuse_counts(s);
    size_t left = size - (size_t)used;
    const size_t room = left;
    for (int i = 0; i < parts && left; i++) {
        size_t bytes = part[i].iov_len < left ? part[i].iov_len : left;
        if (bytes) put_bytes(m->out, at, size, part[i].iov_base, bytes);
        at += bytes;
        left -= bytes;
    }
    if (left == room) return 0;
    atomic_store(&m->out->written, at);
    tutti_shm_wake(m->theirs);
    return (ssize_t)(room - left);
}

static ssize_t shm_read(tutti_stream *s, void *to, size_t most)
{
    shm_stream *m = (shm_stream *)s;
    const size_t size = (size_t)m->mine->layout.ring_bytes;
    const int ended = atomic_load_explicit(&m->in->ended, memory_order_acquire);
    const uint64_t at = atomic_load_explicit(&m->in->read, memory_order_relaxed);
    const uint64_t ready = atomic_load_explicit(&m->in->written, memory_order_acquire) - at;
    if (ready > size) return refuse_counts(s);
    if (!ready && ended) {
        snprintf(s->why, sizeof s->why, "has closed the connection");
        return -1;
    }
    const size_t bytes = ready < most ? (size_t)ready : most;
    if (!bytes) return 0;
    get_bytes(m->in, at, size, to, bytes);
    atomic_store(&m->in->read, at + bytes);
    tutti_shm_wake(m->theirs);
    return (ssize_t)bytes;
}

static int shm_is_ready(const tutti_stream *s, int writes)
{
    const shm_stream *m = (const shm_stream *)s;
    const uint64_t room = m->theirs->layout.ring_bytes;
    return atomic_load(&m->in->ended) ||
           atomic_load(&m->in->written) != atomic_load(&m->in->read) ||
           (writes && atomic_load(&m->out->written) - atomic_load(&m->out->read) < room);
}

static int shm_is_dead(tutti_stream *s, double now_s)
{
    shm_stream *m = (shm_stream *)s;
    const tutti_shm_name *them = &m->theirs->name;
    char state = 'X';
    int64_t began = 0;
    if (now_s - m->looked_s < look_s) return 0;
    m->looked_s = now_s;
    int is_there = tutti_process_look(them->pid, &state, &began);
    return !is_there || began != them->began || state == 'Z' || state == 'X';
}

/* The place of the first byte of the arena is 1. */
static uint64_t shm_lend(tutti_stream *s, const void *data, size_t bytes)
{
    tutti_shm *m = ((shm_stream *)s)->mine;
    const uintptr_t at = (uintptr_t)data - (uintptr_t)arena(m);
    if (at >= m->layout.arena_bytes) return 0;
    pthread_mutex_lock(&m->lock);
    block *b = find_block(m, at);
    const int fits = b && b->taken && bytes <= b->bytes - (at - b->at);
    if (fits) b->lent++;
    pthread_mutex_unlock(&m->lock);
    return fits ? at + 1 : 0;
}

static void shm_take_back(tutti_stream *s, uint64_t place)
{
    tutti_shm *m = ((shm_stream *)s)->mine;
    pthread_mutex_lock(&m->lock);
    block *b = find_block(m, place - 1);
    if (b && !--b->lent && !b->taken) join_blocks(m);
    pthread_mutex_unlock(&m->lock);
}

static void *shm_reach(tutti_stream *s, uint64_t place, size_t bytes)
{
    const tutti_shm *t = ((shm_stream *)s)->theirs;
    const uint64_t most = t->layout.arena_bytes;
    if (place - 1 >= most || bytes > most - (place - 1)) return NULL;
    return arena(t) + (place - 1);
}

static void shm_shut(tutti_stream *s)
{
    shm_stream *m = (shm_stream *)s;
    atomic_store(&m->out->ended, 1);
    tutti_shm_wake(m->theirs);
}

static void shm_close_stream(tutti_stream *s)
{
    shm_shut(s);
    free(s);
}

static const tutti_stream_ops shm_ops = {
    .write = shm_write,
    .read = shm_read,
    .is_dead = shm_is_dead,
    .is_ready = shm_is_ready,
    .lend = shm_lend,
    .take_back = shm_take_back,
    .reach = shm_reach,
    .shut = shm_shut,
    .close = shm_close_stream,
};

tutti_status tutti_shm_connect(tutti_shm *mine, int in, tutti_shm *theirs, int out,
    const tutti_connection_options *options, tutti_connection **connection)
{
    if (in < 0 || out < 0 || (uint64_t)in >= mine->layout.rings ||
        (uint64_t)out >= theirs->layout.rings)
        return tutti_fail(TUTTI_ERR_INVAL, "no rings %d and %d in the shared memory", in, out);
    shm_stream *s = calloc(1, sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
    *s = (shm_stream){.base = {.ops = &shm_ops, .socket = -1, .wakes = 1, .file = -1},
        .mine = mine,
        .theirs = theirs,
        .in = find_ring(mine, in),
        .out = find_ring(theirs, out),
        .looked_s = tutti_clock_s()};
    return tutti_connection_open_over(&s->base, options, connection);
}
