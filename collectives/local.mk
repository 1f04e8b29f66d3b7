libcore_la_SOURCES += collectives/coll.h collectives/boot.h
