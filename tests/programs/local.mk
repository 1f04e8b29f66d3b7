# Tests of programs: real runs under mpirun. Each is a script with a deadline of its own from the guard.
program_tests = \
	tests/programs/designs.sh \
	tests/programs/manual.sh \
	tests/programs/ranks.sh \
	tests/programs/refusals.sh \
	tests/programs/resume.sh \
	tests/programs/stall.sh \
	tests/programs/tools.sh
TESTS += $(program_tests)
EXTRA_DIST += $(program_tests) tests/programs/lib.sh
