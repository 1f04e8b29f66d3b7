check_PROGRAMS += tests/sim/test_sim
TESTS += tests/sim/test_sim
tests_sim_test_sim_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_sim_test_sim_LDADD = libsim.la libtesting.la
TESTS += tests/sim/sim.sh
EXTRA_DIST += tests/sim/sim.sh
