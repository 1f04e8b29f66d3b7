libnet_la_SOURCES += \
	dag/kernels/act_ops.c dag/kernels/act.h dag/kernels/act_cpu.c \
	dag/kernels/arith_ops.c dag/kernels/arith.h dag/kernels/arith_cpu.c \
	dag/kernels/codec_ops.c dag/kernels/codec.h dag/kernels/codec_cpu.c \
	dag/kernels/conv.h dag/kernels/conv_cpu.c \
	dag/kernels/buffers.c dag/kernels/open.h dag/kernels/cuda_rows.h \
	dag/kernels/cpu.c dag/kernels/cpu.h \
	dag/kernels/dense.h dag/kernels/dense_cpu.c \
	dag/kernels/engines.c dag/kernels/engines.h \
	dag/kernels/kernel.h dag/kernels/table.c \
	dag/kernels/loss.h dag/kernels/loss_cpu.c \
	dag/kernels/lrn_ops.c dag/kernels/lrn.h dag/kernels/lrn_cpu.c \
	dag/kernels/mixup_ops.c dag/kernels/mixup.h dag/kernels/mixup_cpu.c \
	dag/kernels/norm_ops.c dag/kernels/norm.h dag/kernels/norm_cpu.c \
	dag/kernels/onednn.c dag/kernels/onednn.h \
	dag/kernels/optim_ops.c dag/kernels/optim.h dag/kernels/optim_cpu.c \
	dag/kernels/pixel.h dag/kernels/pixel_cpu.c \
	dag/kernels/pool.h dag/kernels/pool_cpu.c \
	dag/kernels/share_ops.c dag/kernels/share.h dag/kernels/share_cpu.c \
	dag/kernels/workspace.c dag/kernels/workspace.h

# Our own loops, which are compiled once more for each instruction set (dag/base/clones.h).
if X86_64
libloops_avx2_la_SOURCES = dag/kernels/act_cpu.c dag/kernels/arith_cpu.c dag/kernels/codec_cpu.c dag/kernels/lrn_cpu.c \
	dag/kernels/mixup_cpu.c dag/kernels/norm_cpu.c dag/kernels/share_cpu.c
libloops_avx512_la_SOURCES = $(libloops_avx2_la_SOURCES)
liboptim_avx2_la_SOURCES = dag/kernels/optim_cpu.c
liboptim_avx512_la_SOURCES = $(liboptim_avx2_la_SOURCES)
libloops_avx2_la_CFLAGS = $(AM_CFLAGS) -mavx2 -DTUTTI_ISA=avx2
libloops_avx512_la_CFLAGS = $(AM_CFLAGS) -mavx512f -DTUTTI_ISA=avx512
liboptim_avx2_la_CFLAGS = $(libloops_avx2_la_CFLAGS)
liboptim_avx512_la_CFLAGS = $(libloops_avx512_la_CFLAGS)
noinst_LTLIBRARIES += libloops_avx2.la libloops_avx512.la liboptim_avx2.la liboptim_avx512.la
libnet_la_LIBADD = libloops_avx2.la libloops_avx512.la $(optim_clones)
optim_clones = liboptim_avx2.la liboptim_avx512.la
endif

# The kernels for CUDA. nvcc's kernels and those that tests make of the same files are made again when one of these changes.
# libtool would give its own flags to nvcc, which does not know them: -prefer-non-pic leaves them out.
SUFFIXES = .cu
cuda_headers = dag/base/bf16.h dag/base/dtype.h dag/base/log.h dag/base/normal.h dag/base/sink.h dag/base/status.h \
	dag/kernels/act.h dag/kernels/arith.h dag/kernels/bias.cuh dag/kernels/codec.h dag/kernels/conv.h dag/kernels/cublas.h \
	dag/kernels/cuda.cuh dag/kernels/cudnn.h dag/kernels/dense.h dag/kernels/kernel.h dag/kernels/loss.h dag/kernels/lrn.h \
	dag/kernels/mixup.h dag/kernels/norm.h dag/kernels/norm_reduce.cuh dag/kernels/open.h dag/kernels/optim.h dag/kernels/pixel.h \
	dag/kernels/pool.h dag/kernels/product.h dag/kernels/rng.cuh dag/kernels/share.h dag/kernels/workspace.h
cuda_sources = dag/kernels/act_cuda.cu dag/kernels/arith_cuda.cu dag/kernels/codec_cuda.cu dag/kernels/dense_cuda.cu dag/kernels/loss_cuda.cu \
	dag/kernels/lrn_cuda.cu dag/kernels/mixup_cuda.cu dag/kernels/norm_cuda.cu dag/kernels/optim_cuda.cu \
	dag/kernels/pixel_cuda.cu dag/kernels/pool_cuda.cu dag/kernels/share_cuda.cu
cudnn_sources = dag/kernels/conv_cuda.cu
libraries_of_cuda = dag/kernels/cublas.c dag/kernels/cublas.h dag/kernels/cublaslt.h dag/kernels/product.h
libraries_of_cudnn = dag/kernels/cudnn.c dag/kernels/cudnn.h dag/kernels/cudnn_engines.c dag/kernels/cudnn_engines.h \
	dag/kernels/cudnn_parts.c dag/kernels/cudnn_parts.h dag/kernels/cudnn_time.c dag/kernels/cudnn_time.h
EXTRA_DIST += dag/kernels/cublaslt.c dag/kernels/cublaslt_none.c
EXTRA_DIST += $(cuda_sources) $(cudnn_sources) dag/kernels/bias.cuh dag/kernels/cuda.cuh dag/kernels/norm_reduce.cuh dag/kernels/rng.cuh
if HAVE_CUDA
libnet_la_SOURCES += $(cuda_sources) $(libraries_of_cuda) dag/kernels/cuda_rows.c
if HAVE_CUBLASLT
libnet_la_SOURCES += dag/kernels/cublaslt.c
else
libnet_la_SOURCES += dag/kernels/cublaslt_none.c
endif
if HAVE_CUDNN
libnet_la_SOURCES += $(cudnn_sources) $(libraries_of_cudnn)
else
libnet_la_SOURCES += dag/kernels/conv_none.c dag/kernels/engines_none.c
endif
.cu.lo:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(NVCC) $(CUDA_GENCODE) -std=c++17 -O2 -fmad=false \
	  --Werror all-warnings --compiler-options=-fPIC,-Wall,-Wextra,-ffp-contract=off,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics \
	  $(AM_CPPFLAGS) $(CPPFLAGS) -prefer-non-pic -c -o $@ $<
$(cuda_sources:.cu=.lo) $(cudnn_sources:.cu=.lo): $(cuda_headers)
else
libnet_la_SOURCES += dag/kernels/cuda_none.c dag/kernels/engines_none.c
endif
