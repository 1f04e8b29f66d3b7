# MPI, any implementation: MPI_CFLAGS, MPI_LIBS, MPIRUN. --with-mpicc names another compiler wrapper to ask.
AC_DEFUN([TUTTI_MPI], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=NAME], [pkg-config name of the MPI to use (default: mpi-c, ompi-c, mpich)])],
    [], [with_mpi="mpi-c ompi-c mpich"])
  tutti_mpi=
  for name in $with_mpi; do
    AS_IF([test -z "$tutti_mpi" && $PKG_CONFIG --exists $name], [tutti_mpi=$name])
  done
  AS_IF([test -n "$tutti_mpi"],
    [PKG_CHECK_MODULES([MPI], [$tutti_mpi])],
    [TUTTI_NEEDS([libopenmpi-dev], [MPI])])
  AC_ARG_VAR([MPIRUN], [starts MPI programs (default: mpirun or mpiexec)])
  AC_PATH_PROGS([MPIRUN], [mpirun mpiexec])
  AS_IF([test -z "$MPIRUN"], [TUTTI_NEEDS([openmpi-bin], [mpirun])])
])
