/* Programs that use a device right, and with one line left out, moved or added misuse it. */
#ifndef TUTTI_DEVICE_FAKE_PROGRAMS_H
#define TUTTI_DEVICE_FAKE_PROGRAMS_H

#include "tests/device/fake_tests.h"

enum { COUNT = 64 };
#define BYTES (COUNT * sizeof(float))

/* What they have, made anew by begin: two streams, memory pinned (3, 4, ... and 0, 1, ...) and of device 0. */
extern cudaStream_t a, b;
extern float *pinned, *back, *x, *y;
void begin(void);
/* What is then put on `then` comes after what is on `first`. */
void order_by_event(cudaStream_t first, cudaStream_t then);
cudaEvent_t event_new(void);
void in_another_thread(void *(*body)(void *unused));

/* Of graphs: a capture, which ends with the graph instantiated; back[i] = pinned[i] + 1 by way of x and y, as three
 * operations, and as a graph; whether it is so. */
void capture(cudaStream_t stream);
cudaGraphExec_t end_capture(cudaStream_t stream);
void put_increase(cudaStream_t stream);
cudaGraphExec_t capture_increase(void);
void check_increased(float first);
void launch_and_wait(cudaGraphExec_t exec, cudaStream_t stream);

typedef struct fake_program {
    const char *name;
    void (*run)(int wrong); /* after begin */
    const char *sentence;   /* with which the wrong one ends */
    const char *only;       /* the order in which it shows; NULL: all */
} fake_program;
/* In every order, on two devices: right ones pass and say nothing, wrong ones end with their sentence. */
void run_programs(const fake_program *programs, size_t count, int wrong);

#endif
