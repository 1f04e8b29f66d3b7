# The threads that call MPI, and what ranks ask each other from them.
libcore_la_SOURCES += \
	designs/thread/clocks.c designs/thread/clocks.h \
	designs/thread/comm_core.c designs/thread/comm_core.h \
	designs/thread/comm_thread.c designs/thread/comm_thread.h \
	designs/thread/deadline.c designs/thread/deadline.h \
	designs/thread/halt.c designs/thread/halt.h \
	designs/thread/active_messages.c designs/thread/active_messages.h \
	designs/thread/mpi_thread.c designs/thread/mpi_thread.h \
	designs/thread/pace.c designs/thread/pace.h \
	designs/thread/rendezvous.c designs/thread/rendezvous.h
