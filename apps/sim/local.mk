bin_PROGRAMS += apps/tutti-sim
apps_tutti_sim_SOURCES = apps/sim/program.c apps/sim/program.h apps/sim/sim_main.c apps/sim/trace_times.c apps/sim/trace_times.h
apps_tutti_sim_LDADD = libsim.la libtrace.la libsession.la libmodels.la libcore.la
