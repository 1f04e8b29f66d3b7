# oneDNN: ONEDNN_LIBS.
AC_DEFUN([TUTTI_ONEDNN], [
  AC_CHECK_HEADER([dnnl.h], [tutti_have=yes], [tutti_have=no], [#include <stdio.h>])
  tutti_saved_LIBS=$LIBS
  AS_IF([test $tutti_have = yes], [AC_CHECK_LIB([dnnl], [dnnl_primitive_execute], [AC_SUBST([ONEDNN_LIBS], [-ldnnl])], [tutti_have=no])])
  LIBS=$tutti_saved_LIBS
  AS_IF([test $tutti_have = no], [TUTTI_NEEDS([libdnnl-dev], [oneDNN])])
])
