/* What the files of the fake share: its lock, its settings, the calling thread's device and error. */
#ifndef TUTTI_DEVICE_STATE_H
#define TUTTI_DEVICE_STATE_H

#include "tests/device/fake/fake.h"

#include <pthread.h>

enum { MOST_DEVICES = 8 };
typedef enum fake_order { ORDER_EAGER, ORDER_LATE, ORDER_RANDOM } fake_order;

typedef struct fake_settings {
    int devices;
    int driver;            /* the newest CUDA that the driver serves: 13000 */
    int bus[MOST_DEVICES]; /* the number of each on the machine, which CUDA_VISIBLE_DEVICES has */
    int capability[MOST_DEVICES]; /* of each, times 10: 90 */
    size_t memory;
    fake_order order;
    uint64_t seed;
    int peers;
    const char *report;     /* NULL: none */
    const char *unrecorded; /* NULL: none */
} fake_settings;

/* Every entry calls this first: sets up the fake, and takes its lock, which protects all of it. A
 * call of CUDA by an operation is refused. */
void fake_enter(const char *call);
void fake_leave(void);
extern pthread_mutex_t fake_lock;
/* Leaves, and keeps the error for cudaGetLastError. */
cudaError_t fake_return(cudaError_t error);

const fake_settings *fake_get_settings(void);
/* Whether the driver serves this CUDA: of the same first number, or newer. */
int fake_serves(void);

/* The calling thread's. */
extern _Thread_local int fake_device;
extern _Thread_local cudaError_t fake_error;
extern _Thread_local int fake_in_operation; /* this is the fake's thread, in an operation */

/* Counts, under the lock. */
void count_add(fake_count count, const char *call, uint64_t n);
void count_report(void);

double fake_now(void); /* seconds */

#endif
