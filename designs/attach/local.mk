# The public header tutti/starpu.h.
libcore_la_SOURCES += \
	designs/attach/attach.c designs/attach/attach.h \
	designs/attach/names.c designs/attach/names.h \
	designs/attach/sessions.c designs/attach/sessions.h

# What is installed, under the names that programs include.
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(tuttiincludedir)'
	$(INSTALL_DATA) $(srcdir)/designs/attach/attach.h '$(DESTDIR)$(tuttiincludedir)/starpu.h'
	$(INSTALL_DATA) $(srcdir)/collectives/op.h '$(DESTDIR)$(tuttiincludedir)/op.h'
	$(INSTALL_DATA) $(srcdir)/dag/base/dtype.h '$(DESTDIR)$(tuttiincludedir)/dtype.h'
	$(INSTALL_DATA) $(srcdir)/dag/base/status.h '$(DESTDIR)$(tuttiincludedir)/status.h'
uninstall-local:
	cd '$(DESTDIR)$(tuttiincludedir)' && rm -f starpu.h op.h dtype.h status.h
