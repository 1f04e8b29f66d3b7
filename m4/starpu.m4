# StarPU, 1.4 before 1.3: STARPU_CFLAGS, STARPU_LIBS. Its headers are system headers to our warnings.
AC_DEFUN([TUTTI_STARPU], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  tutti_starpu=starpu-1.4
  PKG_CHECK_MODULES([STARPU], [starpu-1.4], [],
    [tutti_starpu=starpu-1.3
     PKG_CHECK_MODULES([STARPU], [starpu-1.3], [],
      [TUTTI_NEEDS([libstarpu-dev], [StarPU 1.3 or 1.4])])])
  STARPU_CFLAGS=$(AS_ECHO([" $STARPU_CFLAGS"]) | sed 's/ -I/ -isystem /g')
])
