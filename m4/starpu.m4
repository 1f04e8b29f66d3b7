# StarPU, 1.4 before 1.3: STARPU_CFLAGS, STARPU_LIBS; both may also be given. Its headers are system headers to our warnings. tutti_starpu_cuda: whether it
# was built with CUDA (yes, no).
AC_DEFUN([TUTTI_STARPU], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  AC_ARG_WITH([starpu], [AS_HELP_STRING([--with-starpu=NAME], [pkg-config name of the StarPU to use (default: starpu-1.4, starpu-1.3)])],
    [], [with_starpu="starpu-1.4 starpu-1.3"])
  tutti_starpu= tutti_starpu_given=${STARPU_CFLAGS+$STARPU_LIBS}
  for name in $with_starpu; do
    AS_IF([test -z "$tutti_starpu$tutti_starpu_given" && $PKG_CONFIG --exists $name], [tutti_starpu=$name])
  done
  AS_IF([test -n "$tutti_starpu$STARPU_LIBS"],
    [PKG_CHECK_MODULES([STARPU], [${tutti_starpu:-starpu-1.4}])],
    [TUTTI_NEEDS([libstarpu-dev], [StarPU 1.3 or 1.4])])
  STARPU_CFLAGS=$(AS_ECHO([" $STARPU_CFLAGS"]) | sed 's/ -I/ -isystem /g')
  AC_MSG_CHECKING([whether StarPU was built with CUDA])
  tutti_saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $STARPU_CFLAGS"
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <starpu_config.h>
#ifndef STARPU_USE_CUDA
#error StarPU was built without CUDA
#endif
]])], [tutti_starpu_cuda=yes], [tutti_starpu_cuda=no])
  CPPFLAGS=$tutti_saved_CPPFLAGS
  AC_MSG_RESULT([$tutti_starpu_cuda])
  tutti_starpu_cflags=$STARPU_CFLAGS
  # What computes on a GPU includes CUDA's headers itself.
  AS_IF([test $tutti_starpu_cuda = yes], [STARPU_CFLAGS="$STARPU_CFLAGS -DSTARPU_DONT_INCLUDE_CUDA_HEADERS"])
])
