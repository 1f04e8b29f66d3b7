check_PROGRAMS += tests/tools/test_doctor
TESTS += tests/tools/test_doctor tests/tools/doctor.sh tests/tools/info.sh tests/tools/run.sh
EXTRA_DIST += tests/tools/doctor.sh tests/tools/info.sh tests/tools/run.sh
tests_tools_test_doctor_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_tools_test_doctor_LDADD = libdoctor.la libtesting.la
