# Layers, and nets of them.
libnet_la_SOURCES += \
	dag/net/divide.c dag/net/divide.h \
	dag/net/divided.c dag/net/divided.h \
	dag/net/gradients.c dag/net/gradients.h \
	dag/net/layer.c dag/net/layer.h \
	dag/net/layer_add.c \
	dag/net/layer_concat.c \
	dag/net/layer_conv.c \
	dag/net/layer_dense.c \
	dag/net/layer_dropout.c \
	dag/net/layer_input.c \
	dag/net/layer_lrn.c \
	dag/net/layer_norm.c \
	dag/net/layer_pool.c \
	dag/net/layer_relu.c \
	dag/net/layer_shortcut.c \
	dag/net/layer_split.c \
	dag/net/layers.c \
	dag/net/net.h \
	dag/net/placement.c dag/net/placement.h \
	dag/net/site.c dag/net/site.h
