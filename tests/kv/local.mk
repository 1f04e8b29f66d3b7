kv_tests = tests/kv/test_push_ledger tests/kv/test_client_list tests/kv/test_connections
check_PROGRAMS += $(kv_tests)
TESTS += $(kv_tests)
tests_kv_test_push_ledger_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kv_test_client_list_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kv_test_connections_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
TESTS += tests/kv/kv.sh tests/kv/jobs.sh tests/kv/replicas.sh tests/kv/run.sh
EXTRA_DIST += tests/kv/kv.sh tests/kv/jobs.sh tests/kv/replicas.sh tests/kv/run.sh tests/kv/lib.sh
check_PROGRAMS += tests/kv/kv tests/kv/nonsense
tests_kv_kv_SOURCES = tests/kv/kv.c tests/kv/kv.h tests/kv/kv_counts.c tests/kv/kv_elastic.c tests/kv/kv_refusals.c \
	tests/kv/kv_rounds.c tests/kv/kv_stages.c tests/kv/kv_urgent.c tests/support/nap.c
tests_kv_kv_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
