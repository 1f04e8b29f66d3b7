# tutti-export; an archive, so that tests reach its parts.
noinst_LTLIBRARIES += libexport.la
libexport_la_SOURCES = \
	apps/export/onnx.c apps/export/onnx.h apps/export/onnx_nodes.c apps/export/onnx_nodes.h \
	apps/export/torch_file.c apps/export/torch_file.h
bin_PROGRAMS += apps/tutti-export
apps_tutti_export_SOURCES = apps/export/export_main.c
apps_tutti_export_LDADD = libexport.la libtrain.la libsession.la libdata.la libmodels.la libcore.la
