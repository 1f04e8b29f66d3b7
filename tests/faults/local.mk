# Ranks that die, stop or do wrong: what the run says, that it ends on every rank, and that it goes on from its checkpoint.
# Scripts repeat their random rounds TUTTI_TEST_ROUNDS times: a few in make check, 100 in make check-chaos.
fault_programs = tests/faults/test_fault tests/faults/test_fault_none tests/faults/test_replica
fault_scripts = \
	tests/faults/built.sh \
	tests/faults/chaos.sh \
	tests/faults/deadlines.sh \
	tests/faults/elastic_chaos.sh \
	tests/faults/guard.sh \
	tests/faults/launcher.sh \
	tests/faults/link.sh \
	tests/faults/replica.sh \
	tests/faults/restarts.sh \
	tests/faults/saver.sh
check_PROGRAMS += $(fault_programs)
TESTS += $(fault_programs) $(fault_scripts)
EXTRA_DIST += $(fault_scripts) tests/faults/elastic_accuracy.sh tests/faults/recovery.sh tests/faults/recovery_peer.py

# Both files of which a build links one (configure --disable-faults) are built and tested in every build: these programs bring
# theirs along, so that libcore's is not linked. One that lacks a function of fault.h draws it in, and does not link.
tests_faults_test_fault_SOURCES = tests/faults/test_fault.c designs/drive/fault.c
tests_faults_test_fault_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_faults_test_fault_none_SOURCES = tests/faults/test_fault_none.c designs/drive/fault_none.c
tests_faults_test_fault_none_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_faults_test_replica_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_faults_test_replica_LDADD = libtrain.la libtune.la libsession.la libdata.la libmodels.la libtesting.la

# A disk that takes its time, for saver.sh; -rpath makes a shared object of it.
check_LTLIBRARIES += tests/faults/slow_disk.la
tests_faults_slow_disk_la_SOURCES = tests/faults/slow_disk.c
tests_faults_slow_disk_la_CFLAGS = $(TUTTI_WARN_CFLAGS) # its fsync is for everybody to see
tests_faults_slow_disk_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# A rank that never comes, for deadlines.sh.
check_LTLIBRARIES += tests/faults/never_comes.la
tests_faults_never_comes_la_SOURCES = tests/faults/never_comes.c
tests_faults_never_comes_la_CFLAGS = $(MPI_CFLAGS) $(TUTTI_WARN_CFLAGS) # its functions are for everybody to see
tests_faults_never_comes_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# 100 rounds of each random test; part of make check-long.
long_checks += check-chaos
check-chaos: all
	TUTTI_TEST_ROUNDS=100 TUTTI_TEST_LANES=4 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(fault_scripts)' AM_LOG_FLAGS='-t 14400'
