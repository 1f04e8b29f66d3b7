libcore_la_SOURCES += \
	collectives/value/args.c collectives/value/args.h \
	collectives/value/members.c collectives/value/members.h \
	collectives/boot.c collectives/boot.h \
	collectives/buf/buf.h \
	collectives/buf/nan.h \
	collectives/buf/combine.c \
	collectives/buf/pool.c \
	collectives/buf/reduce.c \
	collectives/cache.c collectives/cache.h \
	collectives/choose.c collectives/choose.h \
	collectives/lasting.h \
	collectives/coll.h \
	collectives/check_args.c collectives/check_args.h \
	collectives/comm.c collectives/comm_parts.h \
	collectives/control.c collectives/control.h \
	collectives/engine.c collectives/engine.h \
	collectives/priced.c collectives/priced.h \
	collectives/request.c \
	collectives/rules.c collectives/rules.h \
	collectives/rules_text.c collectives/rules_text.h \
	collectives/links/events.c collectives/links/events.h \
	collectives/links/flows.c collectives/links/flows.h \
	collectives/links/quantity.c collectives/links/quantity.h \
	collectives/links/run.c collectives/links/run.h \
	collectives/links/topology.c collectives/links/topology.h \
	collectives/links/topology_families.c \
	collectives/links/topology_print.c \
	collectives/links/topology_text.c collectives/links/topology_text.h \
	collectives/value/op.h \
	collectives/sched/barrier.c collectives/sched/barrier.h \
	collectives/sched/blocks.c collectives/sched/blocks.h \
	collectives/sched/direct.c collectives/sched/direct.h \
	collectives/sched/doubling.c collectives/sched/doubling.h \
	collectives/sched/fold.c collectives/sched/fold.h \
	collectives/sched/forest.c collectives/sched/forest.h \
	collectives/sched/dependencies.c collectives/sched/dependencies.h \
	collectives/sched/hierarchical.c collectives/sched/hierarchical.h \
	collectives/sched/match.c collectives/sched/match.h \
	collectives/sched/price.c collectives/sched/price.h \
	collectives/sched/ring.c collectives/sched/ring.h collectives/sched/ring_parts.h \
	collectives/sched/rsag.c collectives/sched/rsag.h \
	collectives/sched/draft.c \
	collectives/sched/scan.c collectives/sched/scan.h \
	collectives/sched/scatter_ring.c collectives/sched/scatter_ring.h \
	collectives/sched/sched.h \
	collectives/sched/tree.c collectives/sched/tree.h \
	collectives/sched/walk.c collectives/sched/walk.h \
	collectives/trees/arborescence.c collectives/trees/arborescence.h \
	collectives/trees/forest_text.c collectives/trees/forest_text.h \
	collectives/trees/network.c collectives/trees/network.h \
	collectives/trees/pack.c collectives/trees/pack.h \
	collectives/trees/program.c collectives/trees/program.h \
	collectives/trees/rings.c collectives/trees/rings.h \
	collectives/trees/trees.c collectives/trees/trees.h \
	collectives/trees/weigh.c collectives/trees/weigh.h \
	collectives/transport/mpi.h \
	collectives/transport/mpi_collective.c \
	collectives/transport/mpi_fail.c \
	collectives/transport/mpi_lock.c collectives/transport/mpi_lock.h \
	collectives/transport/mpi_message.c \
	collectives/transport/mpi_open.c \
	collectives/transport/mpi_request.c \
	collectives/transport/part.c \
	collectives/transport/gather.c collectives/transport/gather.h \
	collectives/transport/mesh.c collectives/transport/mesh.h collectives/transport/mesh_open.c \
	collectives/transport/mesh_any.c collectives/transport/mesh_any.h \
	collectives/transport/mesh_sockets.c \
	collectives/transport/connection_message.c collectives/transport/connection.h collectives/transport/connection_parts.h \
	collectives/transport/connection_wire.c \
	collectives/transport/shm.c collectives/transport/shm.h \
	collectives/transport/interconnect.h \
	collectives/transport/stream.h collectives/transport/stream_socket.c \
	collectives/transport/tcp.h \
	collectives/transport/tcp_connect.c \
	collectives/transport/tcp_listener.c \
	collectives/transport/tcp_frame.c collectives/transport/tcp_frame.h \
	collectives/transport/arithmetic.h collectives/transport/device_collectives.h \
	collectives/transport/transport.c collectives/transport/transport.h
if HAVE_LASTING_MPI
libcore_la_SOURCES += collectives/lasting.c
else
libcore_la_SOURCES += collectives/lasting_none.c
endif

# What programs choose from; the library needs neither NCCL nor libfabric.
libnet_la_SOURCES += \
	collectives/transport/fabric.h collectives/transport/fabric_parts.h \
	collectives/transport/nccl_parts.h \
	collectives/transport/table.c
if HAVE_NCCL
libnet_la_SOURCES += collectives/transport/nccl.c collectives/transport/nccl_ask.c collectives/transport/nccl_call.c \
	collectives/transport/nccl_close.c collectives/transport/nccl_lane.c collectives/transport/nccl_open.c
else
libnet_la_SOURCES += collectives/transport/nccl_none.c
endif
if HAVE_FABRIC
libnet_la_SOURCES += collectives/transport/fabric_library.c collectives/transport/fabric_memory.c collectives/transport/fabric_open.c \
	collectives/transport/fabric_stream.c
else
libnet_la_SOURCES += collectives/transport/fabric_none.c
endif
