# What a program needs to build on Tutti: headers, tutti.pc, a CMake package, and a manual page named after every
# function; and completion for shells. All of it is written during installation, with the prefix that make install gets.
public_headers = dtype.h kv.h log.h op.h starpu.h status.h version.h
cmakedir = $(libdir)/cmake/tutti
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
completed = tutti-bench tutti-box tutti-cifar tutti-doctor tutti-export tutti-imagenet tutti-info tutti-pack tutti-plan tutti-predict \
	tutti-sim tutti-svm tutti-trace tutti-trees # links to that of tutti-run
EXTRA_DIST += install/completion.bash install/completion.zsh
EXTRA_DIST += REUSE.toml install/spack/repo.yaml install/spack/packages/tutti/package.py install/tutti.def
EXTRA_DIST += install/debian/changelog install/debian/control install/debian/copyright install/debian/libtutti1.install \
	install/debian/libtutti-dev.install install/debian/rules install/debian/source/format install/debian/tests/attaches \
	install/debian/tests/control install/debian/tests/trains install/debian/tutti-doc.install install/debian/tutti-tools.install \
	install/debian/tutti-tools.lintian-overrides install/debian/tutti-tools.triggers
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
	$(MKDIR_P) '$(DESTDIR)$(tuttiincludedir)' '$(DESTDIR)$(pkgconfigdir)' '$(DESTDIR)$(cmakedir)' '$(DESTDIR)$(man3dir)' \
	  '$(DESTDIR)$(bashcompletiondir)' '$(DESTDIR)$(zshcompletiondir)'
	$(INSTALL_DATA) $(srcdir)/install/completion.bash '$(DESTDIR)$(bashcompletiondir)/tutti-run'
	for program in $(completed); do \
	  ln -sf tutti-run '$(DESTDIR)$(bashcompletiondir)'/$$program || exit 1; done
	$(INSTALL_DATA) $(srcdir)/install/completion.zsh '$(DESTDIR)$(zshcompletiondir)/_tutti'
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
	rm -f $(addprefix '$(DESTDIR)$(tuttiincludedir)'/,$(public_headers))
	rm -f '$(DESTDIR)$(pkgconfigdir)/tutti.pc'
	rm -f '$(DESTDIR)$(cmakedir)'/tuttiConfig.cmake '$(DESTDIR)$(cmakedir)'/tuttiConfigVersion.cmake
	for function in `$(exported)`; do rm -f '$(DESTDIR)$(man3dir)'/$$function.3; done
	-cd '$(DESTDIR)$(bashcompletiondir)' && rm -f tutti-run $(completed)
	rm -f '$(DESTDIR)$(zshcompletiondir)/_tutti'

# Folders that are empty then go, from the innermost on: Tutti's own; where the prefix is Tutti's, the others, too. The prefix stays.
own_folders = '$(pkgdatadir)' '$(docdir)/doc' '$(docdir)/apps/example' '$(docdir)/apps' '$(docdir)' '$(tuttiincludedir)' '$(cmakedir)'
common_folders = '$(libdir)/cmake' '$(pkgconfigdir)' '$(libdir)' '$(bindir)' '$(includedir)' '$(mandir)/man1' '$(mandir)/man3' \
	'$(mandir)/man5' '$(mandir)/man7' '$(mandir)' '$(bashcompletiondir)' '$(datadir)/bash-completion' '$(zshcompletiondir)' \
	'$(datadir)/zsh' '$(datadir)/doc' '$(datadir)'
uninstall-hook:
	@set -- $(own_folders); case '$(prefix)' in /usr | /usr/local | '' | /) ;; *) set -- "$$@" $(common_folders) ;; esac; \
	for folder; do rmdir "$(DESTDIR)$$folder" 2> /dev/null || :; done

# The archive of a release, with its checksum.
release: dist
	sha256sum $(distdir).tar.xz > $(distdir).tar.xz.sha256
.PHONY: release

# The library still exports everything that the last release exported.
check-abi: libtutti.la
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/lint/abi.sh
# For a release: writes down what it exports, with which later releases are compared.
abi-list: libtutti.la
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/lint/abi.sh --list > $(srcdir)/install/libtutti.abi.new && \
	mv $(srcdir)/install/libtutti.abi.new $(srcdir)/install/libtutti.abi
.PHONY: check-abi abi-list
