# Check programs, one a source room. Every test runs under the guard, which has the deadline.
LOG_COMPILER = bash $(top_srcdir)/tests/support/guard
# All cases of the deadlock suite before three oracles take 3 to 5 minutes on 2 cores.
AM_LOG_FLAGS = -t $(if $(filter tests/deadlock/cases.sh.log,$@),600,300)
# Tests wait more than they compute: four at a time, unless make is told a number (make -j1 check).
AM_MAKEFLAGS = $(if $(filter -j%,$(MAKEFLAGS)),,-j4)
AM_TESTS_ENVIRONMENT = \
	TUTTI_SRCDIR='$(abs_top_srcdir)'; TUTTI_BUILDDIR='$(abs_top_builddir)'; MPIRUN='$(MPIRUN)'; \
	export TUTTI_SRCDIR TUTTI_BUILDDIR MPIRUN;
EXTRA_DIST += tests/support/guard tests/support/left_out.sh tests/support/may_leave_out.txt tests/support/slowest.sh

# make check-long: what make check has no time for. Rooms add their targets.
long_checks =

check_LTLIBRARIES += libvalues.la libtesting.la
libvalues_la_SOURCES = tests/support/values.c tests/support/values.h
libtesting_la_SOURCES = tests/support/cpu_kernel.c tests/support/cpu_kernel.h \
	tests/support/device_slots.c tests/support/device_slots.h tests/support/graph_print.c tests/support/graph_print.h \
	tests/support/loop.c tests/support/loop.h \
	tests/support/sched_print.c tests/support/sched_print.h tests/support/testing.c tests/support/testing.h
libtesting_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
libtesting_la_LIBADD = libvalues.la libcore.la $(CHECK_LIBS)

# Of tests that have a StarPU of their own; preloaded into the examples. -rpath makes a shared object of it.
check_LTLIBRARIES += tests/support/nap.la
tests_support_nap_la_SOURCES = tests/support/nap.c
tests_support_nap_la_CFLAGS = $(STARPU_CFLAGS) $(TUTTI_WARN_CFLAGS) # its starpu_init is for everybody to see
tests_support_nap_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

include tests/base/local.mk
include tests/example/local.mk
include tests/graph/local.mk
include tests/run/local.mk
include tests/device/local.mk
include tests/kernels/local.mk
include tests/net/local.mk
include tests/step/local.mk
include tests/collectives/local.mk
include tests/designs/local.mk
include tests/kv/local.mk
include tests/deadlock/local.mk
include tests/deadlock/explore.mk
include tests/data/local.mk
include tests/architecture/local.mk
include tests/models/local.mk
include tests/bench/local.mk
include tests/curve/local.mk
include tests/tools/local.mk
include tests/trace/local.mk
include tests/train/local.mk
include tests/launch/local.mk
include tests/protobuf/local.mk
include tests/session/local.mk
include tests/plan/local.mk
include tests/sim/local.mk
include tests/svm/local.mk
include tests/tune/local.mk
include tests/mpicheck/local.mk
include tests/simgrid/local.mk
include tests/soak/local.mk
include tests/programs/local.mk
include tests/box/local.mk
include tests/faults/local.mk
include tests/portability/local.mk
include tests/install/local.mk
include tests/lint/local.mk

check-long: $(long_checks)
.PHONY: check-long $(long_checks)

# For .ci/run, which leaves some out where they would only run again.
list-tests:
	@echo $(TESTS)
# What has to be built for some tests, only="...": every program but tests that are not among them. Some scripts run those.
uses_other_tests = tests/deadlock/mutants/mutants.sh tests/device/mutants/mutants.sh tests/device/steps.sh \
	tests/kernels/cuda_mutants.sh tests/kernels/isa.sh
list-programs:
	@echo $(if $(filter $(uses_other_tests),$(only)),$(check_PROGRAMS),$(filter-out $(filter-out $(only),$(TESTS)),$(check_PROGRAMS)))
.PHONY: list-tests list-programs

# Needs a build of its own, which it makes; make tsan does that alone.
check-tsan:
	@$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/support/tsan.sh
tsan:
	@$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/support/tsan.sh build
.PHONY: check-tsan tsan
EXTRA_DIST += tests/support/again.sh tests/support/lsan.supp tests/support/tsan.sh tests/support/tsan.supp tests/support/tsan_ranks.sh
