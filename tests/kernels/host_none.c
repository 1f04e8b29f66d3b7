#include "tests/kernels/host_rows.h"

const tutti_kernel *const test_host_rows[] = {NULL};
