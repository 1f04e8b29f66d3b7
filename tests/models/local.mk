model_tests = tests/models/test_models tests/models/test_resnet20 tests/models/test_large tests/models/test_imagenet \
	tests/models/test_torch_names
check_PROGRAMS += $(model_tests)
TESTS += $(model_tests)
tests_models_test_models_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_models_LDADD = libmodels.la libtesting.la
EXTRA_DIST += tests/golden/torch/torchvision.txt
tests_models_test_torch_names_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_torch_names_LDADD = libmodels.la libtesting.la
tests_models_test_resnet20_SOURCES = tests/models/golden.c tests/models/golden.h tests/models/test_resnet20.c
tests_models_test_resnet20_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_resnet20_LDADD = libmodels.la libtrial.la
tests_models_test_large_SOURCES = tests/models/golden.c tests/models/golden.h tests/models/test_large.c
tests_models_test_large_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_large_LDADD = libmodels.la libtrial.la
tests_models_test_imagenet_SOURCES = tests/models/golden.c tests/models/golden.h tests/models/test_imagenet.c
tests_models_test_imagenet_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_models_test_imagenet_LDADD = libmodels.la libtrial.la

# The designs as Promela models. `make check` has the quick ones; check-models all of them and the mutants.
model_files = chained.pml concurrent.pml funneled.pml grant.pml granted.pml groups.pml leave.pml membership.pml naive.pml order.pml ordered.pml pipeline.pml queue.pml rank.pml remote_buffer.pml replicas.pml sequential.pml sleeper.pml device_slots.pml server.pml threads.pml \
	models.txt mutants.txt check.sh trail.sh
TESTS += tests/models/promela/check.sh
EXTRA_DIST += $(model_files:%=tests/models/promela/%)
.PHONY: check-models
check-models:
	bash $(top_srcdir)/tests/models/promela/check.sh full
