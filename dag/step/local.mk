# The step of a net, from the parts that dag/net and dag/strategies append.
libnet_la_SOURCES += \
	dag/step/build.c \
	dag/step/costs.c dag/step/costs.h \
	dag/step/partition.c dag/step/partition.h \
	dag/step/times.c dag/step/times.h
