# The public header tutti/kv.h.
libcore_la_SOURCES += \
	designs/kv/book.c designs/kv/book.h \
	designs/kv/kv.h designs/kv/kv_open.c designs/kv/kv_parts.c designs/kv/kv_parts.h \
	designs/kv/kv_serve.c designs/kv/kv_work.c \
	designs/kv/optimizer.c designs/kv/optimizer.h
