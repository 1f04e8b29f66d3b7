check_PROGRAMS += tests/bench/test_bounds
TESTS += tests/bench/test_bounds
tests_bench_test_bounds_SOURCES = tests/bench/test_bounds.c \
	apps/bench/bounds.c apps/bench/bounds.h
tests_bench_test_bounds_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
