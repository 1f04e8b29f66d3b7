check_PROGRAMS += tests/models/test_models tests/models/test_resnet20
TESTS += tests/models/test_models tests/models/test_resnet20
tests_models_test_models_SOURCES = tests/models/test_models.c
tests_models_test_models_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_models_LDADD = libmodels.la libtesting.la
tests_models_test_resnet20_SOURCES = tests/models/test_resnet20.c
tests_models_test_resnet20_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_resnet20_LDADD = libmodels.la libtrial.la
