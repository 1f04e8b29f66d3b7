# cuDNN, for convolutions on GPUs: HAVE_CUDNN, CUDNN_CFLAGS, CUDNN_LIBS. It may be missing.
AC_DEFUN([TUTTI_CUDNN], [
  AC_REQUIRE([TUTTI_CUDA])
  TUTTI_CUDA_OPTION([cudnn], [cuDNN], [cudnn.h], [cudnnGetLastErrorString])
])
