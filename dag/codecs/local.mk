# In what form gradients travel.
libnet_la_SOURCES += \
	dag/codecs/codecs.c dag/codecs/codecs.h \
	dag/codecs/onebit.c \
	dag/codecs/powersgd.c dag/codecs/rows.h \
	dag/codecs/topk.c
