# Which layout is fastest; an archive, for tests.
noinst_LTLIBRARIES += libplan.la
libplan_la_SOURCES = \
	apps/plan/candidates.c apps/plan/candidates.h \
	apps/plan/equations.c apps/plan/equations.h \
	apps/plan/layers.c apps/plan/layers.h \
	apps/plan/report.c apps/plan/report.h
libplan_la_LIBADD = $(JANSSON_LIBS)

bin_PROGRAMS += apps/tutti-plan
apps_tutti_plan_SOURCES = apps/plan/plan_main.c
apps_tutti_plan_LDADD = libplan.la libsimulated.la libsim.la libtrace.la libsession.la libmodels.la libcore.la
