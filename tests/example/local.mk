TESTS += tests/example/example.sh tests/example/survivors.sh
EXTRA_DIST += tests/example/example.sh tests/example/survivors.sh
