# The cluster in a box.
bin_SCRIPTS += apps/box/tutti-box
CLEANFILES += apps/box/tutti-box
EXTRA_DIST += apps/box/tutti-box.in
apps/box/tutti-box: script = apps/box/tutti-box.in
apps/box/tutti-box: apps/box/tutti-box.in apps/tools/launch.sh Makefile
	$(AM_V_GEN)$(whole_script)
