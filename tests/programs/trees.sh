#!/bin/bash
# tutti-trees packs trees and writes them; --check and --algorithm forest:FILE read them. Sums along them are right, and what does
# not fit is refused with status 2.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
packs() { "$apps/tutti-trees" "$@" > "$dir/out" 2>&1 || { fail "status $?: tutti-trees $*"; cat "$dir/out"; }; }
says() { grep -q -e "$1" "$dir/out" || { fail "does not say $1"; cat "$dir/out"; }; }

packs dgx-1v --root 2 --output "$dir/dgx"
says '8 ranks; for broadcasts; cables, exact packing'
says '^bound 150 GB/s, rate 150 GB/s, 6 trees'
says '^broadcast *64 MB'
[ "$(grep -c '^tree 2 25GB/s: ' "$dir/dgx")" = 6 ] || { fail 'six trees from rank 2'; cat "$dir/dgx"; }
packs dgx-1v --check "$dir/dgx"
says 'rate 150 GB/s, 6 trees'
packs dgx-1v --allreduce --eps 0.1
says '^bound 85.7143 GB/s'
packs mesh:2x3,1GB/s --allreduce --fewest
says '^bound 1.4 GB/s, rate 1.[34]'
# Nothing is left out of an exact packing, with GLPK or without it; one tree of each rank has every root.
packs dgx-1v --root 2 --fewest
if grep -q 'fewest' "$dir/out"; then fail '--fewest of an exact packing'; cat "$dir/out"; fi
refuses 2 '--root 3: for allreduces at a switch, each rank is the root of a tree' "$apps/tutti-trees" star:8 --allreduce --root 3
packs star:8 --root 3
packs star:8 --allreduce --root best
for option in '--root 2' --allreduce --routes '--eps 0.1' --fewest; do
    # shellcheck disable=SC2086 # a name and its value
    refuses 2 "$option: --check packs no trees" "$apps/tutti-trees" dgx-1v --check "$dir/dgx" $option
done
packs star:1
refuses 2 ': line 2: these trees are for another topology' "$apps/tutti-trees" dgx-1p --check "$dir/dgx"
sed 's/25GB/26GB/' "$dir/dgx" > "$dir/heavy"
refuses 2 "heavy: line [0-9]*: the trees so far send 26 GB/s over a link of 25 GB/s" "$apps/tutti-trees" dgx-1v --check "$dir/heavy"
sed 's/ 5<[0-7]//' "$dir/dgx" > "$dir/lacks"
refuses 2 'lacks: line 4: rank 5 has no parent' "$apps/tutti-trees" dgx-1v --check "$dir/lacks"
refuses 2 'the root 8 is not a rank: 0 to 7' "$apps/tutti-trees" dgx-1v --root 8
refuses 2 "$dir/none: cannot open" "$apps/tutti-trees" dgx-1v --check "$dir/none"
refuses 1 "$dir/none/x" "$apps/tutti-trees" dgx-1v --output "$dir/none/x"

# An algorithm of MSCCL: GPU 1 sends to GPU 0, which sends the sum back.
step() { echo "<step s=\"$1\" type=\"$2\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>"; }
{
    echo '<algo coll="allreduce" inplace="1" ngpus="2" nchunksperloop="1"><gpu id="0" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">'
    step 0 rrcs
    echo '</tb></gpu><gpu id="1" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">'
    step 0 s
    step 1 r
    echo '</tb></gpu></algo>'
} > "$dir/pair.xml"
packs star:2 --msccl "$dir/pair.xml"
says 'pair.xml: a right allreduce of 2 GPUs; 64 KiB '
sed 's/rrcs/rcs/' "$dir/pair.xml" > "$dir/unsummed.xml"
refuses 2 'rank 0' "$apps/tutti-trees" star:2 --msccl "$dir/unsummed.xml"
refuses 2 'it is for 2 GPUs, and star:3 has 3 ranks' "$apps/tutti-trees" star:3 --msccl "$dir/pair.xml"

# Four hosts in a square, one cable faster: three trees.
cat > "$dir/square" << 'END'
topology 1
host h[0-3]
link h[0-2] h[1-3] rate 1Gbit/s latency 10us
link h3 h0 rate 2Gbit/s latency 10us
ranks h[0-3]
END
packs "$dir/square" --allreduce --output "$dir/four"
bench() { "$mpirun" -np "$1" "$apps/tutti-bench" allreduce --algorithm "$2" --from 4 --to 4000004 --factor 1000 --blocks 1 --block-s 0.01; }
bench 4 "forest:$dir/four" > "$dir/out" 2>&1 || { fail "status $?: sums along a forest"; cat "$dir/out"; }
says 'forest:'
model=(--data synthetic:8x8x3:3 --model mlp --batch 2 --eval-every never)
trains 4 "${model[@]}" --steps 2 --algorithm "forest:$dir/four"
hash=$(field weights_hash)
trains 4 "${model[@]}" --steps 2 --algorithm "forest:$dir/four" --design sequential
is "another design" "$hash"

# ---- what ranks refuse
refused 'its trees are for 4 ranks, and there are 2' 2 --algorithm "forest:$dir/four"
refused "$dir/none: cannot open" 2 --algorithm "forest:$dir/none"
sed 's/^tree \([0-3]\)/tree 9/' "$dir/four" > "$dir/wrong"
refused "wrong: line 4: the root '9' is not a rank" 4 --algorithm "forest:$dir/wrong"
refused 'unknown' 2 --algorithm forest:
# Each rank has a file of its own by the same name: the hashes differ.
packs "$dir/square" --root 1 --output "$dir/other"
mkdir "$dir/0" "$dir/1"
cp "$dir/four" "$dir/0/file"
cp "$dir/other" "$dir/1/file"
refuses 2 'forest is ' "$mpirun" -np 1 sh -c "cd '$dir/0' && exec '$apps/tutti-cifar' ${model[*]} --steps 1 --algorithm forest:file" : \
    -np 3 sh -c "cd '$dir/1' && exec '$apps/tutti-cifar' ${model[*]} --steps 1 --algorithm forest:file"
finish
