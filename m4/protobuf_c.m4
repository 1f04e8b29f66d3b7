# protobuf-c, for networks in ONNX (--model FILE.onnx): PROTOBUF_C_CFLAGS, PROTOBUF_C_LIBS, PROTOC_C, HAVE_PROTOBUF_C. It may be
# missing.
AC_DEFUN([TUTTI_PROTOBUF_C], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  PKG_CHECK_MODULES([PROTOBUF_C], [libprotobuf-c >= 1.3], [tutti_have=yes], [tutti_have=no])
  AC_CHECK_PROG([PROTOC_C], [protoc-c], [protoc-c], [no])
  AS_IF([test "$PROTOC_C" = no], [tutti_have=no])
  AM_CONDITIONAL([HAVE_PROTOBUF_C], [test $tutti_have = yes])
])
