check_LTLIBRARIES += libtrial.la
libtrial_la_SOURCES = tests/net/drawn.c tests/net/drawn.h tests/net/leavings.c tests/net/leavings.h tests/net/nets.c tests/net/nets.h \
	tests/net/trial.c tests/net/trial.h
libtrial_la_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
libtrial_la_LIBADD = libtesting.la

check_PROGRAMS += tests/net/test_net tests/net/test_graph tests/net/test_gradients \
	tests/net/test_branches tests/net/test_partition tests/net/test_units tests/net/test_updates tests/net/test_rounds tests/net/test_pairs tests/net/test_shares \
	tests/net/test_codes tests/net/test_served tests/net/test_bits tests/net/test_bf16 tests/net/test_evaluation
TESTS += tests/net/test_net tests/net/test_graph tests/net/test_gradients \
	tests/net/test_branches tests/net/test_partition tests/net/test_units tests/net/test_updates tests/net/test_rounds tests/net/test_pairs tests/net/test_shares \
	tests/net/test_codes tests/net/test_served tests/net/test_bits tests/net/test_bf16 tests/net/test_evaluation
tests_net_test_net_SOURCES = tests/net/test_net.c
tests_net_test_net_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_net_LDADD = libtesting.la
tests_net_test_graph_SOURCES = tests/net/test_graph.c
tests_net_test_graph_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_graph_LDADD = libtesting.la
tests_net_test_gradients_SOURCES = tests/net/test_gradients.c
tests_net_test_gradients_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_gradients_LDADD = libtrial.la
tests_net_test_bits_SOURCES = tests/net/test_bits.c
tests_net_test_bits_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_bits_LDADD = libtrial.la
tests_net_test_bf16_SOURCES = tests/net/test_bf16.c
tests_net_test_bf16_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_bf16_LDADD = libtrial.la
tests_net_test_evaluation_SOURCES = tests/net/test_evaluation.c
tests_net_test_evaluation_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_evaluation_LDADD = libtrial.la
tests_net_test_branches_SOURCES = tests/net/test_branches.c
tests_net_test_branches_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_branches_LDADD = libtrial.la
tests_net_test_partition_SOURCES = tests/net/test_partition.c
tests_net_test_partition_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_partition_LDADD = libtrial.la
tests_net_test_units_SOURCES = tests/net/test_units.c
tests_net_test_units_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_units_LDADD = libtrial.la
tests_net_test_updates_SOURCES = tests/net/test_updates.c
tests_net_test_updates_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_updates_LDADD = libtrial.la
tests_net_test_rounds_SOURCES = tests/net/test_rounds.c
tests_net_test_rounds_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_rounds_LDADD = libtrial.la
tests_net_test_pairs_SOURCES = tests/net/test_pairs.c
tests_net_test_pairs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_pairs_LDADD = libtrial.la
tests_net_test_shares_SOURCES = tests/net/test_shares.c
tests_net_test_shares_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_shares_LDADD = libtrial.la
tests_net_test_served_SOURCES = tests/net/test_served.c
tests_net_test_served_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_served_LDADD = libtrial.la
tests_net_test_codes_SOURCES = tests/net/test_codes.c
tests_net_test_codes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_codes_LDADD = libtrial.la

EXTRA_DIST += \
	tests/golden/net/make.py \
	tests/golden/net/make_large.py \
	tests/golden/net/make_models.py \
	tests/golden/net/resnet50.txt \
	tests/golden/net/vgg16-224.txt \
	tests/golden/net/vgg13-224.txt \
	tests/golden/net/vgg19-224.txt \
	tests/golden/net/vgg11-bn-224.txt \
	tests/golden/net/vgg16-bn-224.txt \
	tests/golden/net/vgg19-bn-224.txt \
	tests/golden/net/resnet18.txt \
	tests/golden/net/resnet34.txt \
	tests/golden/net/resnet101.txt \
	tests/golden/net/resnet152.txt \
	tests/golden/net/resnext50-32x4d.txt \
	tests/golden/net/alexnet.txt \
	tests/golden/net/alexnet-tv.txt \
	tests/golden/net/vgg11-224.txt \
	tests/golden/net/googlenet.txt \
	tests/golden/net/googlenet-bn.txt \
	tests/golden/net/mobilenet-v1.txt \
	tests/golden/net/resnet20.txt \
	tests/golden/net/small_1.txt \
	tests/golden/net/small_2.txt
