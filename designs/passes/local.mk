# From a graph to a placed graph.
libcore_la_SOURCES += \
	designs/passes/bucket.c designs/passes/bucket.h \
	designs/passes/priority.c designs/passes/priority.h designs/passes/remote_buffer.c designs/passes/remote_buffer.h \
	designs/passes/chunk.c designs/passes/chunk.h
