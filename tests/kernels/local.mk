check_PROGRAMS += tests/kernels/test_kernels
TESTS += tests/kernels/test_kernels tests/kernels/isa.sh
tests_kernels_test_kernels_SOURCES = \
	tests/kernels/cases.c tests/kernels/cases.h tests/kernels/families.c \
	tests/kernels/reference.c tests/kernels/reference.h tests/kernels/test_kernels.c
tests_kernels_test_kernels_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kernels_test_kernels_LDADD = libtesting.la
EXTRA_DIST += \
	tests/kernels/isa.sh tests/kernels/cases.txt tests/golden/kernels/make.py \
	tests/golden/kernels/index.txt tests/golden/kernels/results.f32
