EXTRA_DIST += tests/device/include/README.md tests/device/include/cublasLt.h tests/device/include/cublas_v2.h tests/device/include/cuda_runtime_api.h \
	tests/device/include/cudnn.h

check_PROGRAMS += tests/device/test_device
TESTS += tests/device/test_device tests/device/programs.sh
EXTRA_DIST += tests/device/programs.sh
tests_device_test_device_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

# The fake device: the libraries that take the place of CUDA's, and the kernels for it. A program for it is linked with
# $(fake_libraries), with $(fake_kernels) if it has kernels (before libtesting.la, where those of nvcc are), and with
# $(link_to_fake).
fake_sources = tests/device/fake/api_copy.c tests/device/fake/api_device.c tests/device/fake/api_memory.c \
	tests/device/fake/api_nvcc.c tests/device/fake/api_stream.c tests/device/fake/counts.c tests/device/fake/graph.c \
	tests/device/fake/memory.c tests/device/fake/order.c tests/device/fake/queue.c tests/device/fake/state.c
fake_headers = tests/device/fake/fake.h tests/device/fake/graph.h tests/device/fake/memory.h tests/device/fake/order.h \
	tests/device/fake/queue.h tests/device/fake/state.h
fake_cublas = tests/device/fake/cublas.c tests/device/fake/cublaslt.c tests/device/fake/product.c tests/device/fake/product.h
fake_cudnn = tests/device/fake/cudnn.c tests/device/fake/cudnn_graph.c tests/device/fake/cudnn_graph.h \
	tests/device/fake/cudnn_run.c tests/device/fake/cudnn_run.h
EXTRA_DIST += $(fake_sources) $(fake_headers) tests/device/fake/launch.cuh tests/device/fake/cudart.map \
	tests/device/fake/aware.c $(fake_cublas) tests/device/fake/cublas.map tests/device/fake/cublasLt.map $(fake_cudnn) tests/device/fake/cudnn.map tests/device/fake/nccl.c \
	tests/device/fake/nccl.map \
	tests/device/fake/compute.c tests/device/fake/compute.h tests/device/fake/now.c tests/device/fake/now.h
# The fakes of cuBLAS and cuDNN compute with the CPU's kernels.
fake_compute = tests/device/fake/compute.c tests/support/cpu_kernel.c dag/kernels/conv_cpu.c dag/kernels/cpu.c dag/kernels/dense_cpu.c dag/kernels/onednn.c \
	dag/base/clones.c dag/base/dtype.c dag/base/log.c dag/base/mem.c dag/base/origin.c dag/base/text.c
if HAVE_CUDA
fake_libraries = tests/device/fake/libcudart.so.13 tests/device/fake/libcublas.so.13
if HAVE_CUBLASLT
fake_libraries += tests/device/fake/libcublasLt.so.13
endif
if HAVE_CUDNN
fake_libraries += tests/device/fake/libcudnn.so.9
fake_conv = tests/device/fake/conv_fake.$(OBJEXT)
endif
if HAVE_NCCL
fake_libraries += tests/device/fake/libnccl.so.2
endif
fake_kernels = $(fake_conv) \
	tests/device/fake/act_fake.$(OBJEXT) \
	tests/device/fake/arith_fake.$(OBJEXT) \
	tests/device/fake/codec_fake.$(OBJEXT) \
	tests/device/fake/dense_fake.$(OBJEXT) \
	tests/device/fake/loss_fake.$(OBJEXT) \
	tests/device/fake/lrn_fake.$(OBJEXT) \
	tests/device/fake/mixup_fake.$(OBJEXT) \
	tests/device/fake/norm_fake.$(OBJEXT) \
	tests/device/fake/optim_fake.$(OBJEXT) \
	tests/device/fake/pixel_fake.$(OBJEXT) \
	tests/device/fake/pool_fake.$(OBJEXT) \
	tests/device/fake/share_fake.$(OBJEXT)
check_PROGRAMS += tests/device/test_fake
TESTS += tests/device/test_fake
tests_device_test_fake_SOURCES = \
	tests/device/child.c tests/device/child.h tests/device/fake_copy_tests.c tests/device/fake_graph_misuse_tests.c \
	tests/device/fake_graph_tests.c tests/device/fake_memory_tests.c tests/device/fake_misuse_tests.c \
	tests/device/fake_order_tests.c tests/device/fake_programs.c tests/device/fake_programs.h tests/device/fake_tests.h \
	tests/device/test_fake.c
tests_device_test_fake_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_fake_LDFLAGS = $(link_to_fake)
tests_device_test_fake_LDADD = $(fake_libraries) libtesting.la

check_PROGRAMS += tests/device/test_fake_starpu
TESTS += tests/device/test_fake_starpu
tests_device_test_fake_starpu_SOURCES = \
	tests/device/child.c tests/device/child.h tests/device/fake_tests.h tests/device/test_fake_starpu.c
tests_device_test_fake_starpu_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_fake_starpu_LDFLAGS = $(link_to_fake)
tests_device_test_fake_starpu_LDADD = $(fake_libraries) libtesting.la

link_to_fake = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/tests/device/fake
fake_build = $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -shared $(TUTTI_WARN_CFLAGS) $(AM_CPPFLAGS) $(CPPFLAGS) $(CUDA_CFLAGS) \
	$(CUDNN_CFLAGS)
check_DATA += $(fake_libraries) $(fake_kernels) tests/device/fake/libaware.so
CLEANFILES += $(fake_libraries) $(fake_kernels) tests/device/fake/libaware.so
tests/device/fake/libcudart.so.13: $(fake_sources) $(fake_headers) tests/device/fake/cudart.map
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(fake_build) -Wl,-soname,$(@F) -Wl,--version-script=$(srcdir)/tests/device/fake/cudart.map \
	  -o $@ $(fake_sources:%=$(srcdir)/%) -lpthread -lm
# The fake of LIBRARY, made of PARTS.
fake_library = $(AM_V_CCLD)$(fake_build) -Wl,-soname,$(@F) -Wl,--version-script=$(srcdir)/tests/device/fake/$(library).map \
	  -o $@ $(parts:%=$(srcdir)/tests/device/fake/%) $(fake_compute:%=$(srcdir)/%) tests/device/fake/libcudart.so.13 \
	  $(ONEDNN_LIBS) -lpthread
fake_needs = $(fake_compute) tests/device/fake/compute.h tests/support/cpu_kernel.h tests/device/fake/fake.h tests/device/fake/libcudart.so.13
tests/device/fake/libcublas.so.13: library = cublas
tests/device/fake/libcublas.so.13: parts = cublas.c product.c
tests/device/fake/libcublas.so.13: $(fake_cublas) tests/device/fake/cublas.map $(fake_needs)
	$(fake_library)
tests/device/fake/libcublasLt.so.13: library = cublasLt
tests/device/fake/libcublasLt.so.13: parts = cublaslt.c product.c
tests/device/fake/libcublasLt.so.13: $(fake_cublas) tests/device/fake/cublasLt.map $(fake_needs)
	$(fake_library)
tests/device/fake/libcudnn.so.9: library = cudnn
tests/device/fake/libcudnn.so.9: parts = cudnn.c cudnn_graph.c cudnn_run.c
tests/device/fake/libcudnn.so.9: $(fake_cudnn) tests/device/fake/cudnn.map $(fake_needs)
	$(fake_library)
tests/device/fake/%_fake.$(OBJEXT): dag/kernels/%_cuda.cu $(cuda_headers) tests/device/fake/launch.cuh tests/device/fake/fake.h
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(CXX) -std=c++17 -O1 -g1 -ffp-contract=off -fno-exceptions -fno-rtti -Wall -Wextra -Wshadow \
	  $(AM_CPPFLAGS) $(CPPFLAGS) $(CUDA_CFLAGS) '-DTUTTI_CUDA_LAUNCH="tests/device/fake/launch.cuh"' -x c++ -c -o $@ $<

# A CUDA-aware MPI, to be preloaded.
tests/device/fake/libaware.so: tests/device/fake/aware.c tests/device/fake/libcudart.so.13
	$(AM_V_CCLD)$(fake_build) $(MPI_CFLAGS) -o $@ $(srcdir)/tests/device/fake/aware.c tests/device/fake/libcudart.so.13 \
	  $(MPI_LIBS) -lpthread

if HAVE_NCCL
tests/device/fake/libnccl.so.2: tests/device/fake/nccl.c tests/device/fake/nccl.map tests/device/fake/fake.h \
	  tests/device/fake/libcudart.so.13
	$(AM_V_CCLD)$(fake_build) $(NCCL_CFLAGS) -Wl,-soname,$(@F) -Wl,--version-script=$(srcdir)/tests/device/fake/nccl.map \
	  -o $@ $(srcdir)/tests/device/fake/nccl.c tests/device/fake/libcudart.so.13 -lpthread
nccl_test = tests/device/test_nccl
check_PROGRAMS += $(nccl_test)
TESTS += $(nccl_test)
tests_device_test_nccl_SOURCES = tests/device/child.c tests/device/child.h tests/device/test_nccl.c
tests_device_test_nccl_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(CUDA_CFLAGS)
tests_device_test_nccl_LDFLAGS = $(link_to_fake)
tests_device_test_nccl_LDADD = libtesting.la $(fake_libraries)
endif
check_PROGRAMS += tests/device/test_room
TESTS += tests/device/test_room
tests_device_test_room_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_room_LDFLAGS = $(link_to_fake)
tests_device_test_room_LDADD = $(fake_kernels) libmodels.la libtesting.la $(fake_libraries)

check_PROGRAMS += tests/device/test_steps
TESTS += tests/device/steps.sh tests/device/mutants/mutants.sh
tests_device_test_steps_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_steps_LDFLAGS = $(link_to_fake)
tests_device_test_steps_LDADD = $(fake_kernels) libtesting.la $(fake_libraries)

# Programs, linked for the fake.
check_PROGRAMS += tests/device/tutti-cifar tests/device/tutti-imagenet
TESTS += tests/device/training.sh tests/device/nccl.sh tests/device/aware.sh tests/device/layouts.sh tests/device/compiled.sh tests/device/engines.sh
tests_device_tutti_cifar_SOURCES = apps/train/cifar_main.c
tests_device_tutti_cifar_LDFLAGS = $(link_to_fake)
tests_device_tutti_cifar_LDADD = $(fake_kernels) $(train_program_libs) $(fake_libraries)
tests_device_tutti_imagenet_SOURCES = apps/train/imagenet_main.c
tests_device_tutti_imagenet_LDFLAGS = $(link_to_fake)
tests_device_tutti_imagenet_LDADD = $(fake_kernels) $(train_program_libs) $(fake_libraries)
check_DATA += tests/device/tutti-bench
CLEANFILES += tests/device/tutti-bench
tests/device/tutti-bench: apps/tutti-bench $(fake_kernels) $(fake_libraries)
	$(AM_V_CCLD)$(LINK) $(link_to_fake) $(apps_tutti_bench_OBJECTS) $(fake_kernels) $(apps_tutti_bench_LDADD) $(fake_libraries) $(LIBS)

check_PROGRAMS += tests/device/test_relus
TESTS += tests/device/test_relus
tests_device_test_relus_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_relus_LDFLAGS = $(link_to_fake)
tests_device_test_relus_LDADD = $(fake_kernels) libsession.la libmodels.la libtesting.la $(fake_libraries)

check_PROGRAMS += tests/device/engine_ranks
tests_device_engine_ranks_CFLAGS = $(AM_CFLAGS)
tests_device_engine_ranks_LDFLAGS = $(link_to_fake)
tests_device_engine_ranks_LDADD = $(fake_kernels) libsession.la libmodels.la libcore.la $(fake_libraries)

check_PROGRAMS += tests/device/aware_ranks
tests_device_aware_ranks_CFLAGS = $(AM_CFLAGS)
tests_device_aware_ranks_LDFLAGS = $(link_to_fake)
tests_device_aware_ranks_LDADD = $(fake_kernels) libsession.la libcore.la $(fake_libraries)

# Each kernel against the CPU's: for a GPU, and linked for the fake.
gpu_sources = tests/device/test_gpu.c tests/kernels/cases.c tests/kernels/cases.h tests/kernels/families.c \
	tests/kernels/reference.c tests/kernels/reference.h
check_PROGRAMS += tests/device/test_gpu tests/device/test_gpu_fake
TESTS += tests/device/test_gpu_fake tests/device/fake_gpu.sh
tests_device_test_gpu_SOURCES = $(gpu_sources)
tests_device_test_gpu_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_gpu_fake_SOURCES = $(gpu_sources)
tests_device_test_gpu_fake_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_device_test_gpu_fake_LDFLAGS = $(link_to_fake)
tests_device_test_gpu_fake_LDADD = $(fake_kernels) libtesting.la $(fake_libraries)

# For .ci/run: what a build with CUDA shows on the fake and no other build does, and what that needs.
fake_tests = tests/device/test_device tests/device/programs.sh tests/device/test_fake tests/device/test_fake_starpu \
	tests/device/test_room tests/device/test_relus tests/device/steps.sh tests/device/mutants/mutants.sh tests/device/training.sh \
	tests/device/nccl.sh tests/device/aware.sh tests/device/layouts.sh tests/device/compiled.sh tests/device/engines.sh \
	tests/device/test_gpu_fake tests/device/fake_gpu.sh $(nccl_test)
fake_parts = libtesting.la tests/deadlock/mutants/flags $(fake_libraries) tests/device/fake/libaware.so $(fake_kernels) tests/device/test_device \
	tests/device/test_fake tests/device/test_fake_starpu tests/device/test_room tests/device/test_relus tests/device/test_steps tests/device/test_gpu_fake \
	tests/device/aware_ranks tests/device/engine_ranks tests/device/tutti-cifar tests/device/tutti-imagenet tests/device/tutti-bench $(nccl_test)
fake: all
	@$(MAKE) $(fake_parts)
check-fake: fake
	@$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(fake_tests)' \
		check_PROGRAMS='$(filter $(fake_parts),$(check_PROGRAMS))'
endif
.PHONY: fake check-fake
EXTRA_DIST += tests/device/steps.sh tests/device/training.sh tests/device/nccl.sh tests/device/aware.sh tests/device/layouts.sh \
	tests/device/compiled.sh tests/device/engines.sh tests/device/fake_gpu.sh tests/device/gpu.sh tests/device/mutants

# All schedules; make check has a few.
check-device:
	@$(AM_TESTS_ENVIRONMENT) TUTTI_TEST_ROUNDS=3400 bash $(srcdir)/tests/device/steps.sh
.PHONY: check-device

# What only a GPU can show; a row in doc/gpu.md.
if HAVE_CUDA
check-gpu: all tests/device/test_gpu
else
check-gpu: all
endif
	@$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/device/gpu.sh $(srcdir)/doc/gpu.md
.PHONY: check-gpu
