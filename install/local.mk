# What a program needs to build on Tutti: headers, tutti.pc, a CMake package, and a manual page named after every
# function. All of it is written during installation, with the prefix that make install gets.
public_headers = dtype.h kv.h log.h op.h starpu.h status.h version.h
cmakedir = $(libdir)/cmake/tutti
EXTRA_DIST += install/libtutti.abi install/libtutti.map install/starpu_cuda.sh install/tutti.pc.in install/tuttiConfig.cmake.in \
	install/tuttiConfigVersion.cmake.in dag/base/version.h.in

installed_text = $(SED) -e 's|@prefix[@]|$(prefix)|g' \
	-e 's|@exec_prefix[@]|$(exec_prefix)|g' -e 's|@libdir[@]|$(libdir)|g' \
	-e 's|@includedir[@]|$(includedir)|g' -e 's|@pkgconfigdir[@]|$(pkgconfigdir)|g' \
	-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' -e 's|@TUTTI_PC_REQUIRES[@]|$(TUTTI_PC_REQUIRES)|g' \
	-e 's|@TUTTI_PC_CFLAGS[@]|$(TUTTI_PC_CFLAGS)|g' -e 's|@TUTTI_PC_LIBS[@]|$(TUTTI_PC_LIBS)|g' -e 's|  *$$||'
# The functions that the library exports, and the inline ones for which one of them takes the size of the options.
exported = $(SED) -n -e h -e 's|^ *\(tutti_[a-z_0-9]*\)_sized;.*|\1|p' -e g -e 's|^ *\(tutti_[a-z_0-9]*\);.*|\1|p' \
	$(srcdir)/install/libtutti.map

install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(tuttiincludedir)' '$(DESTDIR)$(pkgconfigdir)' '$(DESTDIR)$(cmakedir)' '$(DESTDIR)$(man3dir)'
	for header in $(public_headers); do \
	  $(INSTALL_DATA) include/tutti/$$header '$(DESTDIR)$(tuttiincludedir)' || exit 1; done
	$(installed_text) $(srcdir)/install/tutti.pc.in > '$(DESTDIR)$(pkgconfigdir)/tutti.pc'
	for file in tuttiConfig.cmake tuttiConfigVersion.cmake; do \
	  $(installed_text) $(srcdir)/install/$$file.in > '$(DESTDIR)$(cmakedir)'/$$file || exit 1; done
	for function in `$(exported)`; do \
	  case $$function in tutti_kv_*) page=tutti-kv ;; *) page=tutti-starpu ;; esac; \
	  echo ".so man3/$$page.3" > '$(DESTDIR)$(man3dir)'/$$function.3 || exit 1; done

# libtool writes down the folder that configure was given, so that folder is replaced.
install-exec-hook:
	for library in libtutti.la libtutti-mpicheck.la; do \
	  $(SED) "s|^libdir=.*|libdir='$(libdir)'|" '$(DESTDIR)$(libdir)'/$$library > '$(DESTDIR)$(libdir)'/$$library.new && \
	  mv '$(DESTDIR)$(libdir)'/$$library.new '$(DESTDIR)$(libdir)'/$$library || exit 1; done

uninstall-local:
	cd '$(DESTDIR)$(tuttiincludedir)' && rm -f $(public_headers)
	rm -f '$(DESTDIR)$(pkgconfigdir)/tutti.pc'
	cd '$(DESTDIR)$(cmakedir)' && rm -f tuttiConfig.cmake tuttiConfigVersion.cmake
	for function in `$(exported)`; do rm -f '$(DESTDIR)$(man3dir)'/$$function.3; done

# The library still exports everything that the last release exported.
check-abi: libtutti.la
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/lint/abi.sh
# For a release: writes down what it exports, with which later releases are compared.
abi-list: libtutti.la
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/lint/abi.sh --list > $(srcdir)/install/libtutti.abi.new && \
	mv $(srcdir)/install/libtutti.abi.new $(srcdir)/install/libtutti.abi
.PHONY: check-abi abi-list
