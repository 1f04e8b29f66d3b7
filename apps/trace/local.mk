# What reads traces back; designs/trace writes them.
noinst_LTLIBRARIES += libtrace.la
libtrace_la_SOURCES = \
	apps/trace/advise.c apps/trace/advise.h \
	apps/trace/busy.c apps/trace/busy.h \
	apps/trace/path.c apps/trace/path.h \
	apps/trace/bubble.c apps/trace/bubble.h \
	apps/trace/read.c apps/trace/read.h \
	apps/trace/study.c apps/trace/study.h \
	apps/trace/report.h apps/trace/report_json.c apps/trace/report_svg.c apps/trace/report_text.c
libtrace_la_LIBADD = $(JANSSON_LIBS)

bin_PROGRAMS += apps/tutti-trace
apps_tutti_trace_SOURCES = apps/trace/trace_main.c
apps_tutti_trace_LDADD = libtrace.la libcore.la
