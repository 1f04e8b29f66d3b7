#!/bin/bash
# One case in forty of all that run.sh has; the day of the year chooses which, and CHECK_OFFSET replays them.
set -u
offset=${CHECK_OFFSET:-$(date +%-j)}
echo "CHECK_OFFSET=$offset"
exec bash "${TUTTI_SRCDIR:?}/tests/mpicheck/run.sh" -j 2 -e 40 -o "$offset"
