/* The devices' memory, and what the host has pinned. All under the fake's lock.
 *
 * Device k's addresses are [base + k * DEVICE_SPAN, + DEVICE_SPAN), where nothing may be read or written. The same
 * span at `inside` is a memfd, in which only live allocations are accessible. An address is never
 * used twice. An allocation ends where its pages end, as far as its alignment (256) allows; what
 * remains is looked at when it is freed. */
#ifndef TUTTI_DEVICE_MEMORY_H
#define TUTTI_DEVICE_MEMORY_H

#include "tests/device/fake/state.h"

typedef enum place_kind { PLACE_PAGEABLE, PLACE_PINNED, PLACE_DEVICE } place_kind;

typedef struct block {
    char *address; /* of a device, or the host's */
    size_t bytes;
    int device; /* -1: pinned memory */
    int live;
    uint64_t number; /* of the allocation: no other block has it */
    int scratch;     /* fake_scratch */
    int registered;  /* pinned by cudaHostRegister: not ours to release */
} block;

void memory_open(void);

/* cudaErrorMemoryAllocation if the device has no room. */
cudaError_t memory_new(int device, size_t bytes, void **address);
cudaError_t memory_pin_new(size_t bytes, void **address);
void memory_register(void *address, size_t bytes);
/* Poisons and takes the block from its user. */
void memory_release(const char *call, block *b);
/* All of the device. */
void memory_reset(const char *call, int device);

/* The block, live or not, that begins at or before the address and contains it; NULL. */
block *memory_find(const void *address);
/* Whether the address is in the span of a device. */
int memory_is_device(const void *address);
/* Where [address, +bytes) is; a misuse unless it is live where it is a device's. */
place_kind memory_place(const char *call, const void *address, size_t bytes, block **b);
/* The fake's own mapping of a device's address; another address as it is. */
char *memory_inside(const void *address);
size_t memory_used(int device);
/* api_device.c: whether operations of a device may access the memory of the other. */
int device_reaches(int device, int other);

enum { POISON = 0xff }; /* floats of it are NaN */

#endif
