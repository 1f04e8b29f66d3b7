check_PROGRAMS += tests/graph/test_graph
TESTS += tests/graph/test_graph
tests_graph_test_graph_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/graph/test_region
TESTS += tests/graph/test_region
tests_graph_test_region_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/graph/test_sent
TESTS += tests/graph/test_sent
tests_graph_test_sent_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
