# elfutils' libdw, for the file and line of call sites in libtutti-mpicheck's reports: DW_LIBS, HAVE_DW. It may be missing.
AC_DEFUN([TUTTI_DW], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  PKG_CHECK_MODULES([DW], [libdw libelf], [tutti_have_dw=yes],
    [tutti_have_dw=no
     AC_MSG_NOTICE([libdw was not found: libtutti-mpicheck will name functions and offsets, no lines (apt-get install libdw-dev)])])
  AM_CONDITIONAL([HAVE_DW], [test $tutti_have_dw = yes])
])
