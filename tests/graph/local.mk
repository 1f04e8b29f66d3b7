check_PROGRAMS += tests/graph/test_graph
TESTS += tests/graph/test_graph
tests_graph_test_graph_SOURCES = tests/graph/test_graph.c
tests_graph_test_graph_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_graph_test_graph_LDADD = libtesting.la

check_PROGRAMS += tests/graph/test_region
TESTS += tests/graph/test_region
tests_graph_test_region_SOURCES = tests/graph/test_region.c
tests_graph_test_region_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_graph_test_region_LDADD = libtesting.la

check_PROGRAMS += tests/graph/test_sent
TESTS += tests/graph/test_sent
tests_graph_test_sent_SOURCES = tests/graph/test_sent.c
tests_graph_test_sent_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_graph_test_sent_LDADD = libtesting.la
