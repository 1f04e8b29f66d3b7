libnet_la_SOURCES += \
	dag/net/builder.h \
	dag/net/codec.h \
	dag/net/crossings.c dag/net/crossings.h \
	dag/net/declare.c \
	dag/net/divide.c dag/net/divide.h \
	dag/net/divided.c dag/net/divided.h \
	dag/net/encode.c \
	dag/net/evaluate.c \
	dag/net/forward.c \
	dag/net/gradients.c dag/net/gradients.h \
	dag/net/init.c \
	dag/net/keys.c \
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
	dag/net/messages.c \
	dag/net/net.h \
	dag/net/pairs.c \
	dag/net/portions.c \
	dag/net/precision.c \
	dag/net/refresh.c \
	dag/net/resized.c \
	dag/net/rounds.c \
	dag/net/serve.c \
	dag/net/service.c dag/net/service.h \
	dag/net/shares.c \
	dag/net/site.c dag/net/site.h \
	dag/net/step.h \
	dag/net/stored.c \
	dag/net/strategy.h \
	dag/net/units.c dag/net/units.h \
	dag/net/update.c dag/net/update_rule.h dag/net/update_rules.c \
	dag/net/update_adam.c \
	dag/net/update_lars.c \
	dag/net/update_sgd.c
