# Steps of all ranks in virtual time.
libcore_la_SOURCES += designs/sim/sim.c designs/sim/sim.h
