# NCCL, for collectives between GPUs: HAVE_NCCL, NCCL_CFLAGS, NCCL_LIBS. It may be missing.
AC_DEFUN([TUTTI_NCCL], [
  AC_REQUIRE([TUTTI_CUDA])
  TUTTI_CUDA_OPTION([nccl], [NCCL], [nccl.h], [ncclCommSplit])
])
