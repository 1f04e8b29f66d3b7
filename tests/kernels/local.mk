# Tests of kernels.
