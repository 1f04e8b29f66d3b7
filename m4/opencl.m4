# OpenCL, for a test whose data are on a device: OPENCL_LIBS, HAVE_OPENCL. It may be missing, here or in StarPU.
AC_DEFUN([TUTTI_OPENCL], [
  AC_REQUIRE([TUTTI_STARPU])
  tutti_saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $STARPU_CFLAGS -DCL_TARGET_OPENCL_VERSION=120"
  AC_MSG_CHECKING([whether StarPU has OpenCL])
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <starpu.h>
#include <CL/cl.h>
#ifndef STARPU_USE_OPENCL
#error StarPU was built without OpenCL
#endif
]])], [tutti_have_opencl=yes], [tutti_have_opencl=no])
  AC_MSG_RESULT([$tutti_have_opencl])
  CPPFLAGS=$tutti_saved_CPPFLAGS
  if test $tutti_have_opencl = yes; then
    AC_CHECK_LIB([OpenCL], [clFinish], [OPENCL_LIBS=-lOpenCL], [tutti_have_opencl=no])
  fi
  AC_SUBST([OPENCL_LIBS])
  AM_CONDITIONAL([HAVE_OPENCL], [test $tutti_have_opencl = yes])
])
