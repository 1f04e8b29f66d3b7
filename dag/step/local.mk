# The step of a net, from the parts that dag/net and dag/strategies append.
libnet_la_SOURCES += \
	dag/step/build.c \
	dag/step/partition.c dag/step/partition.h
