# libfabric, for --transport fabric: FABRIC_LIBS, HAVE_FABRIC. It may be missing.
AC_DEFUN([TUTTI_FABRIC], [
  AC_ARG_WITH([libfabric], [AS_HELP_STRING([--without-libfabric], [no --transport fabric])], [], [with_libfabric=check])
  tutti_have_fabric=no
  AS_IF([test "$with_libfabric" != no],
    [AC_CHECK_HEADER([rdma/fi_endpoint.h], [tutti_have_fabric=yes])])
  tutti_saved_LIBS=$LIBS
  if test $tutti_have_fabric = yes; then
    AC_CHECK_LIB([fabric], [fi_getinfo], [FABRIC_LIBS=-lfabric], [tutti_have_fabric=no])
  fi
  LIBS=$tutti_saved_LIBS
  AS_IF([test "$with_libfabric" = yes && test $tutti_have_fabric = no],
    [AC_MSG_ERROR([--with-libfabric: libfabric is missing: install libfabric-dev])])
  AC_SUBST([FABRIC_LIBS])
  AM_CONDITIONAL([HAVE_FABRIC], [test $tutti_have_fabric = yes])
])
