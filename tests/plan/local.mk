check_PROGRAMS += tests/plan/test_plan
TESTS += tests/plan/test_plan tests/plan/plan.sh
EXTRA_DIST += tests/plan/plan.sh
tests_plan_test_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_plan_test_plan_LDADD = libplan.la libsimulated.la libsim.la libtrace.la libsession.la libmodels.la libtesting.la
