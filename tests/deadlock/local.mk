# The deadlock suite: tests/deadlock/README.md. The language of cases and one rank of a case as a library; oracles use it.
check_LTLIBRARIES += tests/deadlock/libcases.la
tests_deadlock_libcases_la_SOURCES = \
	tests/deadlock/case.c tests/deadlock/case.h \
	tests/deadlock/case_op.c tests/deadlock/case_op.h \
	tests/deadlock/expect.c tests/deadlock/expect.h \
	tests/deadlock/kv_case.c tests/deadlock/kv_case.h \
	tests/deadlock/kv_check.c tests/deadlock/kv_check.h \
	tests/deadlock/rank.c tests/deadlock/rank.h \
	tests/deadlock/words.c tests/deadlock/words.h
tests_deadlock_libcases_la_LIBADD = libvalues.la libcore.la

check_PROGRAMS += tests/deadlock/oracle_check
tests_deadlock_oracle_check_LDADD = tests/deadlock/libcases.la

TESTS += tests/deadlock/cases.sh tests/deadlock/check_only.sh
EXTRA_DIST += tests/deadlock/cases.sh tests/deadlock/check_only.sh tests/deadlock/cases tests/deadlock/README.md

check_PROGRAMS += tests/deadlock/oracle_mpi
tests_deadlock_oracle_mpi_SOURCES = tests/deadlock/oracle_mpi.c tests/deadlock/kv_run.c tests/deadlock/kv_run.h tests/support/nap.c
tests_deadlock_oracle_mpi_LDADD = tests/deadlock/libcases.la

check_PROGRAMS += tests/deadlock/oracle_explore
tests_deadlock_oracle_explore_LDADD = tests/deadlock/libkvworld.la tests/deadlock/libexplore.la tests/deadlock/libcases.la

check_PROGRAMS += tests/deadlock/test_cases
TESTS += tests/deadlock/test_cases
tests_deadlock_test_cases_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_test_cases_LDADD = tests/deadlock/libcases.la libtesting.la

check_PROGRAMS += tests/deadlock/test_check
TESTS += tests/deadlock/test_check
tests_deadlock_test_check_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_test_check_LDADD = tests/deadlock/libexplore.la tests/deadlock/libcases.la libtesting.la
