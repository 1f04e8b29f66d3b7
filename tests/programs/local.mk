# Tests of programs: real runs under mpirun. Each is a script with a deadline of its own from the guard.
program_tests = \
	tests/programs/auto.sh \
	tests/programs/designs.sh \
	tests/programs/manual.sh \
	tests/programs/mismatch.sh \
	tests/programs/ranks.sh \
	tests/programs/refusals.sh \
	tests/programs/resume.sh \
	tests/programs/stall.sh \
	tests/programs/tools.sh
TESTS += $(program_tests)
EXTRA_DIST += $(program_tests) tests/programs/lib.sh

# What mismatch.sh runs: as a stranger's program, on public headers and libtutti alone.
check_PROGRAMS += tests/programs/mismatch
tests_programs_mismatch_SOURCES = tests/programs/mismatch.c
tests_programs_mismatch_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
