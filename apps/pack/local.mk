bin_PROGRAMS += apps/tutti-pack
apps_tutti_pack_SOURCES = \
	apps/pack/check.c apps/pack/check.h \
	apps/pack/item.c apps/pack/item.h \
	apps/pack/manifest.c apps/pack/manifest.h \
	apps/pack/origin.c apps/pack/origin.h \
	apps/pack/output.c apps/pack/output.h \
	apps/pack/pack.c apps/pack/pack.h \
	apps/pack/pack_main.c \
	apps/pack/workers.c apps/pack/workers.h
apps_tutti_pack_LDADD = libtrain.la libdata.la libcore.la $(JANSSON_LIBS) $(XXHASH_LIBS)
