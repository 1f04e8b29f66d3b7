# The cluster in a box; configure puts the version in.
bin_SCRIPTS += apps/box/tutti-box
