# The explorer of schedules.
check_LTLIBRARIES += tests/deadlock/libexplore.la
tests_deadlock_libexplore_la_SOURCES = \
	tests/deadlock/explore.h tests/deadlock/explore_all.c tests/deadlock/explore_random.c \
	tests/deadlock/explore_case.c tests/deadlock/explore_case.h tests/deadlock/explore_settings.c \
	tests/deadlock/explore_pipeline.c tests/deadlock/explore_strategy.c \
	tests/deadlock/dice.h \
	tests/deadlock/oracle.c tests/deadlock/oracle.h \
	tests/deadlock/program.c tests/deadlock/program.h tests/deadlock/seen.h \
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

# Worlds with servers. Their ground has names of libcore's functions: it stands before what has libcore.
check_LTLIBRARIES += tests/deadlock/libkvworld.la
tests_deadlock_libkvworld_la_SOURCES = \
	tests/deadlock/kv_explore.c tests/deadlock/kv_explore.h \
	tests/deadlock/kv_ground.c tests/deadlock/kv_ground.h \
	tests/deadlock/kv_ground_calls.c tests/deadlock/kv_ground_connections.c tests/deadlock/kv_ground_parts.h \
	tests/deadlock/kv_ground_state.c \
	tests/deadlock/kv_world.c tests/deadlock/kv_world.h \
	tests/deadlock/kv_world_oracle.c tests/deadlock/kv_world_parts.h tests/deadlock/kv_world_ranks.c \
	tests/deadlock/kv_world_state.c

check_PROGRAMS += tests/deadlock/test_kv_world
TESTS += tests/deadlock/test_kv_world
tests_deadlock_test_kv_world_SOURCES = tests/deadlock/test_kv_world.c
tests_deadlock_test_kv_world_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_test_kv_world_LDADD = tests/deadlock/libkvworld.la tests/deadlock/libexplore.la tests/deadlock/libcases.la

# Memory that is lent between two ranks.
check_PROGRAMS += tests/deadlock/test_buffer_world
TESTS += tests/deadlock/test_buffer_world
tests_deadlock_test_buffer_world_SOURCES = tests/deadlock/test_buffer_world.c
tests_deadlock_test_buffer_world_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_deadlock_test_buffer_world_LDADD = tests/deadlock/libexplore.la libtesting.la

# Mutants of the code, which the suite has to catch: a handful in make check, all with make check-mutants.
TESTS += tests/deadlock/mutants/mutants.sh
EXTRA_DIST += tests/deadlock/mutants
check_DATA += tests/deadlock/mutants/flags
CLEANFILES += tests/deadlock/mutants/flags
tests/deadlock/mutants/flags: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/deadlock/mutants && { echo '$(CC)'; \
	echo '$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)'; \
	echo '$(AM_LDFLAGS) $(LDFLAGS) $(CHECK_LIBS) $(STARPU_LIBS) $(MPI_LIBS) $(ONEDNN_LIBS) $(JANSSON_LIBS) $(CUDA_LIBS) $(LIBS)'; } > $@

check-mutants: $(check_LTLIBRARIES) $(check_PROGRAMS) $(check_DATA)
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 3600 $(srcdir)/tests/deadlock/mutants/mutants.sh all
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 3600 $(srcdir)/tests/kernels/cuda_mutants.sh all

# A million random schedules, and every schedule of larger cases; five times as many of those that the oracles have.
check-schedules: $(check_PROGRAMS) $(check_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) TUTTI_EXPLORE_SCHEDULES=1000000 $(LOG_COMPILER) -t 3600 tests/deadlock/test_explore
	@$(AM_TESTS_ENVIRONMENT) TUTTI_EXPLORE_SCHEDULES=1000000 $(LOG_COMPILER) -t 3600 tests/deadlock/test_kv_world
	@$(AM_TESTS_ENVIRONMENT) TUTTI_EXPLORE_SCHEDULES=1000000 $(LOG_COMPILER) -t 3600 tests/deadlock/test_buffer_world
	@$(AM_TESTS_ENVIRONMENT) TUTTI_EXPLORE_SCHEDULES=100000 $(LOG_COMPILER) -t 3600 $(srcdir)/tests/deadlock/cases.sh
long_checks += check-mutants check-schedules
