# Marks to collective nodes; one rank's end of them.
libcore_la_SOURCES += \
	designs/exchange/attached_transport.c designs/exchange/attached_transport.h \
	designs/exchange/exchange.h designs/exchange/exchange_open.c \
	designs/exchange/exchange_apply.c designs/exchange/exchange_calls.c \
	designs/exchange/exchange_group.c designs/exchange/exchange_hooks.c \
	designs/exchange/exchange_options.c designs/exchange/exchange_parts.h \
	designs/exchange/exchange_thread.c \
	designs/exchange/lanes.c designs/exchange/lanes.h \
	designs/exchange/marks.c designs/exchange/marks.h \
	designs/exchange/order.c designs/exchange/order.h \
	designs/exchange/settings.c designs/exchange/settings.h
