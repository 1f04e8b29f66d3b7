# libtutti-check on programs that are right and wrong on purpose. make check runs one case in many; all of them:
# tests/check/run.sh (or make check-long).
check_PROGRAMS += tests/check/collectives tests/check/programs
tests_check_collectives_SOURCES = tests/check/collectives.c tests/check/cases.c tests/check/cases.h
tests_check_collectives_LDADD = $(MPI_LIBS)
tests_check_programs_SOURCES = tests/check/programs.c tests/check/programs.h \
	tests/check/programs_ok.c tests/check/programs_nok.c tests/check/cases.c tests/check/cases.h
tests_check_programs_LDADD = $(MPI_LIBS)
EXTRA_DIST += tests/check/run.sh
TESTS += tests/check/sample.sh
EXTRA_DIST += tests/check/sample.sh
