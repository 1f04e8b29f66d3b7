tune_tests = tests/tune/test_race tests/tune/test_file
check_PROGRAMS += $(tune_tests)
TESTS += $(tune_tests)
tests_tune_test_race_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_tune_test_race_LDADD = libtune.la libsession.la libmodels.la libtesting.la
tests_tune_test_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_tune_test_file_LDADD = libtune.la libsession.la libmodels.la libtesting.la $(JANSSON_LIBS)

# Run by reopen.sh, under mpirun.
check_PROGRAMS += tests/tune/reopens
TESTS += tests/tune/reopen.sh
EXTRA_DIST += tests/tune/reopen.sh
tests_tune_reopens_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
