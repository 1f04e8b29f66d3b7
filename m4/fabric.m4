# libfabric, for --transport fabric: HAVE_FABRIC. It may be missing. Its headers are needed here, and the library is loaded
# when it is used (collectives/transport/fabric_library.c).
AC_DEFUN([TUTTI_FABRIC], [
  AC_ARG_WITH([libfabric], [AS_HELP_STRING([--without-libfabric], [no --transport fabric])], [], [with_libfabric=check])
  tutti_have_fabric=no
  AS_IF([test "$with_libfabric" != no],
    [AC_CHECK_HEADER([rdma/fi_endpoint.h], [tutti_have_fabric=yes])])
  AS_IF([test "$with_libfabric" = yes && test $tutti_have_fabric = no],
    [AC_MSG_ERROR([--with-libfabric: libfabric is missing: install libfabric-dev])])
  AM_CONDITIONAL([HAVE_FABRIC], [test $tutti_have_fabric = yes])
])
