# Prices against another simulator. Only in make check-long: half a minute for 16 ranks, and it needs libsimgrid-dev.
EXTRA_DIST += tests/simgrid/judge.c tests/simgrid/judge.h tests/simgrid/simgrid.sh
run_simgrid = $(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 3600 $(srcdir)/tests/simgrid/simgrid.sh
check-simgrid: apps/tutti-info
	@$(run_simgrid) || test $$? = 77
	@$(run_simgrid) 64 "rsag recursive-doubling scatter-ring direct" || test $$? = 77
long_checks += check-simgrid
