# Tests of apps/trace: runs that are traced, judged by a reader that is not Tutti's.
TESTS += tests/trace/trace.sh
EXTRA_DIST += tests/trace/trace.sh tests/trace/check.py
