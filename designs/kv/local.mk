# The public header tutti/kv.h.
libcore_la_SOURCES += \
	designs/kv/book.c designs/kv/book.h \
	designs/kv/guests.c designs/kv/guests.h \
	designs/kv/hello.c designs/kv/hello.h \
	designs/kv/jobs.c designs/kv/jobs.h \
	designs/kv/kv.h designs/kv/kv_elastic.c designs/kv/kv_jobs.c designs/kv/kv_lost.c designs/kv/kv_news.c designs/kv/kv_open.c \
	designs/kv/kv_parts.c designs/kv/kv_parts.h designs/kv/kv_road.c \
	designs/kv/kv_serve.c designs/kv/kv_serve_clients.c designs/kv/kv_serve_events.c \
	designs/kv/kv_serve_keys.c designs/kv/kv_serve_pull.c designs/kv/kv_serve_push.c \
	designs/kv/kv_serve_spare.c \
	designs/kv/kv_work.c \
	designs/kv/link.c designs/kv/link.h designs/kv/metered.h \
	designs/kv/optimizer.c designs/kv/optimizer.h \
	designs/kv/rule.c designs/kv/rule.h \
	designs/kv/serve_parts.h \
	designs/kv/streams.c designs/kv/streams.h \
	designs/kv/portions.c designs/kv/portions.h
