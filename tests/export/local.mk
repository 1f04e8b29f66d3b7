# Tests of apps/export; tests/programs/export.sh runs the program.
check_PROGRAMS += tests/export/test_protobuf
TESTS += tests/export/test_protobuf
tests_export_test_protobuf_SOURCES = tests/export/test_protobuf.c
tests_export_test_protobuf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_export_test_protobuf_LDADD = libexport.la libtesting.la
