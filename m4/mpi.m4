# The MPI to use: MPI_CFLAGS, MPI_LIBS, and MPIRUN, which must be of the same MPI. MPICC names the compiler wrapper to
# ask; without it pkg-config is asked.
AC_DEFUN([TUTTI_MPI], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=NAME], [pkg-config name of the MPI to use (default: mpi-c, ompi-c, mpich)])],
    [], [with_mpi="mpi-c ompi-c mpich"])
  AC_ARG_VAR([MPICC], [compiler wrapper of the MPI to use (mpicc.mpich, /opt/openmpi/bin/mpicc; default: pkg-config's MPI)])
  AC_ARG_VAR([MPIRUN], [starts MPI programs (default: what stands beside MPICC, or mpirun or mpiexec)])
  tutti_mpi=
  tutti_mpi_suffix=
  tutti_mpi_path=$PATH
  AS_IF([test -n "$MPICC"], [TUTTI_MPI_ASK_WRAPPER], [
    for name in $with_mpi; do
      AS_IF([test -z "$tutti_mpi" && $PKG_CONFIG --exists $name], [tutti_mpi=$name])
    done
    AS_CASE([$tutti_mpi], [ompi*], [tutti_mpi_suffix=.openmpi], [mpich*], [tutti_mpi_suffix=.mpich])
    AS_IF([test -n "$tutti_mpi"],
      [PKG_CHECK_MODULES([MPI], [$tutti_mpi])
       TUTTI_MPI_NAME],
      [TUTTI_NEEDS([libopenmpi-dev], [MPI])])
  ])
  AS_CASE([$MPIRUN], ["" | */*], [], [MPIRUN=`command -v "$MPIRUN" || echo "./$MPIRUN"`])
  AC_PATH_PROGS([MPIRUN], [mpirun$tutti_mpi_suffix mpiexec$tutti_mpi_suffix mpirun mpiexec], [], [$tutti_mpi_path])
  AS_IF([test -z "$MPIRUN"], [TUTTI_NEEDS([openmpi-bin], [mpirun])], [TUTTI_MPI_SAME])
  TUTTI_MPI_LASTS
])

# Whether its other ranks can go on when one dies (ULFM, Open MPI 5.0): HAVE_LASTING_MPI.
AC_DEFUN([TUTTI_MPI_LASTS], [
  AC_MSG_CHECKING([whether MPI outlives its ranks])
  tutti_saved_cppflags=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $MPI_CFLAGS"
  tutti_mpi_lasts=no
  AC_PREPROC_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#include <mpi-ext.h>
#ifndef OMPI_HAVE_MPI_EXT_FTMPI
#error it does not
#endif]])], [tutti_mpi_lasts=yes])
  CPPFLAGS=$tutti_saved_cppflags
  AC_MSG_RESULT([$tutti_mpi_lasts])
  AM_CONDITIONAL([HAVE_LASTING_MPI], [test $tutti_mpi_lasts = yes])
])

# The name of the MPI itself, where the one that was found is Debian's alternative: it may be another MPI by the time
# that a program is built on Tutti.
AC_DEFUN([TUTTI_MPI_NAME], [
  for name in ompi-c mpich; do
    AS_IF([test "$tutti_mpi" = mpi-c && $PKG_CONFIG --exists $name &&
        test "`$PKG_CONFIG --cflags --libs $name`" = "`$PKG_CONFIG --cflags --libs mpi-c`"], [tutti_mpi=$name])
  done
])

# Flags from the command line that the wrapper shows: both Open MPI's and MPICH's know -show.
AC_DEFUN([TUTTI_MPI_ASK_WRAPPER], [
  AC_MSG_CHECKING([what $MPICC adds])
  tutti_shown=`$MPICC -show 2> /dev/null`
  AS_IF([test -z "$tutti_shown"], [AC_MSG_ERROR([MPICC=$MPICC: $MPICC -show prints nothing: is it the compiler wrapper of an MPI?])])
  for word in $tutti_shown; do
    AS_CASE([$word],
      [-I* | -D* | -pthread], [MPI_CFLAGS="$MPI_CFLAGS $word"],
      [-L* | -l* | -Wl,* | *.so | *.a], [MPI_LIBS="$MPI_LIBS $word"])
  done
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_MSG_RESULT([$MPI_CFLAGS $MPI_LIBS])
  # Its mpirun has the same folder and the same ending.
  set -- $MPICC
  tutti_mpi_suffix=`basename "$[]1" | sed 's/^[[^.]]*//'`
  AS_CASE([$[]1], [*/*], [tutti_mpi_path=`dirname "$[]1"`:$PATH])
])

# Programs of one MPI that another one's mpirun starts are each alone, and say nothing.
AC_DEFUN([TUTTI_MPI_SAME], [
  AC_MSG_CHECKING([whether $MPIRUN is of the same MPI])
  tutti_saved_cppflags=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $MPI_CFLAGS"
  tutti_mpi_name=unknown
  AC_PREPROC_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef OPEN_MPI
#error another MPI
#endif]])], [tutti_mpi_name=openmpi], [
    AC_PREPROC_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef MPICH_NAME
#error another MPI
#endif]])], [tutti_mpi_name=mpich])])
  CPPFLAGS=$tutti_saved_cppflags
  tutti_mpi_kind=`bash -c '. "$[]1"; launch_kind "$[]2"' - "$srcdir/apps/tools/launch.sh" "$MPIRUN"`
  AS_CASE([$tutti_mpi_name/$tutti_mpi_kind],
    [openmpi/openmpi* | mpich/hydra | unknown/* | */unknown], [AC_MSG_RESULT([yes ($tutti_mpi_kind)])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the MPI library is $tutti_mpi_name, but $MPIRUN is $tutti_mpi_kind: give MPICC and MPIRUN of the same MPI])])
])
