libcore_la_SOURCES += \
	dag/base/bf16.h \
	dag/base/buffer.h \
	dag/base/clock.c dag/base/clock.h \
	dag/base/clones.c dag/base/clones.h \
	dag/base/conf.c dag/base/conf.h \
	dag/base/conf_print.c dag/base/conf_print.h \
	dag/base/setting.h \
	dag/base/cpus.c dag/base/cpus.h \
	dag/base/dtype.c dag/base/dtype.h \
	dag/base/file.c dag/base/file.h \
	dag/base/json.c dag/base/json.h \
	dag/base/lines.c dag/base/lines.h \
	dag/base/little_endian.h \
	dag/base/lock.c dag/base/lock.h \
	dag/base/portions.c dag/base/portions.h \
	dag/base/process.c dag/base/process.h \
	dag/base/prompt.c dag/base/prompt.h \
	dag/base/log.c dag/base/log.h dag/base/sink.h \
	dag/base/mem.c dag/base/mem.h \
	dag/base/median.c dag/base/median.h \
	dag/base/normal.h \
	dag/base/number.c dag/base/number.h dag/base/parameters.c dag/base/parameters.h \
	dag/base/origin.c dag/base/origin.h \
	dag/base/rank.h \
	dag/base/rank.c dag/base/rng.c dag/base/rng.h \
	dag/base/status.c dag/base/status.h \
	dag/base/text.c dag/base/text.h \
	dag/base/version.c \
	dag/graph/edges.c dag/graph/edges.h \
	dag/graph/fuse.c \
	dag/graph/build.c dag/graph/graph.h dag/graph/parts.h \
	dag/graph/region.c dag/graph/region.h \
	dag/graph/region_laws.c dag/graph/region_laws.h \
	dag/graph/sent.c dag/graph/sent.h \
	dag/graph/shape.c dag/graph/shape.h \
	dag/run/blocker.c dag/run/blocker.h \
	dag/run/collective_task.c dag/run/collective_task.h \
	dag/run/datum.c dag/run/datum.h \
	dag/run/foreign.c dag/run/foreign.h \
	dag/run/direct.c dag/run/direct.h \
	dag/run/handle.c dag/run/handle.h \
	dag/run/held.c dag/run/held.h \
	dag/run/home.c dag/run/home.h \
	dag/run/init_starpu.c dag/run/init_starpu.h \
	dag/run/insert.c dag/run/insert.h \
	dag/run/latch.c dag/run/latch.h \
	dag/run/loaded.c dag/run/loaded.h \
	dag/run/ledger.c dag/run/ledger.h \
	dag/run/meter.c dag/run/meter.h \
	dag/run/process_lock.c dag/run/process_lock.h \
	dag/run/run.h dag/run/starpu_mode.h \
	dag/run/sequence.h \
	dag/run/token.h \
	dag/run/trace.c dag/run/trace.h \
	dag/run/uses.c dag/run/uses.h \
	dag/run/wait.c dag/run/wait.h

# What runs graphs of kernels.
libnet_la_SOURCES += \
	dag/run/binding.c dag/run/binding.h \
	dag/run/codelets.c dag/run/codelets.h \
	dag/run/copy.c dag/run/table.c \
	dag/run/expected.c dag/run/expected.h \
	dag/run/inline.c dag/run/inline.h \
	dag/run/tensor_handles.c dag/run/tensor_handles.h \
	dag/run/scheduler.c dag/run/scheduler.h \
	dag/run/slots.c dag/run/slots.h \
	dag/run/starpu.c dag/run/starpu.h dag/run/starpu_parts.h \
	dag/run/starpu_copies.c dag/run/starpu_kernels.c dag/run/starpu_regions.c dag/run/starpu_tasks.c \
	dag/run/stream.h

# The devices of this build, and how StarPU uses them: a file for each kind.
libnet_la_SOURCES += dag/device/device.h
if HAVE_CUDA
libnet_la_SOURCES += dag/device/device_cuda.c dag/run/stream_cuda.c
else
libnet_la_SOURCES += dag/device/device_none.c dag/run/stream_none.c
endif
