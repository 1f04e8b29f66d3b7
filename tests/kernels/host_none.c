#include "tests/kernels/host_rows.h"

const tutti_kernel *const test_host_rows[] = {NULL}, *const test_host_tf32[] = {NULL};
