base_tests = tests/base/test_base tests/base/test_bf16 tests/base/test_file tests/base/test_portions
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
tests_base_test_base_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_base_test_bf16_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_base_test_file_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_base_test_portions_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
