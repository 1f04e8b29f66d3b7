libcore_la_SOURCES += \
	designs/attach.c designs/attach.h designs/attach_0_1.c \
	designs/bucket.c designs/bucket.h \
	designs/chained.c \
	designs/clocks.c designs/clocks.h \
	designs/comm_core.c designs/comm_core.h \
	designs/comm_thread.c designs/comm_thread.h \
	designs/rendezvous.c designs/rendezvous.h \
	designs/concurrent.c \
	designs/deadline.c designs/deadline.h \
	designs/design.h \
	designs/driver.c designs/driver.h \
	designs/driver_drain.c designs/driver_entry.c designs/driver_fail.c designs/driver_order.c designs/driver_parts.h designs/driver_show.c designs/driver_start.c \
	designs/exchange.c designs/exchange.h \
	designs/exchange_check.c \
	designs/fault.h \
	designs/funneled.c \
	designs/halt.c designs/halt.h \
	designs/home.c designs/home.h \
	designs/naive.c \
	designs/names.c designs/names.h \
	designs/observed.c designs/observed.h \
	designs/order.c designs/order.h \
	designs/place.c designs/place.h \
	designs/priority.c designs/priority.h \
	designs/queue.c designs/queue.h \
	designs/record.c designs/record.h \
	designs/sequential.c \
	designs/sessions.c designs/sessions.h \
	designs/slice.c designs/slice.h \
	designs/table.c designs/table.h

# Wrong on purpose, for tests; or the refusal to be (configure --disable-faults).
if FAULTS
libcore_la_SOURCES += designs/fault.c
else
libcore_la_SOURCES += designs/fault_none.c
endif

# The ordering law, judged from the graphs alone.
libcore_la_SOURCES += \
	designs/check/check.c designs/check/check.h \
	designs/check/judge.c \
	designs/check/parts.h \
	designs/check/text.c \
	designs/check/wait.c \
	designs/check/workers.c

# What ranks tell each other while they run, and compare.
libcore_la_SOURCES += \
	designs/verify/compare.c designs/verify/compare.h \
	designs/verify/control.c designs/verify/control.h \
	designs/verify/farewell.c designs/verify/farewell.h \
	designs/verify/fingerprint.c designs/verify/fingerprint.h \
	designs/verify/gate.c designs/verify/gate.h \
	designs/verify/verify.c designs/verify/verify.h

# When nothing moves: who waits for whom.
libcore_la_SOURCES += \
	designs/watch/dump.c designs/watch/dump.h \
	designs/watch/inquiry.c designs/watch/inquiry.h \
	designs/watch/pulse.c designs/watch/pulse.h \
	designs/watch/stall.c designs/watch/stall.h \
	designs/watch/usr1.c designs/watch/usr1.h \
	designs/watch/watch.c designs/watch/watch.h
