check_PROGRAMS += tests/collectives/test_loop
TESTS += tests/collectives/test_loop
tests_collectives_test_loop_SOURCES = tests/collectives/test_loop.c \
	tests/collectives/cases.c tests/collectives/cases.h
tests_collectives_test_loop_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_loop_LDADD = libtesting.la

check_PROGRAMS += tests/collectives/mpi_ranks
TESTS += tests/collectives/mpi.sh
EXTRA_DIST += tests/collectives/mpi.sh
tests_collectives_mpi_ranks_SOURCES = tests/collectives/mpi_ranks.c \
	tests/collectives/cases.c tests/collectives/cases.h
tests_collectives_mpi_ranks_LDADD = libcore.la
