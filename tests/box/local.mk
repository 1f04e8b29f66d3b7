# The cluster in a box; skips (77) where there are no network namespaces.
TESTS += tests/box/box.sh
EXTRA_DIST += tests/box/box.sh
