# The explorer of schedules.
check_LTLIBRARIES += tests/deadlock/libexplore.la
tests_deadlock_libexplore_la_SOURCES = \
	tests/deadlock/explore.h tests/deadlock/explore_all.c tests/deadlock/explore_random.c \
	tests/deadlock/explore_case.c tests/deadlock/explore_case.h tests/deadlock/explore_settings.c \
	tests/deadlock/oracle.c tests/deadlock/oracle.h \
	tests/deadlock/program.c tests/deadlock/program.h \
	tests/deadlock/wire.c tests/deadlock/wire.h \
	tests/deadlock/world.c tests/deadlock/world.h \
	tests/deadlock/world_open.c tests/deadlock/world_parts.h
tests_deadlock_libexplore_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_libexplore_la_LIBADD = libtesting.la

check_PROGRAMS += tests/deadlock/test_explore
TESTS += tests/deadlock/test_explore
tests_deadlock_test_explore_SOURCES = tests/deadlock/test_explore.c
tests_deadlock_test_explore_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_test_explore_LDADD = tests/deadlock/libexplore.la
