check_LTLIBRARIES += libtrial.la
libtrial_la_SOURCES = tests/step/drawn.c tests/step/drawn.h tests/step/leavings.c tests/step/leavings.h \
	tests/step/nets.c tests/step/nets.h tests/step/trial.c tests/step/trial.h
libtrial_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
libtrial_la_LIBADD = libtesting.la

check_PROGRAMS += tests/step/test_build tests/step/test_graph tests/step/test_gradients \
	tests/step/test_partition tests/step/test_units tests/step/test_updates tests/step/test_rounds \
	tests/step/test_pairs tests/step/test_shares tests/step/test_codes tests/step/test_served tests/step/test_bits \
	tests/step/test_bf16 tests/step/test_evaluation
TESTS += tests/step/test_build tests/step/test_graph tests/step/test_gradients tests/step/test_partition \
	tests/step/test_units tests/step/test_updates tests/step/test_rounds tests/step/test_pairs \
	tests/step/test_shares tests/step/test_codes tests/step/test_served tests/step/test_bits tests/step/test_bf16 \
	tests/step/test_evaluation
tests_step_test_build_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_graph_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_gradients_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_gradients_LDADD = libtrial.la
tests_step_test_partition_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_partition_LDADD = libtrial.la
tests_step_test_units_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_units_LDADD = libtrial.la
tests_step_test_updates_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_updates_LDADD = libtrial.la
tests_step_test_rounds_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_rounds_LDADD = libtrial.la
tests_step_test_pairs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_pairs_LDADD = libtrial.la
tests_step_test_shares_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_shares_LDADD = libtrial.la
tests_step_test_codes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_codes_LDADD = libtrial.la
tests_step_test_served_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_served_LDADD = libtrial.la
tests_step_test_bits_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_bits_LDADD = libtrial.la
tests_step_test_bf16_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_bf16_LDADD = libtrial.la
tests_step_test_evaluation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_step_test_evaluation_LDADD = libtrial.la

EXTRA_DIST += tests/golden/step/small_1.txt tests/golden/step/small_2.txt
