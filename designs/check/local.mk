# The ordering law, judged from the graphs alone.
libcore_la_SOURCES += \
	designs/check/check.c designs/check/check.h \
	designs/check/judge.c \
	designs/check/parts.h \
	designs/check/text.c \
	designs/check/wait.c \
	designs/check/workers.c
