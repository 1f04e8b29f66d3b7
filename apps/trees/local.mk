bin_PROGRAMS += apps/tutti-trees
apps_tutti_trees_SOURCES = \
	apps/trees/predict.c apps/trees/predict.h \
	apps/trees/trees_main.c
apps_tutti_trees_LDADD = libcore.la
