# Lint: the floors of the house (of sources, and of objects), headers, style, symbols; self_test.sh breaks every rule once. Run
# one by hand from the top of the tree: tests/lint/rooms.sh, or tests/lint/room_symbols.sh . build
lint_tests = tests/lint/rooms.sh tests/lint/style.sh tests/lint/headers.sh tests/lint/symbols.sh \
	tests/lint/room_symbols.sh tests/lint/lists.sh tests/lint/words.sh tests/lint/waits.sh tests/lint/pages.sh \
	tests/lint/abi.sh tests/lint/commands.sh tests/lint/tour.sh tests/lint/self_test.sh
TESTS += $(lint_tests)
EXTRA_DIST += $(lint_tests) tests/lint/circles.sh tests/lint/commands.txt tests/lint/rooms.txt

# The compiler and flags of this build, for headers.sh: a line each.
check_DATA += tests/lint/flags
CLEANFILES += tests/lint/flags
tests/lint/flags: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/lint && { echo '$(CC)'; \
	echo '$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CHECK_CFLAGS) $(CFLAGS)'; } > $@
