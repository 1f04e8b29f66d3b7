# Tests of programs: real runs under mpirun. Each is a script with a deadline of its own from the guard.
program_tests = \
	tests/programs/arguments.sh \
	tests/programs/auto.sh \
	tests/programs/bench_kv.sh tests/programs/bench_channel.sh tests/programs/bench_start.sh \
	tests/programs/bench_strategies.sh \
	tests/programs/designs.sh \
	tests/programs/export.sh \
	tests/programs/export_others.sh \
	tests/programs/files.sh \
	tests/programs/find_lr.sh \
	tests/programs/finetune.sh \
	tests/programs/finite.sh \
	tests/programs/freeze.sh \
	tests/programs/hashes.sh \
	tests/programs/home.sh \
	tests/programs/host.sh \
	tests/programs/imagenet.sh \
	tests/programs/interrupt.sh \
	tests/programs/late.sh \
	tests/programs/layout.sh tests/programs/split.sh \
	tests/programs/rooted.sh \
	tests/programs/served.sh tests/programs/served_designs.sh tests/programs/elastic.sh tests/programs/elastic_ranks.sh tests/programs/elastic_ends.sh tests/programs/elastic_mpi.sh tests/programs/elastic_hosts.sh tests/programs/async.sh \
	tests/programs/strategy.sh \
	tests/programs/buffers.sh tests/programs/compress.sh \
	tests/programs/loaded.sh \
	tests/programs/local.sh \
	tests/programs/manual.sh \
	tests/programs/mesh.sh \
	tests/programs/mismatch.sh \
	tests/programs/nodes.sh \
	tests/programs/opencl.sh \
	tests/programs/options.sh \
	tests/programs/pack.sh \
	tests/programs/peers.sh \
	tests/programs/plateau.sh \
	tests/programs/config.sh \
	tests/programs/network.sh \
	tests/programs/predict.sh \
	tests/programs/quickstart.sh \
	tests/programs/ranks.sh \
	tests/programs/refusals.sh \
	tests/programs/release.sh \
	tests/programs/report.sh \
	tests/programs/resume.sh \
	tests/programs/sessions.sh \
	tests/programs/stall.sh \
	tests/programs/terminal.sh \
	tests/programs/tools.sh \
	tests/programs/from_torch.sh tests/programs/torch.sh tests/programs/trees.sh \
	tests/programs/adpsgd.sh tests/programs/gossip.sh tests/programs/groups.sh tests/programs/links.sh \
	tests/programs/verbs.sh
TESTS += $(program_tests)
EXTRA_DIST += $(program_tests) tests/programs/lib.sh tests/programs/stage_turns.sh tests/programs/elastic_lib.sh tests/programs/export_others.py tests/programs/torch_variants.py

# The whole table of weights by replicas, micro-batches and stages: 96 trainings, up to 32 ranks (10 minutes).
check-hashes: all
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 14400 $(srcdir)/tests/programs/hashes.sh '1 2 3 4' '1 2 4' '1 2 3 4 5 6 7 8'
long_checks += check-hashes

# What mismatch.sh and nodes.sh run: as a stranger's programs, on public headers and libtutti alone.
check_PROGRAMS += tests/programs/mismatch tests/programs/nodes
tests_programs_mismatch_SOURCES = tests/programs/mismatch.c tests/support/nap.c
tests_programs_mismatch_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
# And what arguments.sh, host.sh, late.sh and release.sh run.
check_PROGRAMS += tests/programs/arguments tests/programs/host tests/programs/late tests/programs/release
tests_programs_host_SOURCES = tests/programs/host.c tests/support/nap.c
tests_programs_host_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
tests_programs_late_SOURCES = tests/programs/late.c tests/support/nap.c
tests_programs_late_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
tests_programs_release_SOURCES = tests/programs/release.c tests/support/nap.c
tests_programs_release_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
tests_programs_arguments_SOURCES = tests/programs/arguments.c tests/support/nap.c
tests_programs_arguments_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
# And what tests/tools/run.sh runs.
check_PROGRAMS += tests/programs/spawn
tests_programs_spawn_LDADD = $(MPI_LIBS)
tests_programs_nodes_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)

# What opencl.sh runs, where StarPU has OpenCL.
if HAVE_OPENCL
check_PROGRAMS += tests/programs/opencl
endif
tests_programs_opencl_CPPFLAGS = $(AM_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=120
tests_programs_opencl_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS) $(OPENCL_LIBS)

# What sessions.sh and verbs.sh run, likewise.
check_PROGRAMS += tests/programs/groups tests/programs/verbs
tests_programs_groups_SOURCES = tests/programs/groups.c tests/support/nap.c
tests_programs_groups_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
tests_programs_verbs_SOURCES = tests/programs/verbs.c tests/support/nap.c
tests_programs_verbs_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
# It also counts what came in place, which only the library's inside knows.
check_PROGRAMS += tests/programs/buffers
tests_programs_buffers_SOURCES = tests/programs/buffers.c tests/support/nap.c
tests_programs_buffers_LDADD = libcore.la
check_PROGRAMS += tests/programs/sessions
tests_programs_sessions_SOURCES = tests/programs/sessions.c tests/support/nap.c
tests_programs_sessions_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
check_PROGRAMS += tests/programs/gives_up
tests_programs_gives_up_SOURCES = tests/programs/gives_up.c tests/support/nap.c
tests_programs_gives_up_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
# A data set that takes its time, or fails, for late.sh and elastic_ends.sh; -rpath makes a shared object of it.
check_LTLIBRARIES += tests/programs/slow_read.la
tests_programs_slow_read_la_SOURCES = tests/programs/slow_read.c
tests_programs_slow_read_la_CFLAGS = $(TUTTI_WARN_CFLAGS) # its pread is for everybody to see
tests_programs_slow_read_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
# A disk that is full when a file is synced, for pack.sh.
check_LTLIBRARIES += tests/programs/full_disk.la
tests_programs_full_disk_la_SOURCES = tests/programs/full_disk.c
tests_programs_full_disk_la_CFLAGS = $(TUTTI_WARN_CFLAGS) # its fsync is for everybody to see
tests_programs_full_disk_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
# Another build of StarPU, for loaded.sh.
check_LTLIBRARIES += tests/programs/other_starpu.la
tests_programs_other_starpu_la_SOURCES = tests/programs/other_starpu.c
tests_programs_other_starpu_la_CFLAGS = $(TUTTI_WARN_CFLAGS) $(STARPU_CFLAGS) # its functions are for everybody to see
tests_programs_other_starpu_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# The commands of the pages, as they stand there: some minutes of computing.
EXTRA_DIST += tests/programs/pages.sh
long_checks += check-pages
check-pages: all
	@$(AM_TESTS_ENVIRONMENT) bash $(top_srcdir)/tests/support/guard -t 1800 bash $(srcdir)/tests/programs/pages.sh
.PHONY: check-pages
