# Models are no part of the library: they are what programs (and a few tests) bring along.
noinst_LTLIBRARIES += libmodels.la
libmodels_la_SOURCES = \
	apps/architecture/architecture.c apps/architecture/architecture.h \
	apps/architecture/describe.c \
	apps/architecture/layers.c apps/architecture/layers.h \
	apps/architecture/onnx.h \
	apps/models/alexnet.c \
	apps/models/cifar_quick.c \
	apps/models/families.h \
	apps/models/googlenet.c \
	apps/models/mlp.c \
	apps/models/mobilenet.c \
	apps/models/overfeat.c \
	apps/models/model.h \
	apps/models/resnet.c \
	apps/models/resnet_preact.c \
	apps/models/resnet_large.c \
	apps/models/table.c \
	apps/models/torch_names.c apps/models/torch_names.h \
	apps/models/vgg.c
libmodels_la_LIBADD = $(JANSSON_LIBS) $(XXHASH_LIBS)

# Networks in ONNX, by protobuf-c.
EXTRA_DIST += apps/architecture/onnx.proto
if HAVE_PROTOBUF_C
libmodels_la_SOURCES += \
	apps/architecture/onnx.c \
	apps/architecture/onnx_attributes.c apps/architecture/onnx_attributes.h \
	apps/architecture/onnx_graph.c apps/architecture/onnx_graph.h \
	apps/architecture/onnx_layer.c apps/architecture/onnx_layer.h \
	apps/architecture/onnx_operators.c apps/architecture/onnx_operators.h \
	apps/architecture/onnx_weights.c
nodist_libmodels_la_SOURCES = apps/architecture/onnx.pb-c.c apps/architecture/onnx.pb-c.h
libmodels_la_LIBADD += $(PROTOBUF_C_LIBS)
BUILT_SOURCES += apps/architecture/onnx.pb-c.h
CLEANFILES += apps/architecture/onnx.pb-c.c apps/architecture/onnx.pb-c.h
apps/architecture/onnx.pb-c.c: apps/architecture/onnx.proto
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(PROTOC_C) --proto_path=$(srcdir)/apps/architecture --c_out=$(@D) onnx.proto
apps/architecture/onnx.pb-c.h: apps/architecture/onnx.pb-c.c
	@test -f $@ || { rm -f $<; $(MAKE) $(AM_MAKEFLAGS) $<; }
apps/architecture/onnx.lo apps/architecture/onnx_attributes.lo apps/architecture/onnx_graph.lo \
	apps/architecture/onnx_layer.lo apps/architecture/onnx_operators.lo apps/architecture/onnx_weights.lo: apps/architecture/onnx.pb-c.h # also where a single program is made
else
libmodels_la_SOURCES += apps/architecture/onnx_none.c
endif
