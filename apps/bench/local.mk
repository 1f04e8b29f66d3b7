bin_PROGRAMS += apps/tutti-bench
apps_tutti_bench_SOURCES = \
	apps/bench/allreduce.c apps/bench/allreduce.h \
	apps/bench/bench.h \
	apps/bench/bench_main.c \
	apps/bench/compute.c apps/bench/compute.h \
	apps/bench/counting.c apps/bench/counting.h \
	apps/bench/link.h \
	apps/bench/ops.c apps/bench/ops.h \
	apps/bench/peer.c apps/bench/peer.h \
	apps/bench/result.c apps/bench/result.h \
	apps/bench/side.c apps/bench/side.h \
	apps/bench/table.c \
	apps/bench/world.c apps/bench/world.h
apps_tutti_bench_CPPFLAGS = $(AM_CPPFLAGS) -DTUTTI_PKGDATADIR='"$(pkgdatadir)"'
apps_tutti_bench_LDADD = libmodels.la libcore.la $(JANSSON_LIBS)
dist_pkgdata_SCRIPTS = apps/bench/torch_compute.py
