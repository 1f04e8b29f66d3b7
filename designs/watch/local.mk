# When nothing moves: who waits for whom.
libcore_la_SOURCES += \
	designs/watch/dump.c designs/watch/dump.h \
	designs/watch/inquiry.c designs/watch/inquiry.h \
	designs/watch/pulse.c designs/watch/pulse.h \
	designs/watch/stall.c designs/watch/stall.h \
	designs/watch/usr1.c designs/watch/usr1.h \
	designs/watch/watch.c designs/watch/watch.h
