# libtutti-check.so, preloaded into MPI programs. It is not part of the library, and links nothing of it.
# All but the functions of MPI is a library of its own, for tests.
noinst_LTLIBRARIES += libcheckcore.la
libcheckcore_la_SOURCES = \
	apps/check/call.c apps/check/call.h \
	apps/check/channel.c apps/check/channel.h \
	apps/check/collective.c apps/check/collective.h \
	apps/check/comms.c apps/check/comms.h \
	apps/check/court.c apps/check/court.h \
	apps/check/door.c apps/check/door.h \
	apps/check/finding.c apps/check/finding.h \
	apps/check/frame.c apps/check/frame.h \
	apps/check/hang.c \
	apps/check/item.h \
	apps/check/judge.c apps/check/judge.h \
	apps/check/match.c \
	apps/check/message.c \
	apps/check/now.h \
	apps/check/ops.c apps/check/ops.h \
	apps/check/pairing.c apps/check/pairing.h \
	apps/check/process.c apps/check/process.h \
	apps/check/record.c apps/check/record.h \
	apps/check/report.c \
	apps/check/requests.c apps/check/requests.h \
	apps/check/signature.c apps/check/signature.h \
	apps/check/site.c apps/check/site.h \
	apps/check/start.c apps/check/start.h \
	apps/check/table.c apps/check/table.h \
	apps/check/threads.c apps/check/threads.h \
	apps/check/wait.c apps/check/wait.h
if HAVE_DW
libcheckcore_la_SOURCES += apps/check/site_dw.c
else
libcheckcore_la_SOURCES += apps/check/site_none.c
endif
libcheckcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(DW_CFLAGS) -D_GNU_SOURCE
libcheckcore_la_LIBADD = $(MPI_LIBS) $(DW_LIBS)

lib_LTLIBRARIES += libtutti-check.la
libtutti_check_la_SOURCES = \
	apps/check/wrap_collective.c \
	apps/check/wrap_comm.c \
	apps/check/wrap_message.c \
	apps/check/wrap_process.c \
	apps/check/wrap_request.c \
	apps/check/wrap_window_file.c
libtutti_check_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libtutti_check_la_LIBADD = libcheckcore.la
# Other programs see the functions of MPI in it, and nothing else. Open MPI's header makes its functions visible by itself, MPICH's
# does not.
libtutti_check_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
libtutti_check_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -no-undefined -export-symbols-regex '^MPI_'
