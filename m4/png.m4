# libpng: PNG_CFLAGS, PNG_LIBS.
AC_DEFUN([TUTTI_PNG], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  PKG_CHECK_MODULES([PNG], [libpng >= 1.6], [], [TUTTI_NEEDS([libpng-dev], [libpng])])
])
