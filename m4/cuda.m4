# CUDA, for NVIDIA's GPUs: HAVE_CUDA, HAVE_CUBLASLT, NVCC, CUDA_GENCODE, CUDA_CFLAGS, CUDA_LIBS, CUDA_PATH. Nothing is linked with the driver's
# library, libcuda: a program starts, and says what is missing, where there is no driver.
AC_DEFUN([TUTTI_CUDA], [
  AC_REQUIRE([TUTTI_STARPU])
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
      [yes, no, or the folder of the CUDA toolkit (default: auto, if StarPU was built with CUDA)])], [], [with_cuda=auto])
  AC_ARG_VAR([NVCC], [CUDA's compiler (default: bin/nvcc of --with-cuda=DIR, or nvcc in PATH or /usr/local/cuda/bin)])
  AC_ARG_VAR([CUDA_GENCODE], [the GPUs to compile for (default: code for 8.0 and 9.0, and PTX for what comes later)])
  tutti_cuda_path=$PATH:/usr/local/cuda/bin
  AS_CASE([$with_cuda], [yes | no | auto], [],
    [/*], [tutti_cuda_path=$with_cuda/bin],
    [AC_MSG_ERROR([--with-cuda=$with_cuda: it is yes, no, auto, or the folder of a CUDA toolkit, which begins with /])])
  AS_IF([test "$with_cuda" = auto], [with_cuda=$tutti_starpu_cuda],
    [test "$with_cuda" != no && test $tutti_starpu_cuda = no],
    [AC_MSG_ERROR([--with-cuda needs a StarPU that was built with CUDA, which ${tutti_starpu:-that of STARPU_LIBS} here was not: ./quickstart cuda builds one; name its folder lib/pkgconfig in PKG_CONFIG_PATH])])
  AS_IF([test "$with_cuda" != no], [TUTTI_CUDA_TOOLKIT])
  AM_CONDITIONAL([HAVE_CUDA], [test "$with_cuda" != no])
  AM_CONDITIONAL([HAVE_CUBLASLT], [test "$tutti_have_cublaslt" = yes])
])

# The toolkit: its folder is where nvcc is.
AC_DEFUN([TUTTI_CUDA_TOOLKIT], [
  AC_PATH_PROG([NVCC], [nvcc], [], [$tutti_cuda_path])
  AS_IF([test ! -x "$NVCC"],
    [AC_MSG_ERROR([there is no nvcc in $tutti_cuda_path, and StarPU was built with CUDA: name the folder of the CUDA toolkit with --with-cuda=DIR, or build for processors alone with --without-cuda])])
  CUDA_PATH=`dirname "$NVCC"`
  CUDA_PATH=`dirname "$CUDA_PATH"`
  AS_IF([test -z "$CUDA_GENCODE"],
    [CUDA_GENCODE="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90"])
  CUDA_LIBS=-lcudart
  AS_IF([test "$CUDA_PATH" != /usr], [
    CUDA_CFLAGS="-isystem $CUDA_PATH/include"
    tutti_cuda_lib=$CUDA_PATH/lib64
    AS_IF([test ! -d "$tutti_cuda_lib"], [tutti_cuda_lib=$CUDA_PATH/lib])
    CUDA_LIBS="-L$tutti_cuda_lib -R$tutti_cuda_lib $CUDA_LIBS" # -R: libtool's
  ])
  AC_SUBST([CUDA_PATH])
  AC_SUBST([CUDA_CFLAGS])
  AC_SUBST([CUDA_LIBS])
  AC_MSG_CHECKING([whether $NVCC compiles for $CUDA_GENCODE])
  printf '%s\n' '#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800' '#error kernels need compute capability 8.0 or higher: see CUDA_GENCODE' \
    '#endif' '__global__ void nothing(int *p) { *p = 0; }' > conftest.cu
  AS_IF([$NVCC $CUDA_GENCODE -std=c++17 -c conftest.cu -o conftest.$OBJEXT > conftest.err 2>&1],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     cat conftest.err >&AS_MESSAGE_LOG_FD
     tutti_cuda_says=`head -n 1 conftest.err`
     AC_MSG_ERROR([$NVCC fails: $tutti_cuda_says (more in config.log)])])
  rm -f conftest.cu conftest.$OBJEXT conftest.err
  TUTTI_CUDA_LIBRARY([cuda_runtime_api.h], [cudart], [cudaGetDeviceCount])
  AS_IF([test $tutti_have = no],
    [AC_MSG_ERROR([$CUDA_PATH has nvcc, but not cuda_runtime_api.h with libcudart.so: install the whole CUDA toolkit, or build with --without-cuda])])
  TUTTI_CUDA_LIBRARY([cublas_v2.h], [cublas], [cublasCreate_v2])
  AS_IF([test $tutti_have = no],
    [AC_MSG_ERROR([$CUDA_PATH has nvcc, but not cublas_v2.h with libcublas.so: install the whole CUDA toolkit, or build with --without-cuda])])
  CUDA_LIBS="$CUDA_LIBS -lcublas"
  # For products with a bias or a ReLU; they are apart without it.
  TUTTI_CUDA_LIBRARY([cublasLt.h], [cublasLt], [cublasLtMatmulAlgoGetHeuristic])
  tutti_have_cublaslt=$tutti_have
  AS_IF([test $tutti_have = yes], [CUDA_LIBS="$CUDA_LIBS -lcublasLt"])
])

# TUTTI_CUDA_LIBRARY(HEADER, LIBRARY, FUNCTION, CPPFLAGS, LIBS): tutti_have: whether this library that is used with CUDA can be
# compiled and linked with.
AC_DEFUN([TUTTI_CUDA_LIBRARY], [
  tutti_saved_CPPFLAGS=$CPPFLAGS
  tutti_saved_LIBS=$LIBS
  CPPFLAGS="$4 $CPPFLAGS $CUDA_CFLAGS"
  LIBS="$5 $LIBS `AS_ECHO(["$CUDA_LIBS"]) | sed 's/-R[[^ ]]*//g'`"
  AC_CHECK_HEADER([$1], [AC_CHECK_LIB([$2], [$3], [tutti_have=yes], [tutti_have=no])], [tutti_have=no])
  CPPFLAGS=$tutti_saved_CPPFLAGS
  LIBS=$tutti_saved_LIBS
])

# TUTTI_CUDA_OPTION(NAME, WHAT, HEADER, FUNCTION): --with-NAME for a library of that name that is used with CUDA: HAVE_NAME,
# NAME_CFLAGS, NAME_LIBS.
AC_DEFUN([TUTTI_CUDA_OPTION], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [yes, no, or the folder of $2 (default: auto, if it is there and CUDA is used)])],
    [], [with_$1=auto])
  AS_VAR_PUSHDEF([cflags], m4_toupper([$1_CFLAGS]))dnl
  AS_VAR_PUSHDEF([libs], m4_toupper([$1_LIBS]))dnl
  AS_CASE([$with_$1], [yes | no | auto], [],
    [/*], [
      tutti_cuda_lib=$with_$1/lib64
      AS_IF([test ! -d "$tutti_cuda_lib"], [tutti_cuda_lib=$with_$1/lib])
      cflags="-isystem $with_$1/include"
      libs="-L$tutti_cuda_lib -R$tutti_cuda_lib"],
    [AC_MSG_ERROR([--with-$1=$with_$1: it is yes, no, auto, or the folder of $2, which begins with /])])
  tutti_have=no
  AS_IF([test "$with_cuda" != no && test "$with_$1" != no],
    [TUTTI_CUDA_LIBRARY([$3], [$1], [$4], [$cflags], [`AS_ECHO(["$libs"]) | sed 's/-R[[^ ]]*//g'`])])
  AS_CASE([$with_$1], [no | auto], [],
    [AS_IF([test "$with_cuda" = no], [AC_MSG_ERROR([--with-$1 needs CUDA (--with-cuda), which this build does not use])],
       [test $tutti_have = no], [AC_MSG_ERROR([--with-$1=$with_$1: $3 and lib$1.so were not found; name the folder of $2, with include/ and lib/, with --with-$1=DIR])])])
  AS_IF([test $tutti_have = yes], [libs="$libs -l$1"])
  AC_SUBST(m4_toupper([$1_CFLAGS]))
  AC_SUBST(m4_toupper([$1_LIBS]))
  AM_CONDITIONAL(m4_toupper([HAVE_$1]), [test $tutti_have = yes])
  AS_VAR_POPDEF([libs])dnl
  AS_VAR_POPDEF([cflags])dnl
])

# TUTTI_CUDA_TELL: what was found, in a line.
AC_DEFUN([TUTTI_CUDA_TELL], [
  AS_IF([test "$with_cuda" = no],
    [AC_MSG_NOTICE([GPUs: no (StarPU with CUDA: $tutti_starpu_cuda; see doc/gpu.md)])],
    [tutti_cuda_release=`"$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`
     AM_COND_IF([HAVE_NCCL], [tutti_cuda_and="with NCCL"], [tutti_cuda_and="without NCCL"])
     AM_COND_IF([HAVE_CUDNN], [tutti_cuda_and="$tutti_cuda_and, with cuDNN"], [tutti_cuda_and="$tutti_cuda_and, without cuDNN"])
     AM_COND_IF([HAVE_CUBLASLT], [], [tutti_cuda_and="$tutti_cuda_and, without cuBLASLt"])
     AC_MSG_NOTICE([GPUs: CUDA $tutti_cuda_release in $CUDA_PATH, $tutti_cuda_and])])
])
