/* The fake device: a libcudart.so.13 that runs on the processor, for machines without a GPU.
 *
 * Programs and libraries that were linked with CUDA's run time get it through LD_LIBRARY_PATH or
 * LD_PRELOAD. It has several devices. Their addresses cannot be read or written by the program; the
 * fake reaches the memory behind them through a second mapping. What is put on streams runs later,
 * on a thread of the fake, in an order that a seed chooses among the legal ones. A misuse ends the
 * program (SIGABRT) after one sentence on stderr, which begins with "fake device:".
 *
 *   TUTTI_FAKE_DEVICES     how many devices there are, 0 to 8 (1)
 *   TUTTI_FAKE_MEMORY_MB   the memory of each (4096)
 *   TUTTI_FAKE_CAPABILITY  the compute capability of each, 75 for 7.5, as a list, whose last number is that of
 *                          all further ones (90)
 *   TUTTI_FAKE_DRIVER      the newest CUDA that the driver serves, 12040 for 12.4; where that is too
 *                          old, no device can be used (the CUDA of the headers)
 *   TUTTI_FAKE_ORDER       eager: as early as is legal; late: as late as is legal; random (random)
 *   TUTTI_FAKE_SEED        of late and random (1)
 *   TUTTI_FAKE_PEERS       0: no device may access another's memory (1)
 *   TUTTI_FAKE_UNRECORDED  the name of a call, as in sentences, that makes a capture invalid
 *   TUTTI_FAKE_DROPS_NANS  1: a ReLU of cuBLASLt makes 0 of a NaN (0)
 *   TUTTI_FAKE_REPORT      a file that gets the counts when the process ends, as lines "name value";
 *                          %p in its name is the process's number
 *   CUDA_VISIBLE_DEVICES   as for CUDA, with numbers
 *
 * Operations are not run at the same time. Instead, each says what it reads and writes, and two that
 * are not ordered (by a stream, an event, the default stream's rules, or because the program has
 * seen the first complete before it enqueued the second) must not touch the same bytes if one
 * writes: this is a misuse in every order. It is found when the second is put on its stream.
 *
 * This header is for those who build on it: the fakes of other libraries, which leave work on
 * streams, and tests. All functions may be called by any thread, but not by an operation. */
#ifndef TUTTI_DEVICE_FAKE_H
#define TUTTI_DEVICE_FAKE_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Work on streams ---- */

/* FAKE_TOUCH: it is not known whether it reads or writes; such a one is only compared with writes. */
typedef enum fake_mode { FAKE_READ = 1, FAKE_WRITE = 2, FAKE_TOUCH = 4 } fake_mode;

/* Bytes that an operation reads or writes: `rows` pieces of `bytes`, a pitch apart (1 row: the pitch
 * does not matter). Addresses as the program knows them: of a device, or of the host. */
typedef struct fake_access {
    const void *address;
    size_t bytes;
    fake_mode mode;
    size_t rows, pitch; /* 0 rows: one */
} fake_access;

typedef struct fake_work {
    const char *call; /* its name in sentences, which stays valid: "cudnnConvolutionForward" */
    /* Runs on the fake's thread, after everything that is before it on its stream, and may call
     * nothing of CUDA. Returns 1 when it is done, 0 to be called again a little later: its stream
     * waits until then, others go on. It releases `arg` before it returns 1. */
    int (*run)(void *arg);
    void *arg;
    /* Of arg, which malloc returned: each launch of a graph gets a copy of it. 0: no graph may have this work. */
    size_t bytes;
    const fake_access *access; /* copied */
    int accesses;
    /* That it would take: the times of events behind it are so much later, and nothing else. */
    double seconds;
} fake_work;

/* Leaves work on a stream of the current device, as a kernel's launch does; counted as a launch. On a stream that
 * is captured it is recorded; cudaGetLastError is then what became of it. */
void fake_enqueue(cudaStream_t stream, const fake_work *work);

/* Where the fake has these bytes, which must be live memory of the current device, or of one whose
 * access it has enabled. To be used by operations only; valid until the memory is freed, which
 * must not be as long as an operation may use it. `call` is named in sentences. */
void *fake_inside(const char *call, const void *address, size_t bytes);

/* For the parameters of a kernel, whose types are not known: each aligned word in them that is a
 * device's address is replaced by its address inside. Returns how many accesses (FAKE_TOUCH of a
 * byte, or FAKE_WRITE of scratch memory) this wrote to access[], which has room for bytes / 8. */
int fake_inside_all(const char *call, void *parameters, size_t bytes, fake_access *access);

/* Memory of a device (from cudaMalloc) in which a kernel keeps what one launch leaves to the next:
 * every kernel that touches it writes it. */
void fake_scratch(const void *address);

/* Memory of the current device that a library takes for itself, uncounted; NULL: there is no room. disown
 * accepts NULL. */
void *fake_own(size_t bytes);
void fake_disown(void *memory);

/* Ends the process with this sentence. */
void fake_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- Counts ---- */

typedef enum fake_count {
    FAKE_ALLOCATIONS, /* of a device's memory, by the program */
    FAKE_ALLOCATED_BYTES,
    FAKE_FREES,
    FAKE_FREED_BYTES,
    FAKE_HOST_ALLOCATIONS, /* of pinned memory; and host memory that is registered */
    FAKE_HOST_FREES,
    FAKE_TO_DEVICE, /* copies, asynchronous or not */
    FAKE_TO_DEVICE_BYTES,
    FAKE_TO_HOST,
    FAKE_TO_HOST_BYTES,
    FAKE_ON_DEVICE, /* from a device to the same */
    FAKE_ON_DEVICE_BYTES,
    FAKE_BETWEEN_DEVICES,
    FAKE_BETWEEN_DEVICES_BYTES,
    FAKE_PAGEABLE, /* those of the copies above whose host memory is not pinned */
    FAKE_FILLS,
    FAKE_LAUNCHES,
    FAKE_HOST_FUNCTIONS,
    FAKE_SYNCHRONISATIONS, /* calls in which the host waits for a device */
    FAKE_STREAMS,          /* created */
    FAKE_EVENTS,           /* created */
    FAKE_GRAPHS,           /* instantiated */
    FAKE_CAPTURED,         /* operations recorded; they count as nothing else */
    FAKE_GRAPH_LAUNCHES, /* whose copies and fills are counted, and whose kernels are not launches */
    FAKE_COUNTS
} fake_count;

/* Since the process began. */
void fake_counts(uint64_t counts[FAKE_COUNTS]);
const char *fake_count_name(fake_count count);
/* From now on what is counted by one of these (bits 1 << FAKE_...) is a misuse. 0: all is allowed. */
void fake_forbid(unsigned counts);

#ifdef __cplusplus
}
#endif

#endif
