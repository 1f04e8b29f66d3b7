# What has a sequence number: until it ends, afterwards, and how long it took.
libcore_la_SOURCES += \
	designs/queue/observed.c designs/queue/observed.h \
	designs/queue/queue.c designs/queue/queue.h \
	designs/queue/record.c designs/queue/record.h
