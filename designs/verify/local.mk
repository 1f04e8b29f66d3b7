# What ranks tell each other while they run, and compare.
libcore_la_SOURCES += \
	designs/verify/compare.c designs/verify/compare.h \
	designs/verify/shutdown.c designs/verify/shutdown.h \
	designs/verify/fingerprint.c designs/verify/fingerprint.h \
	designs/verify/gate.c designs/verify/gate.h \
	designs/verify/verify.c designs/verify/verify.h
