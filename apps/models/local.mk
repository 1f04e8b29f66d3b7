# Models are no part of the library: they are what programs (and a few tests) bring along.
noinst_LTLIBRARIES += libmodels.la
libmodels_la_SOURCES = \
	apps/models/cifar_quick.c \
	apps/models/families.h \
	apps/models/mlp.c \
	apps/models/model.h \
	apps/models/resnet.c \
	apps/models/resnet50.c \
	apps/models/table.c \
	apps/models/vgg.c
