# The soak: what does not grow in a long run. make check: 2000 collectives and more; make check-soak: 100,000, and
# as many pushes of keys.
check_PROGRAMS += tests/soak/soak
tests_soak_soak_LDADD = libtune.la libsession.la libmodels.la libcore.la
check_PROGRAMS += tests/soak/kv
tests_soak_kv_SOURCES = tests/soak/kv.c tests/support/nap.c
tests_soak_kv_LDADD = libtutti.la $(STARPU_LIBS) $(MPI_LIBS)
TESTS += tests/soak/soak.sh tests/soak/kv.sh
EXTRA_DIST += tests/soak/soak.sh tests/soak/kv.sh
check-soak: tests/soak/soak tests/soak/kv tests/kv/kv
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 1800 $(srcdir)/tests/soak/soak.sh 100000
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 1800 $(srcdir)/tests/soak/kv.sh 100000 25
long_checks += check-soak
