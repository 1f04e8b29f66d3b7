libcore_la_SOURCES += collectives/coll.h collectives/op.h collectives/boot.h
