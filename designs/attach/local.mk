# The public header tutti/starpu.h.
libcore_la_SOURCES += \
	designs/attach/attach.c designs/attach/attach.h designs/attach/attach_0_1.c \
	designs/attach/attach_calls.c designs/attach/attach_parts.h \
	designs/attach/attach_group.c designs/attach/attach_membership.c \
	designs/attach/attach_priority.c designs/attach/attach_trace.c \
	designs/attach/attach_buffers.c designs/attach/buffers.c designs/attach/buffers.h \
	designs/attach/names.c designs/attach/names.h \
	designs/attach/operators.c designs/attach/operators.h \
	designs/attach/priorities.c designs/attach/priorities.h \
	designs/attach/recording.c designs/attach/recording.h \
	designs/attach/sessions.c designs/attach/sessions.h
