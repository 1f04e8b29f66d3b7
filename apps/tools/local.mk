bin_PROGRAMS += apps/tutti-info
apps_tutti_info_SOURCES = apps/tools/info_main.c apps/tools/info_links.c apps/tools/info_links.h apps/trees/predict.c apps/trees/predict.h apps/tools/info_gpu.c apps/tools/info_gpu.h apps/tools/gpu_library.h
apps_tutti_info_CFLAGS = $(AM_CFLAGS) $(NCCL_CFLAGS)
apps_tutti_info_LDADD = libtrain.la libdata.la libmodels.la libcore.la $(NCCL_LIBS)
if HAVE_NCCL
apps_tutti_info_SOURCES += apps/tools/nccl_version.c
else
apps_tutti_info_SOURCES += apps/tools/nccl_none.c
endif
if HAVE_CUDNN
apps_tutti_info_SOURCES += apps/tools/cudnn_version.c
else
apps_tutti_info_SOURCES += apps/tools/cudnn_none.c
endif

# Scripts are whole: the version, mpirun, and what mpirun must be told are put in.
whole_script = $(MKDIR_P) $(@D) && $(SED) -e '/^@launch@$$/{r $(srcdir)/apps/tools/launch.sh' -e 'd;}' \
	-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' -e 's|@MPIRUN[@]|$(MPIRUN)|' < $(srcdir)/$(script) > $@.new && \
	chmod +x $@.new && mv -f $@.new $@

EXTRA_DIST += apps/tools/launch.sh
dist_pkgdata_SCRIPTS += apps/tools/from_torch.py

noinst_LTLIBRARIES += libdoctor.la
libdoctor_la_SOURCES = \
	apps/tools/doctor.h apps/tools/doctor_examine.c apps/tools/doctor_read.c apps/tools/doctor_report.c apps/tools/doctor_known.c \
	apps/tools/doctor_mpi.c apps/tools/doctor_cpu.c apps/tools/doctor_net.c apps/tools/doctor_system.c \
	apps/tools/doctor_links.h apps/tools/doctor_measure.c apps/tools/doctor_topology.c
bin_PROGRAMS += apps/tutti-doctor
apps_tutti_doctor_SOURCES = apps/tools/doctor_main.c
apps_tutti_doctor_LDADD = libdoctor.la libcore.la
