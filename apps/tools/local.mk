bin_PROGRAMS += apps/tutti-info
apps_tutti_info_SOURCES = apps/tools/info_main.c
apps_tutti_info_LDADD = libtrain.la libdata.la libmodels.la libcore.la

bin_SCRIPTS += apps/tutti-run

noinst_LTLIBRARIES += libdoctor.la
libdoctor_la_SOURCES = \
	apps/tools/doctor.h apps/tools/doctor_read.c apps/tools/doctor_report.c apps/tools/doctor_known.c \
	apps/tools/doctor_mpi.c apps/tools/doctor_cpu.c apps/tools/doctor_net.c apps/tools/doctor_system.c
bin_PROGRAMS += apps/tutti-doctor
apps_tutti_doctor_SOURCES = apps/tools/doctor_main.c
apps_tutti_doctor_LDADD = libdoctor.la libcore.la
