check_PROGRAMS += tests/curve/test_curve
TESTS += tests/curve/test_curve
tests_curve_test_curve_SOURCES = tests/curve/test_curve.c \
	apps/curve/curve.c apps/curve/curve.h
tests_curve_test_curve_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_curve_test_curve_LDADD = libtesting.la $(JANSSON_LIBS)
