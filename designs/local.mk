libcore_la_SOURCES += \
	designs/attach.c designs/attach.h \
	designs/bucket.c designs/bucket.h \
	designs/chained.c \
	designs/check.c designs/check.h designs/check_parts.h \
	designs/check_judge.c designs/check_text.c \
	designs/check_wait.c designs/check_workers.c \
	designs/comm_thread.c designs/comm_thread.h \
	designs/compare.c designs/compare.h \
	designs/concurrent.c \
	designs/control.c designs/control.h \
	designs/design.h \
	designs/driver.c designs/driver.h \
	designs/dump.c designs/dump.h \
	designs/exchange.c designs/exchange.h \
	designs/farewell.c designs/farewell.h \
	designs/fault.c designs/fault.h \
	designs/exchange_check.c \
	designs/fingerprint.c designs/fingerprint.h \
	designs/funneled.c \
	designs/gate.c designs/gate.h \
	designs/inquiry.c designs/inquiry.h \
	designs/naive.c \
	designs/place.c designs/place.h \
	designs/queue.c designs/queue.h \
	designs/record.c designs/record.h \
	designs/sequential.c \
	designs/stall.c designs/stall.h \
	designs/table.c designs/table.h \
	designs/usr1.c designs/usr1.h \
	designs/verify.c designs/verify.h \
	designs/watch.c designs/watch.h

# What is installed, under the names that programs include.
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(tuttiincludedir)'
	$(INSTALL_DATA) $(srcdir)/designs/attach.h '$(DESTDIR)$(tuttiincludedir)/starpu.h'
	$(INSTALL_DATA) $(srcdir)/collectives/op.h '$(DESTDIR)$(tuttiincludedir)/op.h'
	$(INSTALL_DATA) $(srcdir)/dag/base/dtype.h '$(DESTDIR)$(tuttiincludedir)/dtype.h'
	$(INSTALL_DATA) $(srcdir)/dag/base/status.h '$(DESTDIR)$(tuttiincludedir)/status.h'
uninstall-local:
	cd '$(DESTDIR)$(tuttiincludedir)' && rm -f starpu.h op.h dtype.h status.h
