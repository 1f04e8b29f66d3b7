# Tests of apps/protobuf; tests/programs/export.sh and report.sh write files with it.
check_PROGRAMS += tests/protobuf/test_protobuf
TESTS += tests/protobuf/test_protobuf
tests_protobuf_test_protobuf_SOURCES = tests/protobuf/test_protobuf.c \
	apps/protobuf/protobuf.c apps/protobuf/protobuf.h
tests_protobuf_test_protobuf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
