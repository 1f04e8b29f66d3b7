# Tests of apps/architecture.
check_PROGRAMS += tests/architecture/test_architecture
TESTS += tests/architecture/test_architecture
tests_architecture_test_architecture_SOURCES = tests/architecture/test_architecture.c
tests_architecture_test_architecture_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_architecture_test_architecture_LDADD = libmodels.la libtesting.la
