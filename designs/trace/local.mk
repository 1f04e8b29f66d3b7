# What a run did, written to a file.
libcore_la_SOURCES += \
	designs/trace/print.c \
	designs/trace/save.c \
	designs/trace/write.h
