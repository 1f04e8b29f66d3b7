# Steps of all ranks in virtual time; not in the library, whose users run on what is there.
noinst_LTLIBRARIES += libsim.la
libsim_la_SOURCES = designs/sim/sim.c designs/sim/sim.h \
	collectives/transport/virtual.h collectives/transport/virtual_arithmetic.c \
	collectives/transport/virtual_message.c collectives/transport/virtual_parts.h collectives/transport/virtual_world.c \
	collectives/transport/virtual_waiting.c collectives/transport/virtual_waiting.h
