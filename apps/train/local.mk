# What programs that train are made of; an archive, so that a program takes only what it calls.
noinst_LTLIBRARIES += libtrain.la
libtrain_la_SOURCES = \
	apps/curve/chart.c apps/curve/chart.h apps/curve/curve.c apps/curve/curve.h \
	apps/protobuf/protobuf.c apps/protobuf/protobuf.h \
	apps/terminal/terminal.c apps/terminal/terminal.h \
	apps/train/again.c apps/train/again.h \
	apps/train/agree.c apps/train/agree.h \
	apps/train/checkpoint.h apps/train/checkpoint_load.c apps/train/checkpoint_save.c \
	apps/train/checkpoint_parts.c apps/train/checkpoint_parts.h \
	apps/train/config_file.c apps/train/config_file.h \
	apps/train/description.c apps/train/description.h \
	apps/train/elastic_run.c apps/train/elastic_run.h \
	apps/train/evaluate.c apps/train/evaluate.h \
	apps/train/events.h \
	apps/train/find_rate.c apps/train/find_rate.h \
	apps/train/finite.c apps/train/finite.h \
	apps/train/flight.c apps/train/flight.h \
	apps/train/foreign.c apps/train/foreign.h \
	apps/train/hash.c apps/train/hash.h \
	apps/train/initial.c apps/train/initial.h \
	apps/train/interrupt.c apps/train/interrupt.h \
	apps/train/check_order.c apps/train/check_order.h \
	apps/train/remote_buffers.c apps/train/remote_buffers.h \
	apps/train/loop.c apps/train/loop.h \
	apps/train/options.h apps/train/options_parse.c \
	apps/train/options_check.c apps/train/options_table.c \
	apps/train/outputs.c apps/train/outputs.h \
	apps/train/metrics.c apps/train/metrics.h \
	apps/train/page.c apps/train/page.h \
	apps/train/program.h apps/train/programs.c \
	apps/train/progress.c apps/train/progress.h \
	apps/train/recipe.c apps/train/recipe.h \
	apps/train/replica.c apps/train/replica.h \
	apps/train/report.c apps/train/report.h \
	apps/train/saver.c apps/train/saver.h \
	apps/train/rate_schedule.c apps/train/rate_schedule.h \
	apps/train/shards.c apps/train/shards.h \
	apps/train/snapshot.c apps/train/snapshot.h \
	apps/train/stages.c \
	apps/train/stages_choose.c apps/train/stages_choose.h \
	apps/train/stages_data.c apps/train/stages_data.h \
	apps/train/state.c apps/train/state.h \
	apps/train/stopwatch.c apps/train/stopwatch.h \
	apps/train/store.c apps/train/store.h apps/train/store_check.c \
	apps/train/tally.c apps/train/tally.h \
	apps/train/tensorboard.c apps/train/tensorboard.h \
	apps/train/tfrecord.c apps/train/tfrecord.h \
	apps/train/timetable.c apps/train/timetable.h \
	apps/train/torch.c apps/train/torch.h \
	apps/train/tracer.c apps/train/tracer.h \
	apps/train/train_main.c \
	apps/train/trainer.h \
	apps/train/weights_file.c apps/train/weights_file.h \
	apps/train/widen.c apps/train/widen.h
libtrain_la_LIBADD = $(JANSSON_LIBS) $(XXHASH_LIBS)

libtrain_la_SOURCES += apps/train/network.c apps/train/network.h apps/train/picture.c apps/train/picture.h
bin_PROGRAMS += apps/tutti-predict
apps_tutti_predict_SOURCES = apps/train/predict_main.c apps/train/predictions.c apps/train/predictions.h
apps_tutti_predict_LDADD = libtrain.la libsession.la libdata.la libmodels.la libcore.la

# The programs that train are a row of programs.c each.
train_program_libs = libtrain.la libtune.la libsession.la libdata.la libmodels.la libcore.la
bin_PROGRAMS += apps/tutti-cifar apps/tutti-imagenet
apps_tutti_cifar_SOURCES = apps/train/cifar_main.c
apps_tutti_cifar_LDADD = $(train_program_libs)
apps_tutti_imagenet_SOURCES = apps/train/imagenet_main.c
apps_tutti_imagenet_LDADD = $(train_program_libs)
