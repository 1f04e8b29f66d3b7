design_tests = tests/designs/test_control tests/designs/test_designs tests/designs/test_verify \
	tests/designs/test_watch
check_PROGRAMS += $(design_tests)
TESTS += $(design_tests)
tests_designs_test_control_SOURCES = tests/designs/test_control.c
tests_designs_test_control_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_control_LDADD = libtesting.la
tests_designs_test_designs_SOURCES = tests/designs/test_designs.c
tests_designs_test_designs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_designs_LDADD = libtesting.la
tests_designs_test_watch_SOURCES = tests/designs/test_watch.c
tests_designs_test_watch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_watch_LDADD = libtesting.la $(JANSSON_LIBS)
tests_designs_test_verify_SOURCES = tests/designs/test_verify.c
tests_designs_test_verify_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_verify_LDADD = libtesting.la
