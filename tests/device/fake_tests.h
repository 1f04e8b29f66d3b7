/* What the files of test_fake share. */
#ifndef TUTTI_DEVICE_FAKE_TESTS_H
#define TUTTI_DEVICE_FAKE_TESTS_H

#include "tests/device/child.h"
#include "tests/device/fake/fake.h"
#include "tests/support/testing.h"

static const char *const all_orders[] = {"eager", "late", "random"};
enum { ORDERS = 3 };

/* Ends the process unless it is true: for children, which have no Check. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) fake_fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition);          \
    } while (0)
#define CUDA(call) REQUIRE((call) == cudaSuccess)

/* A stream that does not know the default stream; memory of the current device; pinned memory with
 * these numbers from `first`. */
cudaStream_t stream_new(void);
float *device_new(int count);
float *pinned_new(int count, float first);
/* A kernel: to[i] = from[i] + 1. */
void increase(cudaStream_t stream, const float *from, float *to, int count);

void add_memory_tests(Suite *suite);
void add_order_tests(Suite *suite);
void add_copy_tests(Suite *suite);
void add_misuse_tests(Suite *suite);
void add_graph_tests(Suite *suite);
void add_graph_misuse_tests(TCase *tests);

#endif
