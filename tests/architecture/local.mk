# Tests of apps/architecture.
check_PROGRAMS += tests/architecture/test_architecture
TESTS += tests/architecture/test_architecture
tests_architecture_test_architecture_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_architecture_test_architecture_LDADD = libmodels.la libtesting.la
if HAVE_PROTOBUF_C
check_PROGRAMS += tests/architecture/test_onnx tests/architecture/test_onnx_weights
TESTS += tests/architecture/test_onnx tests/architecture/test_onnx_weights
tests_architecture_test_onnx_SOURCES = tests/architecture/test_onnx.c tests/architecture/onnx_hand.c tests/architecture/onnx_hand.h
tests_architecture_test_onnx_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) -Wno-missing-field-initializers
tests_architecture_test_onnx_LDADD = libexport.la libtrain.la libsession.la libdata.la libmodels.la libcore.la libtesting.la
tests_architecture_test_onnx_weights_SOURCES = tests/architecture/test_onnx_weights.c tests/architecture/onnx_hand.c \
	tests/architecture/onnx_hand.h
tests_architecture_test_onnx_weights_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) -Wno-missing-field-initializers
tests_architecture_test_onnx_weights_LDADD = libexport.la libtrain.la libsession.la libdata.la libmodels.la libcore.la libtesting.la
endif
