TESTS += tests/example/example.sh
EXTRA_DIST += tests/example/example.sh
