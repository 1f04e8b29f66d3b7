check_PROGRAMS += tests/net/test_net tests/net/test_branches tests/net/test_placement
TESTS += tests/net/test_net tests/net/test_branches tests/net/test_placement
tests_net_test_net_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_branches_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_net_test_branches_LDADD = libtrial.la
tests_net_test_placement_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

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
	tests/golden/net/overfeat-fast.txt \
	tests/golden/net/resnet20.txt
