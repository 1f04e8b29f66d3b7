# Tests of apps/trace: traces of our own making, and runs judged by a reader that is not Tutti's.
check_PROGRAMS += tests/trace/attached tests/trace/test_study
TESTS += tests/trace/attached.sh tests/trace/test_study tests/trace/trace.sh
EXTRA_DIST += tests/trace/attached.sh tests/trace/attached.py tests/trace/trace.sh tests/trace/check.py
tests_trace_attached_SOURCES = tests/trace/attached.c tests/support/nap.c
tests_trace_attached_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
tests_trace_test_study_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_trace_test_study_LDADD = libtrace.la libtesting.la $(JANSSON_LIBS)
