#!/bin/sh
# Names that others can see begin with tutti_: symbols.sh [LIBRARY...]
#
# Default: the objects of the library (libcore, libdata) for every external symbol, and libtutti.so for what it exports. A
# symbol that does not fit is named, and the exit status is 1; so is one of a sanitizer or of the C library's start-up left
# out, because the compiler puts it there.
set -eu
build=${TUTTI_BUILDDIR:-.}
if [ $# -eq 0 ]; then
    set -- "$build/.libs/libcore.a" "$build/.libs/libdata.a" "$build/.libs/libtutti.so"
fi
bad=0
for library; do
    if [ ! -e "$library" ]; then
        echo "symbols: $library is not there; run make first"
        exit 1
    fi
    case $library in *.so) dynamic=-D ;; *) dynamic= ;; esac
    # T D B R V W: defined and external, weak ones included. A is the name of a version.
    others=$(nm $dynamic --defined-only --extern-only "$library" 2> /dev/null |
        awk 'NF == 3 && $2 ~ /^[B-Z]$/ && $3 !~ /^(tutti_|_|__asan|__ubsan|__odr)/ { print $3 }' | LC_ALL=C sort -u)
    for symbol in $others; do
        echo "$library: $symbol does not begin with tutti_"
        bad=1
    done
done
exit $bad
