# The data room as a convenience library for the programs and tests of this tree: name libdata.la before libcore.la (or
# before libtesting.la, which has it). libcore's symbols are left to whoever links, so that libcore comes in once.
apps_data_sources = \
	apps/data/augment.c apps/data/augment.h \
	apps/data/cifar.c \
	apps/data/dataset.c \
	apps/data/file.c apps/data/file.h \
	apps/data/formats.h \
	apps/data/idx.c \
	apps/data/jpeg.c apps/data/jpeg.h \
	apps/data/jpeg_folder.c \
	apps/data/prefetch.c apps/data/prefetch.h \
	apps/data/reader.h \
	apps/data/sampler.c apps/data/sampler.h \
	apps/data/synth.c

noinst_LTLIBRARIES += libdata.la
libdata_la_SOURCES = $(apps_data_sources)
libdata_la_LIBADD = $(JPEG_LIBS) $(ZLIB_LIBS)
