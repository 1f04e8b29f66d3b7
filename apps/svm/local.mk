# tutti-svm; an archive, so that tests and tutti-bench reach its parts. Its loops are compiled for float and for double, and
# for each instruction set (dag/base/clones.h).
noinst_LTLIBRARIES += libmachine.la libmachine_double.la
libmachine_la_SOURCES = \
	apps/svm/balance.c \
	apps/svm/cache.c apps/svm/cache.h \
	apps/svm/checkpoint.c apps/svm/checkpoint.h \
	apps/svm/classes.c \
	apps/svm/eliminate.c \
	apps/svm/engine.c apps/svm/engine.h \
	apps/svm/memory.h \
	apps/svm/model.c apps/svm/model.h \
	apps/svm/options.c apps/svm/options.h \
	apps/svm/pair.c \
	apps/svm/picture.c apps/svm/picture.h \
	apps/svm/predict.c apps/svm/predict.h \
	apps/svm/read.c apps/svm/read.h \
	apps/svm/problem.h apps/svm/rebuild.c \
	apps/svm/report.c apps/svm/report.h \
	apps/svm/rows.c apps/svm/rows.h \
	apps/svm/same.c apps/svm/same.h \
	apps/svm/samples.c apps/svm/samples.h \
	apps/svm/scale.c apps/svm/scale.h \
	apps/svm/set.c \
	apps/svm/solve.c apps/svm/solve.h apps/svm/solve_parts.h \
	apps/svm/tile.c apps/svm/tile.h apps/svm/tile_cpu.c \
	apps/svm/train.c apps/svm/train.h \
	apps/svm/world.c apps/svm/world.h \
	apps/svm/world_local.c \
	apps/svm/world_session.c
libmachine_la_LIBADD = libmachine_double.la $(machine_clones)
libmachine_double_la_SOURCES = apps/svm/tile_cpu.c
libmachine_double_la_CFLAGS = $(AM_CFLAGS) -DTUTTI_SVM_DOUBLE
if X86_64
machine_clones = libmachine_avx2.la libmachine_avx512.la libmachine_double_avx2.la libmachine_double_avx512.la
noinst_LTLIBRARIES += $(machine_clones)
libmachine_avx2_la_SOURCES = apps/svm/tile_cpu.c
libmachine_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -DTUTTI_ISA=avx2
libmachine_avx512_la_SOURCES = apps/svm/tile_cpu.c
libmachine_avx512_la_CFLAGS = $(AM_CFLAGS) -mavx512f -DTUTTI_ISA=avx512
libmachine_double_avx2_la_SOURCES = apps/svm/tile_cpu.c
libmachine_double_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -DTUTTI_ISA=avx2 -DTUTTI_SVM_DOUBLE
libmachine_double_avx512_la_SOURCES = apps/svm/tile_cpu.c
libmachine_double_avx512_la_CFLAGS = $(AM_CFLAGS) -mavx512f -DTUTTI_ISA=avx512 -DTUTTI_SVM_DOUBLE
endif

bin_PROGRAMS += apps/tutti-svm
apps_tutti_svm_SOURCES = apps/svm/svm_main.c
apps_tutti_svm_LDADD = libmachine.la libtrain.la libdata.la libcore.la $(JANSSON_LIBS)
