#!/bin/sh
# Every header compiles alone, and twice in a row: headers.sh [TREE]
#
# The compiler and its flags are those of the build (tests/lint/flags in TUTTI_BUILDDIR, made by make check); CC and FLAGS in
# the environment go before them. A header that fails is named, and the exit status is 1.
set -eu
tree=$(cd "${1:-${TUTTI_SRCDIR:-.}}" && pwd)
build=${TUTTI_BUILDDIR:-.}
if [ -z "${CC:-}" ]; then CC=$(sed -n 1p "$build/tests/lint/flags"); fi
if [ -z "${FLAGS:-}" ]; then FLAGS=$(sed -n 2p "$build/tests/lint/flags"); fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Flags name folders relative to where make runs.
cd "$build"
export CC FLAGS tree scratch
(cd "$tree" && find dag collectives designs apps tests -name '*.h' 2> /dev/null) | LC_ALL=C sort |
    xargs -n 1 -P 2 sh -c '
        header=$1
        unit=$scratch/$(echo "$header" | tr / _).c
        printf "#include \"%s\"\n#include \"%s\"\n" "$header" "$header" > "$unit"
        # Flags are written for a shell: a definition may have quotes.
        if ! eval "$CC -I\"\$tree\" $FLAGS -Werror -fsyntax-only \"\$unit\"" > "$unit.log" 2>&1; then
            echo "$header: does not compile alone:"
            sed -n 1,5p "$unit.log"
            : > "$scratch/failed"
        fi' compile
[ ! -e "$scratch/failed" ]
