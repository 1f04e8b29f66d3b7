# The designs, and the law that they keep.
libcore_la_SOURCES += \
	designs/chained.c \
	designs/concurrent.c \
	designs/design.h \
	designs/funneled.c \
	designs/naive.c \
	designs/place.c designs/place.h \
	designs/sequential.c \
	designs/start.c \
	designs/table.c
