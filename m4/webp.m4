# libwebp, for pictures in WebP: WEBP_CFLAGS, WEBP_LIBS, HAVE_WEBP. It may be missing.
AC_DEFUN([TUTTI_WEBP], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  PKG_CHECK_MODULES([WEBP], [libwebp >= 0.6], [tutti_have=yes], [tutti_have=no])
  AM_CONDITIONAL([HAVE_WEBP], [test $tutti_have = yes])
])
