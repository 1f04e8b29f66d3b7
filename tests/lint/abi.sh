#!/bin/bash
# What libtutti exports is what it promises:   abi.sh [--list] [LIBRARY [LIST [LIBRARY_VERSION]]]
#
#   released   every symbol of the last release (install/libtutti.abi) is there, with its version; where there are new
#              ones, the library's number (TUTTI_LIBRARY_VERSION in configure.ac, HACKING.md) is above the release's
#   public     without arguments: what is exported is what the installed headers declare with TUTTI_API and
#              doc/tutti-starpu.3 or doc/tutti-kv.3 has in its NAME
#
# --list prints the symbols as a list for the next release. Each symbol that breaks a rule is named in a sentence, and
# the exit status is 1.
set -u
source=${TUTTI_SRCDIR:-.} build=${TUTTI_BUILDDIR:-.}
lists=0
if [ "${1:-}" = --list ]; then lists=1 && shift; fi
library=${1:-$build/.libs/libtutti.so}
list=${2:-$source/install/libtutti.abi}
number=${3:-$(sed -n 's/^TUTTI_LIBRARY_VERSION = *//p' "$build/Makefile")}
bad=0
complain() { echo "abi: $*"; bad=1; }
[ -e "$library" ] || { complain "$library is not there; run make first"; exit 1; }

# NAME or NAME@VERSION, sorted. A sanitizer's names are not ours.
exported=$(nm -D --defined-only --extern-only "$library" | awk '$2 != "A" && $3 ~ /^tutti_/ { print $3 }' |
    sed 's/@@/@/' | LC_ALL=C sort)
if [ $lists = 1 ]; then
    sed -n '/^#/p' "$list"
    echo "release $(sed -n 's/^PACKAGE_VERSION = *//p' "$build/Makefile")"
    echo "library $number"
    echo "$exported"
    exit
fi

# ---- what the last release had
release=$(sed -n 's/^release //p' "$list") before=$(sed -n 's/^library //p' "$list")
[ -n "$release" ] && [ -n "$before" ] || { complain "$list does not say which release it is of"; exit 1; }
promised=$(grep -vE '^(#|release |library |$)' "$list")
for symbol in $promised; do
    name=${symbol%@*}
    case $symbol in
    *@*) grep -qxF "$symbol" <<< "$exported" && continue ;;
    *) grep -qE "^$name(@|$)" <<< "$exported" && continue ;;
    esac
    now=$(grep -E "^$name(@|$)" <<< "$exported")
    if [ -n "$now" ]; then
        complain "$symbol of $release is $now now: programs that were built with $release do not find it;" \
            "keep its version in install/libtutti.map"
    else
        complain "$symbol of $release is not exported any more: programs that use it do not start;" \
            "keep it, or have it say what to use instead"
    fi
done
new=$(for symbol in $exported; do
    grep -qE "^${symbol%@*}(@|$)" <<< "$promised" || echo "$symbol"
done)
if [ -n "$new" ] && [ "${number%%:*}" -le "${before%%:*}" ]; then
    complain "new since $release: $(echo $new); raise current and age in TUTTI_LIBRARY_VERSION," \
        "which is $number (HACKING.md)"
fi
[ $# -eq 0 ] || exit $bad

# ---- what headers and the manual say
names=$(sed 's/@.*//' <<< "$exported")
declared=$(cat "$build"/include/tutti/*.h | tr '\n' ' ' | grep -oE '(TUTTI_API|static inline) [^;(]*\(' |
    grep -oE 'tutti_[a-z0-9_]+\($' | tr -d '(' | LC_ALL=C sort -u)
described=$(sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$source/doc/tutti-starpu.3" "$source/doc/tutti-kv.3" | grep -oE 'tutti_[a-z0-9_]+' |
    LC_ALL=C sort -u)
# A program's NAME may be an inline function that passes the size of its options on to NAME_sized.
inline() { grep -qx "$1_sized" <<< "$names"; }
for pair in "declared:is declared with TUTTI_API, or inline, in an installed header" \
    "described:is in the NAME of doc/tutti-starpu.3 or doc/tutti-kv.3"; do
    which=${pair%%:*} words=${pair#*:}
    for name in $(LC_ALL=C comm -13 <(echo "$names") <(echo "${!which}")); do
        inline "$name" && continue
        complain "$name $words, but not exported: add it to install/libtutti.map"
    done
    for name in $(LC_ALL=C comm -23 <(echo "$names") <(echo "${!which}")); do
        complain "$name is exported, but nothing of that name $words"
    done
done
exit $bad
