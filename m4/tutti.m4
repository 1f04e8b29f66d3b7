# What configure does besides looking for dependencies.

# TUTTI_NEEDS(PACKAGE, WHAT): remembers that a Debian package is missing.
AC_DEFUN([TUTTI_NEEDS], [
  tutti_missing="$tutti_missing $1"
  AC_MSG_WARN([$2 was not found; on Debian and Ubuntu: apt-get install $1])
])

# TUTTI_MISSING: stops when anything is missing, with one command that installs it all.
AC_DEFUN([TUTTI_MISSING], [
  AS_IF([test -n "$tutti_missing"],
    [AC_MSG_ERROR([dependencies are missing; install them with: apt-get install$tutti_missing])])
])

# TUTTI_PC: what tutti.pc says that a program needs besides Tutti: its headers name StarPU and MPI. An MPI that was
# found by its compiler wrapper is not known to pkg-config, and a StarPU that was given may not be.
AC_DEFUN([TUTTI_PC], [
  AC_SUBST([TUTTI_PC_REQUIRES], ["$tutti_starpu $tutti_mpi"])
  AC_SUBST([TUTTI_PC_CFLAGS])
  AC_SUBST([TUTTI_PC_LIBS])
  AS_IF([test -z "$tutti_mpi"], [TUTTI_PC_CFLAGS=$MPI_CFLAGS TUTTI_PC_LIBS=$MPI_LIBS])
  AS_IF([test -z "$tutti_starpu"], [TUTTI_PC_CFLAGS="$TUTTI_PC_CFLAGS $tutti_starpu_cflags" TUTTI_PC_LIBS="$TUTTI_PC_LIBS $STARPU_LIBS"])
])

# TUTTI_EXPORTS: HAVE_VERSION_SCRIPT, whether the linker takes a list of what a library exports.
AC_DEFUN([TUTTI_EXPORTS], [
  AC_MSG_CHECKING([whether the linker takes a version script])
  tutti_saved_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS -shared -Wl,--version-script=$srcdir/install/libtutti.map"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[extern int tutti_nothing;]])], [tutti_have=yes], [tutti_have=no])
  LDFLAGS=$tutti_saved_LDFLAGS
  AC_MSG_RESULT([$tutti_have])
  AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $tutti_have = yes])
])

# TUTTI_NUMERICS: a*b+c is never contracted to one rounding, so that elementwise float code gives the same bits whatever
# instructions the machine has: replicas of a weight stay equal on unlike nodes.
AC_DEFUN([TUTTI_NUMERICS], [
  AC_SUBST([TUTTI_NUMERIC_CFLAGS], [-ffp-contract=off])
])

# TUTTI_CLONES: X86_64, where loops are compiled for several instruction sets (dag/base/clones.h).
AC_DEFUN([TUTTI_CLONES], [
  AC_MSG_CHECKING([whether the compiler is for x86-64])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if !defined(__x86_64__) || !defined(__GNUC__)
#error another processor
#endif
  ]])], [tutti_have=yes], [tutti_have=no])
  AC_MSG_RESULT([$tutti_have])
  AM_CONDITIONAL([X86_64], [test $tutti_have = yes])
])

# TUTTI_WARNINGS: what the project's own code must compile without a word with. A switch over an enum without a
# default has a case for each value: so the checker cannot miss a start order (designs/design.h).
AC_DEFUN([TUTTI_WARNINGS], [
  AC_SUBST([TUTTI_WARN_CFLAGS],
    ["-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef -Werror=switch"])
])

# --disable-faults: leaves TUTTI_FAULT out, by which a rank does wrong in a test; for packages and production.
AC_DEFUN([TUTTI_FAULTS], [
  AC_ARG_ENABLE([faults],
    [AS_HELP_STRING([--disable-faults], [leave out TUTTI_FAULT, which breaks runs on purpose for tests])],
    [], [enable_faults=yes])
  AS_CASE([$enable_faults], [yes|no], [], [AC_MSG_ERROR([--enable-faults=$enable_faults: it is yes or no])])
  AM_CONDITIONAL([FAULTS], [test "$enable_faults" = yes])
])

# --enable-sanitize=address,undefined (or thread): instruments the project's own code.
AC_DEFUN([TUTTI_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [instrument with these sanitizers, e.g. address,undefined])],
    [], [enable_sanitize=no])
  AS_CASE([$enable_sanitize], [no], [sanitize_flags=], [yes], [sanitize_flags=address,undefined],
    [sanitize_flags=$enable_sanitize])
  AS_IF([test -n "$sanitize_flags"],
    [AC_SUBST([TUTTI_SANITIZE_CFLAGS], ["-fsanitize=$sanitize_flags -fno-omit-frame-pointer -fno-sanitize-recover=undefined"])])
  AM_CONDITIONAL([SANITIZE], [test -n "$sanitize_flags"])
])

# TUTTI_CXX: CXX, HAVE_CXX: a C++ compiler, for the tests that run the kernels for CUDA on the processor. It may be missing.
AC_DEFUN([TUTTI_CXX], [
  AC_ARG_VAR([CXX], [C++ compiler, for tests (default: g++, c++ or clang++)])
  AS_IF([test -z "$CXX"], [AC_CHECK_PROGS([CXX], [g++ c++ clang++])])
  AC_MSG_CHECKING([whether $CXX compiles C++17])
  echo 'template <typename T> T same(T t) { if constexpr (sizeof(T) > 0) return t; } int one() { return same(1); }' > conftest.cpp
  AS_IF([test -n "$CXX" && $CXX -std=c++17 -c conftest.cpp -o conftest.$OBJEXT 2>&AS_MESSAGE_LOG_FD], [tutti_have=yes], [tutti_have=no])
  rm -f conftest.cpp conftest.$OBJEXT
  AC_MSG_RESULT([$tutti_have])
  AM_CONDITIONAL([HAVE_CXX], [test $tutti_have = yes])
])
