# oneDNN: ONEDNN_LIBS. Built for OpenMP, as distributions have it, it comes with the OpenMP runtime, whose thread count
# the kernels set to one; built sequentially, it needs nothing more.
AC_DEFUN([TUTTI_ONEDNN], [
  AC_CHECK_HEADER([dnnl.h], [tutti_have=yes], [tutti_have=no], [#include <stdio.h>])
  tutti_saved_LIBS=$LIBS
  AS_IF([test $tutti_have = yes], [AC_CHECK_LIB([dnnl], [dnnl_primitive_execute], [ONEDNN_LIBS=-ldnnl], [tutti_have=no])])
  AS_IF([test $tutti_have = yes], [
    AC_MSG_CHECKING([how oneDNN makes threads])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <dnnl.h>]],
        [[int omp[DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP ? 1 : -1]; (void)omp;]])],
      [tutti_dnnl_threads=openmp],
      [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <dnnl.h>]],
          [[int seq[DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ ? 1 : -1]; (void)seq;]])],
        [tutti_dnnl_threads=sequential], [tutti_dnnl_threads=other])])
    AC_MSG_RESULT([$tutti_dnnl_threads])
    AS_IF([test $tutti_dnnl_threads = other], [AC_MSG_ERROR([this oneDNN is built for neither OpenMP nor one thread])])
    AS_IF([test $tutti_dnnl_threads = openmp], [
      AC_CHECK_HEADER([omp.h], [], [TUTTI_NEEDS([libgomp1], [omp.h])])
      AC_SEARCH_LIBS([omp_set_num_threads], [gomp omp], [AS_IF([test "$ac_cv_search_omp_set_num_threads" != "none required"], [ONEDNN_LIBS="$ONEDNN_LIBS $ac_cv_search_omp_set_num_threads"])],
        [TUTTI_NEEDS([libgomp1], [the OpenMP runtime])])
    ])
  ])
  AC_SUBST([ONEDNN_LIBS])
  LIBS=$tutti_saved_LIBS
  AS_IF([test $tutti_have = no], [TUTTI_NEEDS([libdnnl-dev], [oneDNN])])
])
