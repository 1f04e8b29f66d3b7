#!/bin/bash
# The links of a run: --topology, and what is chosen by it.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$dir" || exit 1

once=(--blocks 1 --block-s 0.001)
sums() { # RANKS OPTION...
    "$mpirun" -np "$1" "$apps/tutti-bench" allreduce "${once[@]}" "${@:2}" > "$dir/out" 2>&1
}

# ---- a topology that differs between ranks, has a mistake on one of them, or other ranks, ends all with status 2 ----
mkdir a b c
printf 'topology 1\nhost h[0-1]\nlink h0 h1 rate 1GB/s\nranks h[0-1]\n' > a/links
sed 's/1GB/2GB/' a/links > b/links
sed 's/1GB/1/' a/links > c/links
on_links() { # FOLDER FOLDER: of two ranks
    local here='cd "$1" && shift && exec "$@"' bench=("$apps/tutti-bench" allreduce --topology links --to 4 "${once[@]}")
    "$mpirun" -np 1 bash -c "$here" - "$1" "${bench[@]}" : -np 1 bash -c "$here" - "$2" "${bench[@]}" > "$dir/out" 2>&1
}
on_links a a || { fail "links of two ranks: status $?"; cat "$dir/out"; }
on_links a b
[ $? = 2 ] && grep -q "the topology's hash" "$dir/out" || { fail "other links on another rank"; cat "$dir/out"; }
on_links a c
[ $? = 2 ] && grep -q "links:3: rate '1/s'" "$dir/out" || { fail "a mistake on one rank"; cat "$dir/out"; }
sums 2 --topology star:3
[ $? = 2 ] && [ "$(grep -c 'has 3 ranks, but the run has 2' "$dir/out")" = 2 ] || { fail "links of three ranks"; cat "$dir/out"; }
TUTTI_TOPOLOGY=star:2 sums 2 --link-mbit 1000
[ $? = 2 ] && grep -q 'give one of them' "$dir/out" || { fail "links that are given twice"; cat "$dir/out"; }
# Shares of a link: of what each rank has.
TUTTI_LINK_MBIT=1 sums 2 --from 4096 --to 4096
grep -q ' %' "$dir/out" || { fail "the share of a link"; cat "$dir/out"; }

finish
