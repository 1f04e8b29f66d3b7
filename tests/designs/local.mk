design_tests = tests/designs/test_burst tests/designs/test_clocks tests/designs/test_comm_core tests/designs/test_designs \
	tests/designs/test_division tests/designs/test_elastic tests/designs/test_elastic_ranks \
	tests/designs/test_fingerprint tests/designs/test_halt tests/designs/test_marks tests/designs/test_membership tests/designs/test_mismatch tests/designs/test_names tests/designs/test_active_messages \
	tests/designs/test_order tests/designs/test_pipeline tests/designs/test_placed tests/designs/test_priority tests/designs/test_record tests/designs/test_release tests/designs/test_servers tests/designs/test_stall \
	tests/designs/test_usr1 tests/designs/test_verify tests/designs/test_watch
check_PROGRAMS += $(design_tests)
TESTS += $(design_tests)
tests_designs_test_burst_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_clocks_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_comm_core_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_designs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_division_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_division_LDADD = libsession.la libmodels.la libtrial.la
tests_designs_test_elastic_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_elastic_ranks_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_halt_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_active_messages_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_order_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_servers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_servers_LDADD = libsession.la libmodels.la libtrial.la
tests_designs_test_pipeline_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_pipeline_LDADD = libsession.la libmodels.la libtrial.la
tests_designs_test_priority_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_release_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_usr1_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_watch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_watch_LDADD = libtesting.la $(JANSSON_LIBS)
tests_designs_test_verify_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_fingerprint_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_marks_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_mismatch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_names_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_record_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_stall_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_placed_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_membership_SOURCES = tests/designs/test_membership.c \
	tests/designs/membership_world.c tests/designs/membership_world.h
tests_designs_test_membership_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
# It takes a number of iterations; make check runs its default.
check_PROGRAMS += tests/designs/fuzz_membership
TESTS += tests/designs/fuzz_membership
tests_designs_fuzz_membership_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
# It takes a number of iterations; make check runs its default.
check_PROGRAMS += tests/designs/fuzz_elastic
TESTS += tests/designs/fuzz_elastic
tests_designs_fuzz_elastic_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
