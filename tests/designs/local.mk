check_PROGRAMS += tests/designs/test_designs
TESTS += tests/designs/test_designs
tests_designs_test_designs_SOURCES = tests/designs/test_designs.c
tests_designs_test_designs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_designs_test_designs_LDADD = libtesting.la
