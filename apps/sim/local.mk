# What is simulated; an archive, for tutti-plan, too.
noinst_LTLIBRARIES += libsimulated.la
libsimulated_la_SOURCES = \
	apps/sim/program.c apps/sim/program.h \
	apps/sim/trace_times.c apps/sim/trace_times.h

bin_PROGRAMS += apps/tutti-sim
apps_tutti_sim_SOURCES = apps/sim/sim_main.c
apps_tutti_sim_LDADD = libsimulated.la libsim.la libtrace.la libsession.la libmodels.la libcore.la
