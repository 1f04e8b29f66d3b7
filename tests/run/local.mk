run_tests = tests/run/test_allocations tests/run/test_binding tests/run/test_datum tests/run/test_home tests/run/test_nodes tests/run/test_process_lock tests/run/test_run \
	tests/run/test_scheduler tests/run/test_trace
check_PROGRAMS += $(run_tests)
TESTS += $(run_tests)
tests_run_test_allocations_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_binding_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_datum_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_home_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_nodes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_process_lock_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_run_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_trace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_run_test_scheduler_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
