# Posts collectives and moves them.
libcore_la_SOURCES += \
	designs/drive/driver.h \
	designs/drive/driver_drain.c \
	designs/drive/driver_entry.c \
	designs/drive/driver_fail.c \
	designs/drive/driver_grant.c \
	designs/drive/driver_order.c \
	designs/drive/driver_list.c \
	designs/drive/driver_part.c designs/drive/driver_parts.h \
	designs/drive/driver_pass.c \
	designs/drive/driver_show.c \
	designs/drive/driver_start.c \
	designs/drive/fault.h \
	designs/drive/grants.c designs/drive/grants.h

# Wrong on purpose, for tests; or the refusal to be (configure --disable-faults).
if FAULTS
libcore_la_SOURCES += designs/drive/fault.c
else
libcore_la_SOURCES += designs/drive/fault_none.c
endif
