libnet_la_SOURCES += \
	dag/kernels/act.h dag/kernels/act_cpu.c \
	dag/kernels/arith.h dag/kernels/arith_cpu.c \
	dag/kernels/conv.h dag/kernels/conv_cpu.c \
	dag/kernels/buffers.c \
	dag/kernels/cpu.c dag/kernels/cpu.h \
	dag/kernels/dense.h dag/kernels/dense_cpu.c \
	dag/kernels/kernel.h dag/kernels/table.c \
	dag/kernels/loss.h dag/kernels/loss_cpu.c \
	dag/kernels/lrn.h dag/kernels/lrn_cpu.c \
	dag/kernels/mixup.h dag/kernels/mixup_cpu.c \
	dag/kernels/norm.h dag/kernels/norm_cpu.c \
	dag/kernels/onednn.c dag/kernels/onednn.h \
	dag/kernels/optim.h dag/kernels/optim_cpu.c \
	dag/kernels/pixel.h dag/kernels/pixel_cpu.c \
	dag/kernels/pool.h dag/kernels/pool_cpu.c
