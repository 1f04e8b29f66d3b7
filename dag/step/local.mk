# The construction of a step: what strategies and codecs append to.
libnet_la_SOURCES += \
	dag/step/backward.c \
	dag/step/build.c \
	dag/step/builder.h \
	dag/step/check.c \
	dag/step/codec.h \
	dag/step/costs.c dag/step/costs.h \
	dag/step/crossings.c dag/step/crossings.h \
	dag/step/declare.c \
	dag/step/encode.c \
	dag/step/evaluate.c \
	dag/step/forward.c \
	dag/step/init.c \
	dag/step/keys.c \
	dag/step/loss.c \
	dag/step/marks.c \
	dag/step/messages.c \
	dag/step/pairs.c \
	dag/step/partition.c dag/step/partition.h \
	dag/step/portions.c \
	dag/step/precision.c \
	dag/step/refresh.c \
	dag/step/resized.c \
	dag/step/rounds.c \
	dag/step/serve.c \
	dag/step/service.c dag/step/service.h \
	dag/step/shares.c \
	dag/step/step.h \
	dag/step/stored.c \
	dag/step/strategy.h \
	dag/step/sync.c \
	dag/step/times.c dag/step/times.h \
	dag/step/units.c dag/step/units.h \
	dag/step/update.c \
	dag/step/update_adam.c \
	dag/step/update_lars.c \
	dag/step/update_rule.h \
	dag/step/update_rules.c \
	dag/step/update_sgd.c \
	dag/step/walk.c
