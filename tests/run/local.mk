check_PROGRAMS += tests/run/test_run
TESTS += tests/run/test_run
tests_run_test_run_SOURCES = tests/run/test_run.c
tests_run_test_run_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_run_LDADD = libtesting.la
