# The ordering law, judged from the graphs alone.
libcore_la_SOURCES += \
	designs/check/check.h \
	designs/check/judge.c \
	designs/check/parts.h \
	designs/check/report.c \
	designs/check/text.c \
	designs/check/value.c \
	designs/check/wait.c \
	designs/check/workers.c
