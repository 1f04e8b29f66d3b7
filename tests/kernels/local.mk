check_PROGRAMS += tests/kernels/test_kernels
TESTS += tests/kernels/test_kernels tests/kernels/isa.sh
tests_kernels_test_kernels_SOURCES = \
	tests/kernels/cases.c tests/kernels/cases.h tests/kernels/families.c \
	tests/kernels/reference.c tests/kernels/reference.h tests/kernels/test_kernels.c
tests_kernels_test_kernels_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
check_PROGRAMS += tests/kernels/test_numbers
TESTS += tests/kernels/test_numbers
tests_kernels_test_numbers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
check_PROGRAMS += tests/kernels/test_refusals
TESTS += tests/kernels/test_refusals
tests_kernels_test_refusals_SOURCES = \
	tests/kernels/cases.c tests/kernels/cases.h tests/kernels/families.c \
	tests/kernels/reference.c tests/kernels/reference.h tests/kernels/test_refusals.c
tests_kernels_test_refusals_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
check_PROGRAMS += tests/kernels/test_codecs
TESTS += tests/kernels/test_codecs
tests_kernels_test_codecs_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
check_PROGRAMS += tests/kernels/test_rates
tests_kernels_test_rates_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
EXTRA_DIST += \
	tests/kernels/isa.sh tests/kernels/cases.txt tests/kernels/large_cases.txt tests/golden/kernels/make.py \
	tests/golden/kernels/index.txt tests/golden/kernels/results.f32

# The kernels for CUDA, compiled as C++ for the processor, with fakes of the libraries that they call. These are compiled with
# the libraries' headers where those are installed.
check_PROGRAMS += tests/kernels/test_cuda
TESTS += tests/kernels/test_cuda tests/kernels/cuda_mutants.sh
EXTRA_DIST += tests/kernels/cuda_mutants.sh
tests_kernels_test_cuda_SOURCES = \
	tests/kernels/cases.c tests/kernels/cases.h tests/kernels/families.c \
	tests/kernels/reference.c tests/kernels/reference.h tests/kernels/host_rows.h \
	tests/kernels/cuda_compare.c tests/kernels/cuda_compare.h tests/kernels/cuda_products.c tests/kernels/test_cuda.c
tests_kernels_test_cuda_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) -idirafter $(top_srcdir)/tests/device/include
tests_kernels_test_cuda_LDADD = libtesting.la
if HAVE_CXX
host_kernels = \
	tests/kernels/act_host.$(OBJEXT) \
	tests/kernels/arith_host.$(OBJEXT) \
	tests/kernels/codec_host.$(OBJEXT) \
	tests/kernels/conv_host.$(OBJEXT) \
	tests/kernels/dense_host.$(OBJEXT) \
	tests/kernels/loss_host.$(OBJEXT) \
	tests/kernels/lrn_host.$(OBJEXT) \
	tests/kernels/mixup_host.$(OBJEXT) \
	tests/kernels/norm_host.$(OBJEXT) \
	tests/kernels/optim_host.$(OBJEXT) \
	tests/kernels/pixel_host.$(OBJEXT) \
	tests/kernels/pool_host.$(OBJEXT) \
	tests/kernels/share_host.$(OBJEXT)
tests_kernels_test_cuda_SOURCES += tests/kernels/host_rows.c $(fake_cublas) $(fake_cudnn) \
	tests/device/fake/compute.c tests/device/fake/compute.h tests/device/fake/now.c \
	tests/device/fake/now.h
if !HAVE_CUDA
tests_kernels_test_cuda_SOURCES += $(libraries_of_cuda)
endif
if !HAVE_CUBLASLT
tests_kernels_test_cuda_SOURCES += dag/kernels/cublaslt.c
endif
if !HAVE_CUDNN
tests_kernels_test_cuda_SOURCES += $(libraries_of_cudnn)
endif
tests_kernels_test_cuda_LDADD += $(host_kernels)
tests_kernels_test_cuda_DEPENDENCIES = libtesting.la $(host_kernels)
CLEANFILES += $(host_kernels)
tests/kernels/%_host.$(OBJEXT): dag/kernels/%_cuda.cu $(cuda_headers)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(CXX) -std=c++17 -O1 -g1 -ffp-contract=off -fno-exceptions -fno-rtti -Wall -Wextra -Wshadow $(TUTTI_SANITIZE_CFLAGS) \
	  $(AM_CPPFLAGS) $(CPPFLAGS) -x c++ -c -o $@ $<
else
tests_kernels_test_cuda_SOURCES += tests/kernels/host_none.c tests/device/fake/now.c tests/device/fake/now.h
endif
