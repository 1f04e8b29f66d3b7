run_tests = tests/run/test_nodes tests/run/test_run \
	tests/run/test_scheduler tests/run/test_trace
check_PROGRAMS += $(run_tests)
TESTS += $(run_tests)
tests_run_test_nodes_SOURCES = tests/run/test_nodes.c
tests_run_test_nodes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_nodes_LDADD = libtesting.la
tests_run_test_run_SOURCES = tests/run/test_run.c
tests_run_test_run_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_run_LDADD = libtesting.la
tests_run_test_trace_SOURCES = tests/run/test_trace.c
tests_run_test_trace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_trace_LDADD = libtesting.la
tests_run_test_scheduler_SOURCES = tests/run/test_scheduler.c
tests_run_test_scheduler_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_scheduler_LDADD = libtesting.la
