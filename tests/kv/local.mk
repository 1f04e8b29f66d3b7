kv_tests = tests/kv/test_book tests/kv/test_guests tests/kv/test_portions
check_PROGRAMS += $(kv_tests)
TESTS += $(kv_tests)
tests_kv_test_book_SOURCES = tests/kv/test_book.c
tests_kv_test_book_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kv_test_book_LDADD = libtesting.la
tests_kv_test_guests_SOURCES = tests/kv/test_guests.c
tests_kv_test_guests_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kv_test_guests_LDADD = libtesting.la
tests_kv_test_portions_SOURCES = tests/kv/test_portions.c
tests_kv_test_portions_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kv_test_portions_LDADD = libtesting.la
TESTS += tests/kv/kv.sh tests/kv/jobs.sh tests/kv/replicas.sh tests/kv/run.sh
EXTRA_DIST += tests/kv/kv.sh tests/kv/jobs.sh tests/kv/replicas.sh tests/kv/run.sh tests/kv/lib.sh
check_PROGRAMS += tests/kv/kv
tests_kv_kv_SOURCES = tests/kv/kv.c tests/kv/kv.h tests/kv/kv_counts.c tests/kv/kv_elastic.c tests/kv/kv_refusals.c \
	tests/kv/kv_rounds.c tests/kv/kv_stages.c tests/kv/kv_urgent.c tests/support/nap.c
tests_kv_kv_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
