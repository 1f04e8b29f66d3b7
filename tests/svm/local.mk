# Tests of apps/svm. fuzz_text takes a number of iterations; make check runs its default.
svm_test_programs = tests/svm/test_text tests/svm/test_solve tests/svm/test_memory tests/svm/fuzz_text
check_PROGRAMS += $(svm_test_programs) tests/svm/long_message
TESTS += $(svm_test_programs) tests/svm/svm.sh
# keel.sh compares with LIBSVM on sets that it is given, for minutes.
EXTRA_DIST += tests/svm/svm.sh tests/svm/keel.sh
svm_test_ldadd = libmachine.la libtrain.la libdata.la libtesting.la
tests_svm_test_text_SOURCES = tests/svm/test_text.c tests/svm/fixture.h
tests_svm_test_text_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_svm_test_text_LDADD = $(svm_test_ldadd)
tests_svm_test_solve_SOURCES = tests/svm/test_solve.c tests/svm/fixture.c tests/svm/fixture.h
tests_svm_test_solve_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_svm_test_solve_LDADD = $(svm_test_ldadd)
tests_svm_test_memory_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_svm_test_memory_LDADD = $(svm_test_ldadd)
tests_svm_fuzz_text_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_svm_fuzz_text_LDADD = $(svm_test_ldadd)
tests_svm_long_message_LDADD = $(svm_test_ldadd)
