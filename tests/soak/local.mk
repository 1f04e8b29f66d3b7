# The soak: what does not grow in a long run. make check: 2000 collectives and more; make check-soak: 100,000.
check_PROGRAMS += tests/soak/soak
tests_soak_soak_SOURCES = tests/soak/soak.c
tests_soak_soak_LDADD = libtune.la libsession.la libmodels.la libcore.la
TESTS += tests/soak/soak.sh
EXTRA_DIST += tests/soak/soak.sh
check-soak: tests/soak/soak
	@$(AM_TESTS_ENVIRONMENT) $(LOG_COMPILER) -t 1800 $(srcdir)/tests/soak/soak.sh 100000
long_checks += check-soak
