# Tests of apps/data. fuzz_readers takes a number of iterations; make check runs its default.
data_test_programs = tests/data/test_readers tests/data/test_refusals tests/data/test_sampler \
	tests/data/test_view tests/data/test_jitter tests/data/test_erase tests/data/test_rand_augment tests/data/test_resize tests/data/test_jpeg tests/data/test_decode tests/data/test_index tests/data/test_shards tests/data/test_writers tests/data/test_texts tests/data/test_prefetch tests/data/test_fashion tests/data/fuzz_readers
check_PROGRAMS += $(data_test_programs)
TESTS += $(data_test_programs)

EXTRA_DIST += tests/golden/jitter/make.py tests/golden/jitter/pillow.txt \
	tests/golden/rand_augment/make.py tests/golden/rand_augment/pillow.txt

check_LTLIBRARIES += tests/data/libfixture.la
tests_data_libfixture_la_SOURCES = tests/data/fixture.c tests/data/fixture.h
tests_data_libfixture_la_LIBADD = $(JPEG_LIBS) $(ZLIB_LIBS)
data_test_ldadd = tests/data/libfixture.la libdata.la libtesting.la

tests_data_test_readers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_readers_LDADD = $(data_test_ldadd)
tests_data_test_refusals_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_refusals_LDADD = $(data_test_ldadd)
tests_data_test_sampler_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_sampler_LDADD = $(data_test_ldadd)
tests_data_test_view_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_view_LDADD = $(data_test_ldadd)
tests_data_test_jitter_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_jitter_LDADD = $(data_test_ldadd)
tests_data_test_erase_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_erase_LDADD = $(data_test_ldadd)
tests_data_test_rand_augment_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_rand_augment_LDADD = $(data_test_ldadd)
tests_data_test_jpeg_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_jpeg_LDADD = $(data_test_ldadd) $(JPEG_LIBS)
tests_data_test_resize_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_resize_LDADD = $(data_test_ldadd)
tests_data_test_decode_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_decode_LDADD = $(data_test_ldadd) $(JPEG_LIBS) $(PNG_LIBS) $(ZLIB_LIBS)
tests_data_test_index_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_index_LDADD = $(data_test_ldadd) $(ZLIB_LIBS)
tests_data_test_shards_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_shards_LDADD = $(data_test_ldadd)
tests_data_test_writers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_writers_LDADD = $(data_test_ldadd)
tests_data_test_texts_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_texts_LDADD = $(data_test_ldadd)
tests_data_test_prefetch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_prefetch_LDADD = $(data_test_ldadd)
tests_data_test_fashion_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_test_fashion_LDADD = $(data_test_ldadd)
tests_data_fuzz_readers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_data_fuzz_readers_LDADD = $(data_test_ldadd)
