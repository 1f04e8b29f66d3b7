check_PROGRAMS += tests/collectives/test_loop
TESTS += tests/collectives/test_loop
tests_collectives_test_loop_SOURCES = tests/collectives/test_loop.c \
	tests/collectives/cases.c tests/collectives/cases.h
tests_collectives_test_loop_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/mpi_ranks
TESTS += tests/collectives/mpi.sh
EXTRA_DIST += tests/collectives/mpi.sh
tests_collectives_mpi_ranks_SOURCES = tests/collectives/mpi_ranks.c \
	tests/collectives/cases.c tests/collectives/cases.h
tests_collectives_mpi_ranks_LDADD = libvalues.la libcore.la

schedule_tests = tests/collectives/test_choose tests/collectives/test_match tests/collectives/test_price tests/collectives/test_sched
check_PROGRAMS += $(schedule_tests)
TESTS += $(schedule_tests)
check_LTLIBRARIES += tests/collectives/libschedules.la
tests_collectives_libschedules_la_SOURCES = tests/collectives/schedules.c tests/collectives/schedules.h
tests_collectives_libschedules_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_libschedules_la_LIBADD = libtesting.la
tests_collectives_test_choose_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_choose_LDADD = tests/collectives/libschedules.la
tests_collectives_test_match_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_match_LDADD = tests/collectives/libschedules.la
tests_collectives_test_price_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_price_LDADD = tests/collectives/libschedules.la
tests_collectives_test_sched_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_sched_LDADD = tests/collectives/libschedules.la
EXTRA_DIST += \
	tests/golden/schedules/barrier.txt \
	tests/golden/schedules/chain_allreduce.txt \
	tests/golden/schedules/chain_binomial_allreduce.txt \
	tests/golden/schedules/chain_binomial_broadcast.txt \
	tests/golden/schedules/chain_binomial_reduce.txt \
	tests/golden/schedules/chain_broadcast.txt \
	tests/golden/schedules/chain_chain_allreduce.txt \
	tests/golden/schedules/chain_chain_broadcast.txt \
	tests/golden/schedules/chain_chain_reduce.txt \
	tests/golden/schedules/chain_reduce.txt \
	tests/golden/schedules/direct_allreduce.txt \
	tests/golden/schedules/direct_alltoall.txt \
	tests/golden/schedules/direct_gather.txt \
	tests/golden/schedules/direct_reduce_scatter.txt \
	tests/golden/schedules/direct_scatter.txt \
	tests/golden/schedules/doubling_allreduce.txt \
	tests/golden/schedules/hierarchical_allreduce.txt \
	tests/golden/schedules/hierarchical_broadcast.txt \
	tests/golden/schedules/hierarchical_reduce.txt \
	tests/golden/schedules/nomial_allreduce.txt \
	tests/golden/schedules/nomial_broadcast.txt \
	tests/golden/schedules/nomial_reduce.txt \
	tests/golden/schedules/ring_allgather.txt \
	tests/golden/schedules/ring_allreduce.txt \
	tests/golden/schedules/ring_reduce_scatter.txt \
	tests/golden/schedules/rsag_allreduce.txt \
	tests/golden/schedules/scan.txt \
	tests/golden/schedules/scatter_ring_broadcast.txt \
	tests/golden/schedules/scatter_ring_reduce.txt \
	tests/golden/schedules/tree_allreduce.txt \
	tests/golden/schedules/tree_broadcast.txt \
	tests/golden/schedules/tree_reduce.txt

check_PROGRAMS += tests/collectives/test_links
TESTS += tests/collectives/test_links
tests_collectives_test_links_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

# fuzz_topology takes a number of iterations; make check runs its default.
check_PROGRAMS += tests/collectives/test_topology tests/collectives/fuzz_topology
TESTS += tests/collectives/test_topology tests/collectives/fuzz_topology
tests_collectives_test_topology_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_fuzz_topology_SOURCES = tests/collectives/fuzz_topology.c tests/collectives/fuzz_text.c tests/collectives/fuzz_text.h
tests_collectives_fuzz_topology_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

# As fuzz_topology.
check_PROGRAMS += tests/collectives/test_rules tests/collectives/fuzz_rules
TESTS += tests/collectives/test_rules tests/collectives/fuzz_rules
tests_collectives_test_rules_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_fuzz_rules_SOURCES = tests/collectives/fuzz_rules.c tests/collectives/fuzz_text.c tests/collectives/fuzz_text.h
tests_collectives_fuzz_rules_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_msccl
TESTS += tests/collectives/test_msccl
tests_collectives_test_msccl_SOURCES = tests/collectives/test_msccl.c apps/trees/msccl.c apps/trees/msccl.h
tests_collectives_test_msccl_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_fewest
TESTS += tests/collectives/test_fewest
tests_collectives_test_fewest_SOURCES = tests/collectives/test_fewest.c apps/trees/fewest.h
if HAVE_GLPK
tests_collectives_test_fewest_SOURCES += apps/trees/fewest_glpk.c
else
tests_collectives_test_fewest_SOURCES += apps/trees/fewest_none.c
endif
tests_collectives_test_fewest_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_fewest_LDADD = libtesting.la $(GLPK_LIBS)

# fuzz_forest takes a number of iterations; make check runs its default.
check_PROGRAMS += tests/collectives/test_trees tests/collectives/fuzz_forest
TESTS += tests/collectives/test_trees tests/collectives/fuzz_forest
tests_collectives_test_trees_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_fuzz_forest_SOURCES = tests/collectives/fuzz_forest.c tests/collectives/fuzz_text.c tests/collectives/fuzz_text.h
tests_collectives_fuzz_forest_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_buf
TESTS += tests/collectives/test_buf
tests_collectives_test_buf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_traffic
TESTS += tests/collectives/test_traffic
tests_collectives_test_traffic_SOURCES = tests/collectives/test_traffic.c \
	apps/bench/counting.c apps/bench/counting.h
tests_collectives_test_traffic_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_control
TESTS += tests/collectives/test_control
tests_collectives_test_control_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_rounding
TESTS += tests/collectives/test_rounding
tests_collectives_test_rounding_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

# fuzz_tcp takes a number of iterations; make check runs its default.
check_PROGRAMS += tests/collectives/test_tcp tests/collectives/fuzz_tcp
TESTS += tests/collectives/test_tcp tests/collectives/fuzz_tcp
tests_collectives_test_tcp_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_fuzz_tcp_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_virtual
TESTS += tests/collectives/test_virtual
tests_collectives_test_virtual_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_virtual_LDADD = libsim.la libtesting.la

check_PROGRAMS += tests/collectives/test_shm tests/collectives/test_places
TESTS += tests/collectives/test_shm tests/collectives/test_places
tests_collectives_test_shm_SOURCES = tests/collectives/test_shm.c tests/collectives/shared_pair.h
tests_collectives_test_shm_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_collectives_test_places_SOURCES = tests/collectives/test_places.c tests/collectives/shared_pair.h
tests_collectives_test_places_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/collectives/test_mesh
TESTS += tests/collectives/test_mesh
tests_collectives_test_mesh_SOURCES = tests/collectives/test_mesh.c \
	tests/collectives/cases.c tests/collectives/cases.h
tests_collectives_test_mesh_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

if HAVE_FABRIC
check_PROGRAMS += tests/collectives/test_fabric
TESTS += tests/collectives/test_fabric
endif
tests_collectives_test_fabric_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
