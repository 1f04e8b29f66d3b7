# Which ranks there are, while some die and others come.
libcore_la_SOURCES += \
	designs/membership/membership.h designs/membership/membership_parts.h \
	designs/membership/membership_change.c \
	designs/membership/membership_events.c \
	designs/membership/membership_table.c \
	designs/membership/message.c designs/membership/message.h
