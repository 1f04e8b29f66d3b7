libcore_la_SOURCES += \
	dag/kernels/act.h dag/kernels/arith.h dag/kernels/conv.h dag/kernels/dense.h dag/kernels/kernel.h \
	dag/kernels/loss.h dag/kernels/norm.h dag/kernels/optim.h dag/kernels/pool.h
