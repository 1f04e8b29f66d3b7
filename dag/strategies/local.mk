# What a complete gradient turns into, and who updates.
libnet_la_SOURCES += \
	dag/strategies/adpsgd.c \
	dag/strategies/async.c \
	dag/strategies/bounded.c \
	dag/strategies/elastic.c \
	dag/strategies/elastic_stored.c \
	dag/strategies/gossip.c \
	dag/strategies/local.c \
	dag/strategies/rooted.c dag/strategies/rows.h \
	dag/strategies/served.c \
	dag/strategies/sharded.c \
	dag/strategies/stored.c \
	dag/strategies/strategies.c dag/strategies/strategies.h
