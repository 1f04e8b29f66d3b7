libcore_la_SOURCES += designs/design.h designs/exchange.h
