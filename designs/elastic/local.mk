# Runs whose ranks come and go.
libcore_la_SOURCES += \
	designs/elastic/control.c designs/elastic/control.h \
	designs/elastic/elastic.h designs/elastic/elastic_parts.h \
	designs/elastic/elastic_calls.c \
	designs/elastic/elastic_data.c \
	designs/elastic/elastic_door.c \
	designs/elastic/elastic_members.c \
	designs/elastic/elastic_mesh.c \
	designs/elastic/elastic_open.c \
	designs/elastic/elastic_start.c designs/elastic/elastic_start.h designs/elastic/elastic_start_mpi.c \
	designs/elastic/elastic_thread.c \
	designs/elastic/keeper.c designs/elastic/keeper.h \
	designs/elastic/words.c designs/elastic/words.h
