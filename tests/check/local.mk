# libtutti-check on programs that are right and wrong on purpose. make check runs one case in many; all of them:
# make check-mpi-programs (also in check-long).
check_PROGRAMS += tests/check/collectives tests/check/programs
tests_check_collectives_SOURCES = tests/check/collectives.c tests/check/cases.c tests/check/cases.h
tests_check_collectives_LDADD = $(MPI_LIBS)
tests_check_programs_SOURCES = tests/check/programs.c tests/check/programs.h \
	tests/check/messages_ok.c tests/check/messages_nok.c tests/check/objects_ok.c tests/check/objects_nok.c \
	tests/check/arguments_nok.c tests/check/requests.c tests/check/threads.c tests/check/cases.c tests/check/cases.h
tests_check_programs_LDADD = $(MPI_LIBS)
EXTRA_DIST += tests/check/run.sh
check_PROGRAMS += tests/check/judge
tests_check_judge_SOURCES = tests/check/judge.c
tests_check_judge_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_check_judge_LDADD = libcheckcore.la
TESTS += tests/check/judge
TESTS += tests/check/sample.sh tests/check/fortran.sh
EXTRA_DIST += tests/check/sample.sh tests/check/fortran.sh

long_checks += check-mpi-programs
check-mpi-programs: tests/check/collectives tests/check/programs libtutti-check.la
	$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 7200 $(srcdir)/tests/check/run.sh -j 2
