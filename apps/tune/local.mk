# --design auto; an archive, so that a program takes only what it calls.
noinst_LTLIBRARIES += libtune.la
libtune_la_SOURCES = \
	apps/tune/file.c apps/tune/file.h \
	apps/tune/key.c apps/tune/key.h \
	apps/tune/configuration.c apps/tune/configuration.h \
	apps/tune/race.c apps/tune/race.h \
	apps/tune/search.c apps/tune/search.h \
	apps/tune/workload.c apps/tune/workload.h \
	apps/tune/tune.c apps/tune/tune.h
libtune_la_LIBADD = $(JANSSON_LIBS) $(XXHASH_LIBS)
