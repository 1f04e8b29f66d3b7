check_PROGRAMS += tests/base/test_base
TESTS += tests/base/test_base
tests_base_test_base_SOURCES = tests/base/test_base.c
tests_base_test_base_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_base_test_base_LDADD = libtesting.la
