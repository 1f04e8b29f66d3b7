# Tests of apps/train and of dag/base/conf.
EXTRA_DIST += tests/golden/rates/make.py tests/golden/rates/pytorch.txt
train_tests = tests/train/test_conf tests/train/test_find_rate tests/train/test_rate_schedule \
	tests/train/test_checkpoint tests/train/test_elastic tests/train/test_report \
	tests/train/test_finite tests/train/test_options tests/train/test_tally tests/train/test_tensorboard tests/train/test_timetable
check_PROGRAMS += $(train_tests)
TESTS += $(train_tests)
train_test_libs = libtrain.la libtesting.la

tests_train_test_conf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_conf_LDADD = $(train_test_libs)

tests_train_test_find_rate_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_find_rate_LDADD = libtrain.la libtune.la libsession.la libdata.la libmodels.la libcore.la libtesting.la

tests_train_test_rate_schedule_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_rate_schedule_LDADD = $(train_test_libs)

tests_train_test_checkpoint_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_checkpoint_LDADD = $(train_test_libs)

tests_train_test_elastic_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_elastic_LDADD = libtrain.la libtune.la libsession.la libdata.la libmodels.la libcore.la libtesting.la

tests_train_test_report_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_report_LDADD = libtrain.la libsession.la libcore.la libtesting.la

tests_train_test_timetable_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_timetable_LDADD = $(train_test_libs)


tests_train_test_tensorboard_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_tensorboard_LDADD = libtrain.la libdata.la libtesting.la
tests_train_test_tally_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_tally_LDADD = libtrain.la libdata.la libtesting.la

tests_train_test_options_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_options_LDADD = libtrain.la libtune.la libsession.la libdata.la libmodels.la libcore.la libtesting.la

tests_train_test_finite_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_train_test_finite_LDADD = libtrain.la libtune.la libsession.la libdata.la libmodels.la libcore.la libtesting.la
