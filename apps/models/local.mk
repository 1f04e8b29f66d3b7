# Models are no part of the library: they are what programs (and a few tests) bring along.
noinst_LTLIBRARIES += libmodels.la
libmodels_la_SOURCES = \
	apps/architecture/architecture.c apps/architecture/architecture.h \
	apps/architecture/describe.c \
	apps/architecture/layers.c apps/architecture/layers.h \
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
