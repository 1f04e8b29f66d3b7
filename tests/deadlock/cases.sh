#!/bin/bash
# The cases of the deadlock suite before their judges: README.md in this folder.
set -u
here=${TUTTI_SRCDIR:?}/tests/deadlock
judges=${TUTTI_BUILDDIR:?}/tests/deadlock
"$judges/judge_check" "$here"/cases/*.case
