# libtutti-mpicheck.so, preloaded into MPI programs. It is not part of the library, and links nothing of it.
# All but the functions of MPI is a library of its own, for tests.
noinst_LTLIBRARIES += libmpicheckcore.la
libmpicheckcore_la_SOURCES = \
	apps/mpicheck/call.c apps/mpicheck/call.h \
	apps/mpicheck/channel.c apps/mpicheck/channel.h \
	apps/mpicheck/collective.c apps/mpicheck/collective.h \
	apps/mpicheck/comms.c apps/mpicheck/comms.h \
	apps/mpicheck/tracker.c apps/mpicheck/tracker.h \
	apps/mpicheck/door.c apps/mpicheck/door.h \
	apps/mpicheck/finding.c apps/mpicheck/finding.h \
	apps/mpicheck/frame.c apps/mpicheck/frame.h \
	apps/mpicheck/hang.c \
	apps/mpicheck/item.h \
	apps/mpicheck/judge.c apps/mpicheck/judge.h \
	apps/mpicheck/lookup.c apps/mpicheck/lookup.h \
	apps/mpicheck/match.c \
	apps/mpicheck/message.c \
	apps/mpicheck/now.h \
	apps/mpicheck/ops.c apps/mpicheck/ops.h \
	apps/mpicheck/pairing.c apps/mpicheck/pairing.h \
	apps/mpicheck/process.c apps/mpicheck/process.h \
	apps/mpicheck/record.c apps/mpicheck/record.h \
	apps/mpicheck/region.c apps/mpicheck/region.h \
	apps/mpicheck/report.c \
	apps/mpicheck/requests.c apps/mpicheck/requests.h \
	apps/mpicheck/signature.c apps/mpicheck/signature.h \
	apps/mpicheck/site.c apps/mpicheck/site.h \
	apps/mpicheck/start.c apps/mpicheck/start.h \
	apps/mpicheck/table.c apps/mpicheck/table.h \
	apps/mpicheck/threads.c apps/mpicheck/threads.h \
	apps/mpicheck/wait.c apps/mpicheck/wait.h
if HAVE_DW
libmpicheckcore_la_SOURCES += apps/mpicheck/site_dw.c
else
libmpicheckcore_la_SOURCES += apps/mpicheck/site_none.c
endif
libmpicheckcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(DW_CFLAGS) -D_GNU_SOURCE
libmpicheckcore_la_LIBADD = $(MPI_LIBS) $(DW_LIBS)

lib_LTLIBRARIES += libtutti-mpicheck.la
libtutti_mpicheck_la_SOURCES = \
	apps/mpicheck/wrap_collective.c \
	apps/mpicheck/wrap_comm.c \
	apps/mpicheck/wrap_message.c \
	apps/mpicheck/wrap_process.c \
	apps/mpicheck/wrap_request.c \
	apps/mpicheck/wrap_window_file.c
libtutti_mpicheck_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libtutti_mpicheck_la_LIBADD = libmpicheckcore.la
# Other programs see the functions of MPI in it, and nothing else. Open MPI's header makes its functions visible by itself, MPICH's
# does not.
libtutti_mpicheck_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
libtutti_mpicheck_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined -export-symbols-regex '^MPI_'
