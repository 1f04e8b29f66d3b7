# What runs on one rank of a program that trains; an archive, so that a program takes only what it calls.
noinst_LTLIBRARIES += libsession.la
libsession_la_SOURCES = \
	apps/session/aware.c apps/session/aware.h \
	apps/session/device.c apps/session/device.h \
	apps/session/engines.c apps/session/engines.h \
	apps/session/groups.c apps/session/groups.h \
	apps/session/layer_rates.c apps/session/layer_rates.h \
	apps/session/layout.c apps/session/layout.h \
	apps/session/precision.c apps/session/precision.h \
	apps/session/rank_step.c apps/session/rank_step.h \
	apps/session/model_step.c apps/session/model_step.h \
	apps/session/session.c apps/session/session.h \
	apps/session/transport.c apps/session/transport.h \
	apps/session/weights.c apps/session/weights.h
