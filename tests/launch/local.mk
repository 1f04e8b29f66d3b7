# Tests of apps/launch; tests/programs and tests/faults run the program.
check_PROGRAMS += tests/launch/fuzz_frame
TESTS += tests/launch/fuzz_frame
tests_launch_fuzz_frame_SOURCES = tests/launch/fuzz_frame.c apps/launch/frame.c apps/launch/frame.h
tests_launch_fuzz_frame_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
