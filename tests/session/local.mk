check_PROGRAMS += tests/session/test_layer_rates tests/session/test_layout tests/session/test_session
TESTS += tests/session/test_layer_rates tests/session/test_layout tests/session/test_session
tests_session_test_layer_rates_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_session_test_layer_rates_LDADD = libsession.la libmodels.la libtesting.la
tests_session_test_layout_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_session_test_layout_LDADD = libsession.la libmodels.la libtesting.la
tests_session_test_session_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_session_test_session_LDADD = libsession.la libmodels.la libtesting.la

# Run by exchanges.sh, under mpirun.
check_PROGRAMS += tests/session/exchanges
TESTS += tests/session/exchanges.sh
EXTRA_DIST += tests/session/exchanges.sh
tests_session_exchanges_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_session_exchanges_LDADD = libsession.la libmodels.la libtesting.la
