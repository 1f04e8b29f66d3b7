# libtutti-mpicheck on programs that are right and wrong on purpose. make check runs one case in many; all of them:
# make check-mpi-programs (also in check-long).
check_PROGRAMS += tests/mpicheck/collectives tests/mpicheck/programs
tests_mpicheck_collectives_SOURCES = tests/mpicheck/collectives.c tests/mpicheck/cases.c tests/mpicheck/cases.h
tests_mpicheck_collectives_LDADD = $(MPI_LIBS)
tests_mpicheck_programs_SOURCES = tests/mpicheck/programs.c tests/mpicheck/programs.h \
	tests/mpicheck/messages_ok.c tests/mpicheck/messages_nok.c tests/mpicheck/objects_ok.c tests/mpicheck/objects_nok.c \
	tests/mpicheck/arguments_nok.c tests/mpicheck/overlap.c tests/mpicheck/requests.c tests/mpicheck/threads.c tests/mpicheck/cases.c tests/mpicheck/cases.h
tests_mpicheck_programs_LDADD = $(MPI_LIBS)
EXTRA_DIST += tests/mpicheck/run.sh
check_PROGRAMS += tests/mpicheck/judge
tests_mpicheck_judge_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_mpicheck_judge_LDADD = libmpicheckcore.la
TESTS += tests/mpicheck/judge
TESTS += tests/mpicheck/sample.sh tests/mpicheck/fortran.sh tests/mpicheck/loaded.sh
EXTRA_DIST += tests/mpicheck/sample.sh tests/mpicheck/fortran.sh tests/mpicheck/loaded.sh

long_checks += check-mpi-programs
check-mpi-programs: tests/mpicheck/collectives tests/mpicheck/programs libtutti-mpicheck.la
	$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 7200 $(srcdir)/tests/mpicheck/run.sh -j 2
