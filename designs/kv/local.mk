# The public header tutti/kv.h.
libcore_la_SOURCES += \
	designs/kv/push_ledger.c designs/kv/push_ledger.h \
	designs/kv/client_list.c designs/kv/client_list.h \
	designs/kv/hello.c designs/kv/hello.h \
	designs/kv/jobs.c designs/kv/jobs.h \
	designs/kv/kv.h designs/kv/kv_elastic.c designs/kv/kv_jobs.c designs/kv/kv_lost.c designs/kv/kv_inbox.c designs/kv/kv_open.c \
	designs/kv/kv_parts.c designs/kv/kv_parts.h designs/kv/kv_transport.c \
	designs/kv/kv_serve.c designs/kv/kv_serve_clients.c designs/kv/kv_serve_events.c \
	designs/kv/kv_serve_keys.c designs/kv/kv_serve_pull.c designs/kv/kv_serve_push.c \
	designs/kv/kv_serve_pool.c \
	designs/kv/kv_work.c \
	designs/kv/connections.c designs/kv/connections.h designs/kv/metered.h \
	designs/kv/optimizer.c designs/kv/optimizer.h \
	designs/kv/consistency.c designs/kv/consistency.h \
	designs/kv/serve_parts.h \
	designs/kv/message_order.c designs/kv/message_order.h
