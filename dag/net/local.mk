libcore_la_SOURCES += dag/net/net.h dag/net/step.h
