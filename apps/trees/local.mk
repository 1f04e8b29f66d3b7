bin_PROGRAMS += apps/tutti-trees
apps_tutti_trees_SOURCES = \
	apps/trees/fewest.h \
	apps/trees/msccl.c apps/trees/msccl.h \
	apps/trees/predict.c apps/trees/predict.h \
	apps/trees/trees_main.c
apps_tutti_trees_LDADD = libcore.la $(GLPK_LIBS)
if HAVE_GLPK
apps_tutti_trees_SOURCES += apps/trees/fewest_glpk.c
else
apps_tutti_trees_SOURCES += apps/trees/fewest_none.c
endif
