bin_PROGRAMS += apps/tutti-info
apps_tutti_info_SOURCES = apps/tools/info_main.c
apps_tutti_info_LDADD = libtrain.la libdata.la libmodels.la libcore.la

bin_SCRIPTS += apps/tutti-run
