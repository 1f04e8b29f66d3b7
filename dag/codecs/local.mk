# In what form gradients travel.
libnet_la_SOURCES += \
	dag/codecs/codecs.c \
	dag/codecs/onebit.c \
	dag/codecs/powersgd.c \
	dag/codecs/topk.c
