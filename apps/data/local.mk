# The data room as a convenience library for the programs and tests of this tree: name libdata.la before libcore.la (or
# before libtesting.la, which has it). libcore's symbols are left to whoever links, so that libcore comes in once.
apps_data_sources = \
	apps/data/bad_images.c apps/data/bad_images.h \
	apps/data/bytes.c apps/data/bytes.h \
	apps/data/cifar.c \
	apps/data/class_folders.c \
	apps/data/class_names.c apps/data/class_names.h \
	apps/data/dataset.c \
	apps/data/assign.c apps/data/assign.h \
	apps/data/decode.c apps/data/decode.h \
	apps/data/exif.c apps/data/exif.h \
	apps/data/file.c apps/data/file.h \
	apps/data/folder.c apps/data/folder.h \
	apps/data/folder_index.c apps/data/folder_index.h \
	apps/data/formats.h \
	apps/data/idx.c \
	apps/data/draw.h apps/data/erase.c apps/data/erase.h \
	apps/data/jitter.c apps/data/jitter.h \
	apps/data/rand_augment.c apps/data/rand_augment.h \
	apps/data/jpeg.c apps/data/jpeg.h \
	apps/data/jpeg_folder.c \
	apps/data/jpeg_write.c apps/data/jpeg_write.h \
	apps/data/listed.c apps/data/listed.h \
	apps/data/other_file.c apps/data/other_file.h \
	apps/data/png.c apps/data/png.h \
	apps/data/prefetch.c apps/data/prefetch.h \
	apps/data/recordio.c \
	apps/data/recordio_check.c apps/data/recordio_check.h \
	apps/data/recordio_index.c apps/data/recordio_index.h \
	apps/data/recordio_read.c apps/data/recordio_read.h \
	apps/data/recordio_write.c apps/data/recordio_write.h \
	apps/data/resize.c apps/data/resize.h \
	apps/data/sampler.c apps/data/sampler.h \
	apps/data/settings.c apps/data/settings.h \
	apps/data/shard_faults.c apps/data/shard_faults.h \
	apps/data/shard_folders.c apps/data/shard_folders.h \
	apps/data/shard_tally.c apps/data/shard_tally.h \
	apps/data/source.h \
	apps/data/synth.c \
	apps/data/tar.c apps/data/tar.h \
	apps/data/tar_check.c apps/data/tar_check.h \
	apps/data/tar_sample.c apps/data/tar_sample.h \
	apps/data/tar_write.c apps/data/tar_write.h \
	apps/data/val_labels.c apps/data/val_labels.h \
	apps/data/view.c apps/data/view.h \
	apps/data/webdataset.c \
	apps/data/webp.h
if HAVE_WEBP
apps_data_sources += apps/data/webp.c
else
apps_data_sources += apps/data/webp_none.c
endif

noinst_LTLIBRARIES += libdata.la
libdata_la_SOURCES = $(apps_data_sources)
libdata_la_LIBADD = $(JPEG_LIBS) $(PNG_LIBS) $(WEBP_LIBS) $(ZLIB_LIBS) $(JANSSON_LIBS)

# For quickstart, in place of photographs; not installed.
noinst_PROGRAMS += apps/data/scenes
apps_data_scenes_SOURCES = apps/data/scenes_main.c
apps_data_scenes_LDADD = libdata.la libcore.la
