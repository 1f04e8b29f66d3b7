#include "tests/device/fake/memory.h"

#include "tests/device/fake/queue.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Addresses that are seldom anything else: as the bits of a float or an int they are odd. */
#define FIRST_ADDRESS 0x5d1a00000000
#define DEVICE_SPAN ((size_t)1 << 38)
#define SPAN (MOST_DEVICES * DEVICE_SPAN)
enum { PAGE = 4096, ALIGNMENT = 256 };

typedef struct blocks {
    block **block; /* by address */
    int count, room;
} blocks;

static char *base, *inside;
static int memfd;
static size_t next[MOST_DEVICES], used[MOST_DEVICES];
static blocks of_devices, pinned;
static uint64_t allocations;
static struct sigaction before[2];
static const int caught[2] = {SIGSEGV, SIGBUS};

/* ---- Blocks by address ---- */

/* The last that begins at or before the address; -1. */
static int last_before(const blocks *all, const char *address)
{
    int from = 0, to = all->count;
    while (from < to) {
        const int middle = (from + to) / 2;
        if (all->block[middle]->address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from - 1;
}

static block *find(const blocks *all, const char *address)
{
    const int i = last_before(all, address);
    if (i < 0) return NULL;
    block *b = all->block[i];
    return address < b->address + (b->bytes ? b->bytes : 1) ? b : NULL;
}

static block *add(blocks *all, const block *b)
{
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->block = realloc(all->block, (size_t)all->room * sizeof *all->block);
        if (!all->block) fake_fail("no memory for the list of blocks");
    }
    const int at = last_before(all, b->address) + 1;
    memmove(all->block + at + 1, all->block + at, (size_t)(all->count - at) * sizeof *all->block);
    block *added = malloc(sizeof *added);
    if (!added) fake_fail("no memory for a block");
    *added = *b;
    added->number = ++allocations;
    all->block[at] = added;
    all->count++;
    return added;
}

static void take_out(blocks *all, block *b)
{
    const int at = last_before(all, b->address);
    memmove(
        all->block + at, all->block + at + 1, (size_t)(all->count - at - 1) * sizeof *all->block);
    all->count--;
    free(b);
}

/* ---- Faults ---- */

int memory_is_device(const void *address)
{
    return (const char *)address >= base && (const char *)address < base + SPAN;
}

static int is_freed_pinned(const char *address)
{
    const block *b = find(&pinned, address);
    return b && !b->live;
}

/* Says what was touched; then whoever was there before. Locks nothing: the thread may hold the lock. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    char text[256] = "";
    const char *address = info->si_addr;
    const char *who = fake_in_operation ? "an operation or a host function" : "the host";
    if (memory_is_device(address))
        snprintf(text, sizeof text,
            "fake device: %s reads or writes at %p, which is device %d's memory\n", who,
            (void *)address, (int)((size_t)(address - base) / DEVICE_SPAN));
    else if (address >= inside && address < inside + SPAN)
        snprintf(text, sizeof text,
            "fake device: %s reads or writes outside of live memory, at %p of device %d\n", who,
            (void *)(base + (address - inside)), (int)((size_t)(address - inside) / DEVICE_SPAN));
    else if (is_freed_pinned(address))
        snprintf(text, sizeof text,
            "fake device: %s reads or writes at %p, in pinned memory that was freed\n", who,
            (void *)address);
    if (*text && write(STDERR_FILENO, text, strlen(text)) < 0) abort();
    sigaction(signal, &before[signal == SIGBUS], NULL); /* the instruction runs again, and faults */
}

static void catch_faults(void)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (int i = 0; i < 2; i++) sigaction(caught[i], &action, &before[i]);
}

void memory_open(void)
{
    const int flags = MAP_NORESERVE;
    base = mmap((void *)FIRST_ADDRESS, SPAN, PROT_NONE,
        flags | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (base == MAP_FAILED) fake_fail("the addresses of its devices are in use");
    memfd = memfd_create("fake device", MFD_CLOEXEC);
    if (memfd < 0 || ftruncate(memfd, (off_t)SPAN)) fake_fail("no memory for its devices");
    inside = mmap(NULL, SPAN, PROT_NONE, flags | MAP_SHARED, memfd, 0);
    if (inside == MAP_FAILED) fake_fail("no addresses for its devices' memory");
    madvise(inside, SPAN, MADV_DONTDUMP);
    for (int d = 0; d < MOST_DEVICES; d++) next[d] = PAGE; /* nothing lies before the first block */
    catch_faults();
}

/* ---- A device's memory ---- */

char *memory_inside(const void *address)
{
    return memory_is_device(address) ? inside + ((const char *)address - base) : (char *)address;
}

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void protect(char *from, size_t bytes, int how)
{
    if (mprotect(from, bytes, how)) fake_fail("mprotect failed: too many blocks of memory");
}

/* One page that nobody may touch lies between two blocks. */
cudaError_t memory_new(int device, size_t bytes, void **address)
{
    const size_t aligned = round_up(bytes, ALIGNMENT), pages = round_up(aligned, PAGE);
    if (used[device] + pages > fake_get_settings()->memory) return cudaErrorMemoryAllocation;
    const size_t at = next[device];
    if (at + pages + PAGE > DEVICE_SPAN) fake_fail("device %d has no more addresses", device);
    next[device] += pages + PAGE;
    used[device] += pages;
    char *start = base + (size_t)device * DEVICE_SPAN + at;
    protect(memory_inside(start), pages, PROT_READ | PROT_WRITE);
    memset(memory_inside(start), POISON, pages);
    const block b = {
        .address = start + (pages - aligned), .bytes = bytes, .device = device, .live = 1};
    *address = add(&of_devices, &b)->address;
    return cudaSuccess;
}

static void check_margin(
    const char *call, const block *b, const char *from, const char *to, const char *where)
{
    for (const char *c = from; c < to; c++)
        if (*(const unsigned char *)c != POISON)
            fake_fail("%s: something wrote at %p, %s the %zu bytes at %p", call,
                (void *)(base + (c - inside)), where, b->bytes, (void *)b->address);
}

/* What is in its pages but not of it was not written. */
static void check_margins(const char *call, const block *b)
{
    const char *data = memory_inside(b->address);
    check_margin(call, b, data - (size_t)(data - inside) % PAGE, data, "before");
    check_margin(call, b, data + b->bytes, data + round_up(b->bytes, ALIGNMENT), "behind");
}

static void release_device(const char *call, block *b)
{
    check_margins(call, b);
    char *start = memory_inside(b->address - (size_t)(b->address - base) % PAGE);
    const size_t pages = round_up(round_up(b->bytes, ALIGNMENT), PAGE);
    protect(start, pages, PROT_NONE);
    if (fallocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start - inside, (off_t)pages))
        fake_fail("%s: memory cannot be given back", call);
    used[b->device] -= pages;
    b->live = 0;
}

/* ---- Pinned memory ---- */

cudaError_t memory_pin_new(size_t bytes, void **address)
{
    const size_t pages = round_up(bytes ? bytes : 1, PAGE);
    char *start = mmap(NULL, pages + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return cudaErrorMemoryAllocation;
    protect(start, pages, PROT_READ | PROT_WRITE);
    memset(start, POISON, pages);
    const block b = {.address = start, .bytes = bytes, .device = -1, .live = 1};
    *address = add(&pinned, &b)->address;
    return cudaSuccess;
}

void memory_register(void *address, size_t bytes)
{
    const block b = {.address = address, .bytes = bytes, .device = -1, .live = 1, .registered = 1};
    add(&pinned, &b);
}

/* Its addresses stay, so that nobody else gets them. */
static void release_pinned(block *b)
{
    const size_t pages = round_up(b->bytes ? b->bytes : 1, PAGE);
    protect(b->address, pages, PROT_NONE);
    madvise(b->address, pages, MADV_DONTNEED);
    b->live = 0;
}

void memory_release(const char *call, block *b)
{
    const operation *op = queue_user(b->address, b->bytes, 0);
    if (op)
        fake_fail("%s: %p is in use: nobody has waited for %s on %s", call, (void *)b->address,
            op->work.call, queue_name(queue_at(op->at.stream)));
    if (b->device >= 0)
        release_device(call, b);
    else if (b->registered)
        take_out(&pinned, b);
    else
        release_pinned(b);
}

void memory_reset(const char *call, int device)
{
    for (int i = 0; i < of_devices.count; i++)
        if (of_devices.block[i]->device == device && of_devices.block[i]->live)
            memory_release(call, of_devices.block[i]);
}

/* ---- Questions ---- */

block *memory_find(const void *address)
{
    return find(memory_is_device(address) ? &of_devices : &pinned, address);
}

place_kind memory_place(const char *call, const void *address, size_t bytes, block **found)
{
    block *b = memory_find(address);
    const int device = memory_is_device(address);
    if (device && !b) fake_fail("%s: no memory of a device is at %p", call, address);
    if (b && !b->live)
        fake_fail("%s: %p is in %zu bytes of %s that were freed", call, address, b->bytes,
            device ? "a device's memory" : "pinned memory");
    if (b && (const char *)address + bytes > b->address + b->bytes) {
        if (device || !b->registered)
            fake_fail("%s: %zu bytes at %p are more than there are: %zu at %p", call, bytes,
                address, b->bytes, (void *)b->address);
        b = NULL; /* partly pinned */
    }
    if (found) *found = b;
    return device ? PLACE_DEVICE : b ? PLACE_PINNED : PLACE_PAGEABLE;
}

size_t memory_used(int device)
{
    return used[device];
}
