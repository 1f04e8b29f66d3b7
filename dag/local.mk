libcore_la_SOURCES += \
	dag/base/clock.c dag/base/clock.h \
	dag/base/dtype.c dag/base/dtype.h \
	dag/base/log.c dag/base/log.h \
	dag/base/mem.c dag/base/mem.h \
	dag/base/rng.c dag/base/rng.h \
	dag/base/status.c dag/base/status.h \
	dag/graph/graph.h \
	dag/graph/shape.c dag/graph/shape.h \
	dag/run/meter.h \
	dag/run/run.h \
	dag/run/token.h
