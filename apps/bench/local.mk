bin_PROGRAMS += apps/tutti-bench
apps_tutti_bench_SOURCES = \
	apps/bench/address.c apps/bench/address.h \
	apps/bench/allreduce.c \
	apps/bench/bench.h \
	apps/bench/tune_collectives.c apps/bench/tuner.h apps/bench/tuner_race.c apps/bench/tuner_report.c \
	apps/bench/bench_main.c \
	apps/bench/bounds.c apps/bench/bounds.h \
	apps/bench/box.c apps/bench/box.h \
	apps/bench/channel.c \
	apps/bench/channel_way.c apps/bench/channel_way.h \
	apps/bench/choices.c apps/bench/choices.h \
	apps/bench/compute.c \
	apps/bench/counting.c apps/bench/counting.h \
	apps/bench/curves.c apps/bench/curves.h \
	apps/bench/data.c \
	apps/bench/grid.c apps/bench/grid.h \
	apps/bench/grid_rows.c apps/bench/grid_rows.h \
	apps/bench/kv.c \
	apps/bench/kv_peers.c \
	apps/bench/kv_rows.c apps/bench/kv_rows.h \
	apps/bench/kv_store.c apps/bench/kv_store.h \
	apps/bench/kv_report.c \
	apps/bench/interference.c \
	apps/bench/library.c apps/bench/library.h \
	apps/bench/ops.c apps/bench/ops.h \
	apps/bench/overlap.c \
	apps/bench/peer.c apps/bench/peer.h \
	apps/bench/peer_ranks.c apps/bench/peer_ranks.h \
	apps/bench/peers.c \
	apps/bench/photos.c apps/bench/photos.h \
	apps/bench/pipeline.c \
	apps/bench/pipeline_rows.h apps/bench/pipeline_report.c apps/bench/pipeline_turns.c \
	apps/bench/plot.c \
	apps/bench/points.c apps/bench/points.h \
	apps/bench/result.c apps/bench/result.h \
	apps/bench/rows.h \
	apps/bench/settings.h \
	apps/bench/share.c apps/bench/share.h \
	apps/bench/timeslices.c apps/bench/timeslices.h \
	apps/bench/step.c \
	apps/bench/step_rows.c apps/bench/step_rows.h \
	apps/bench/step_report.c apps/bench/step_report.h \
	apps/bench/step_turns.c apps/bench/step_turns.h \
	apps/bench/strategies.c \
	apps/bench/strategies_run.c apps/bench/strategies_run.h \
	apps/bench/svm.c \
	apps/bench/svm_ranks.c \
	apps/bench/svm_shape.c apps/bench/svm_shape.h \
	apps/bench/table.c \
	apps/bench/traffic.c apps/bench/traffic.h \
	apps/bench/verdict.c apps/bench/verdict.h \
	apps/bench/world.c apps/bench/world.h \
	apps/curve/chart.c apps/curve/chart.h apps/curve/curve.c apps/curve/curve.h \
	apps/terminal/terminal.c apps/terminal/terminal.h \
	apps/trees/predict.c apps/trees/predict.h
apps_tutti_bench_CPPFLAGS = $(AM_CPPFLAGS) -DTUTTI_PKGDATADIR='"$(pkgdatadir)"'
apps_tutti_bench_LDADD = libmachine.la libtune.la libsession.la libdata.la libmodels.la libcore.la $(JANSSON_LIBS)
dist_pkgdata_SCRIPTS = apps/bench/mxnet_kv.py apps/bench/mxnet_step.py apps/bench/photos_peer.py apps/bench/svm_peer.py apps/bench/torch_compute.py apps/bench/torch_ddp.py \
	apps/bench/torch_photos.py apps/bench/torch_pipeline.py
dist_pkgdata_DATA = apps/bench/channel_grpc.cpp

# The commit that results name: looked up at every make, written when it has changed.
nodist_apps_tutti_bench_SOURCES = apps/bench/commit.h
BUILT_SOURCES += apps/bench/commit.h
CLEANFILES += apps/bench/commit.h
apps/bench/commit.h: look-up-commit
	@$(MKDIR_P) apps/bench; commit=`git -C $(srcdir) describe --always --dirty --abbrev=12 --exclude='*' 2> /dev/null`; \
	echo "#define TUTTI_COMMIT \"$${commit:-unknown}\"" > $@.new; \
	if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi
apps/bench/tutti_bench-result.$(OBJEXT): apps/bench/commit.h
.PHONY: look-up-commit
