# tutti-run. What it uses of dag/base is compiled for it: it needs neither StarPU nor MPI.
bin_PROGRAMS += apps/tutti-run
apps_tutti_run_SOURCES = \
	apps/launch/agent.c apps/launch/agent.h \
	apps/launch/attempt.c apps/launch/attempt.h \
	apps/launch/elastic.c apps/launch/elastic.h \
	apps/launch/folder.c apps/launch/folder.h \
	apps/launch/frame.c apps/launch/frame.h \
	apps/launch/hosts.c apps/launch/hosts.h \
	apps/launch/jobs.c apps/launch/jobs.h \
	apps/launch/launch_main.c \
	apps/launch/mpirun.c apps/launch/mpirun.h \
	apps/launch/options.c apps/launch/options.h \
	apps/launch/remote.c apps/launch/remote.h \
	apps/launch/saved.c apps/launch/saved.h \
	apps/launch/session.c apps/launch/session.h \
	apps/launch/watch.c apps/launch/watch.h \
	dag/base/clock.c dag/base/conf_print.c dag/base/process.c
apps_tutti_run_LDADD =
apps_tutti_run_CPPFLAGS = $(AM_CPPFLAGS) -DTUTTI_MPIRUN='"$(MPIRUN)"'

# launch.sh as an array of lines.
nodist_apps_tutti_run_SOURCES = apps/launch/launch_text.h
BUILT_SOURCES += apps/launch/launch_text.h
CLEANFILES += apps/launch/launch_text.h
apps/launch/tutti_run-mpirun.$(OBJEXT): apps/launch/launch_text.h
apps/launch/launch_text.h: apps/tools/launch.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo 'static const char *const launch_text[] = {'; \
		$(SED) -e 's|\\|\\\\|g' -e 's|"|\\"|g' -e 's|.*|"&\\n",|' $(srcdir)/apps/tools/launch.sh; echo '};'; } > $@.new && mv -f $@.new $@
