#!/bin/bash
# tutti-info about links: topologies by name and from a file, which it prints as text; what is wrong in one, with status 2; prices.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
info=$apps/tutti-info
cd "$dir" || exit 1
with() { # WANTED-STATUS ARGUMENT...
    local wanted=$1 status=0
    shift
    "$info" "$@" > out 2> err || status=$?
    [ $status = "$wanted" ] || { fail "status $status instead of $wanted: tutti-info $*"; cat out err; }
}

with 0 --list topologies
for family in $(cat out); do
    case $family in
    star | fat-tree) spec=$family:4 ;;
    two-level | dragonfly | mesh) spec=$family:3x2 ;;
    *) spec=$family ;;
    esac
    with 0 --topology "$spec"
    cp out printed
    with 0 --topology printed
    cmp -s out printed || fail "$spec is not read as it is printed"
done

# The example of the page is right.
sed -n '/^topology 1$/,/^ranks/p' "$TUTTI_SRCDIR/doc/tutti-topology.5" > page
with 0 --topology page
grep -qx 'ranks h0.g0 h0.g1 h1.g0 h1.g1 h2.g0 h2.g1 h3.g0 h3.g1' out || { fail "the example has other ranks"; cat out err; }
printf 'topology 1\nhost h[0-1]\nlink h0 h1 rate 5\n' > wrong
with 2 --topology wrong
grep -q "wrong: line 3: rate '5': must be more than 0, a number and its unit, as in 'rate 25Gbit/s'" err || { fail "the mistake is not named"; cat err; }
with 2 --prices wrong
with 2 --topology "$dir/none"
with 2 --topology star:0
with 2 --prices star:1025
grep -q "prices are of 1024 at most" err || { fail "too many ranks"; cat err; }

# 67.1 MB cross a link of 125 MB/s twice, but for a fourth; on a tree, all of them do.
with 0 --prices star:4
[ "$(grep -c " packed-trees " out)" = 3 ] || fail "no column of packed trees"
awk '$1 == 67108864 && !found { found = 1; bad = $2 < 805 || $2 > 807 || $4 < 1.3 * $2 } END { exit bad || !found }' out || {
    fail "64 MiB on a star of four hosts has another price"
    cat out
}
finish
