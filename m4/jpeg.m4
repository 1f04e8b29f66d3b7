# libjpeg-turbo 1.5 or later, which decodes parts of a picture: JPEG_LIBS.
AC_DEFUN([TUTTI_JPEG], [
  AC_CHECK_HEADER([jpeglib.h], [tutti_have=yes], [tutti_have=no], [#include <stdio.h>])
  tutti_saved_LIBS=$LIBS
  AS_IF([test $tutti_have = yes], [AC_CHECK_LIB([jpeg], [jpeg_crop_scanline], [AC_SUBST([JPEG_LIBS], [-ljpeg])], [tutti_have=no])])
  LIBS=$tutti_saved_LIBS
  AS_IF([test $tutti_have = no], [TUTTI_NEEDS([libjpeg-dev], [libjpeg-turbo])])
])
