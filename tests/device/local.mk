check_PROGRAMS += tests/device/test_device
TESTS += tests/device/test_device tests/device/programs.sh
EXTRA_DIST += tests/device/programs.sh
tests_device_test_device_SOURCES = tests/device/test_device.c
tests_device_test_device_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_device_LDADD = libtesting.la
