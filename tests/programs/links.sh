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
launch_several_programs "$mpi"
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
[ $? = 2 ] && grep -q "links: line 3: rate '1/s'" "$dir/out" || { fail "a mistake on one rank"; cat "$dir/out"; }
sums 2 --topology star:3
[ $? = 2 ] && [ "$(grep -c 'has 3 ranks, but the run has 2' "$dir/out")" = 2 ] || { fail "links of three ranks"; cat "$dir/out"; }
TUTTI_TOPOLOGY=star:2 sums 2 --link-mbit 1000
[ $? = 2 ] && grep -q 'give one of them' "$dir/out" || { fail "links that are given twice"; cat "$dir/out"; }
# Shares of a link: of what each rank has.
TUTTI_LINK_MBIT=1 sums 2 --from 4096 --to 4096
grep -q ' %' "$dir/out" || { fail "the share of a link"; cat "$dir/out"; }

# ---- rules of a file ----
printf 'rules 1\nallreduce P 3 element 4 wide 0 -> direct\nallreduce P 3 element 4 wide 0 from 4KiB -> ring segment 1KiB\n' > a/rules
sed 's/4KiB/8KiB/' a/rules > b/rules
sed 's/direct/bubble/' a/rules > c/rules
sums 3 --algorithm rules:a/rules --from 12 --to 12000 --factor 1000 --json "$dir/json" || { fail "rules: status $?"; cat "$dir/out"; }
# Of three ranks, direct sends 4 messages, and a ring 4 blocks of 4000 bytes, in segments of 1 KiB: 16 messages.
grep -q '"bytes":12,.*"sent_messages":4}' "$dir/json" && grep -q '"bytes":12000,.*"sent_messages":16}' "$dir/json" ||
    { fail "what rules choose"; cat "$dir/json"; }
"$apps/tutti-info" --rules a/rules > again && cmp a/rules again || fail "rules are not printed as they are written"
"$apps/tutti-info" --rules a/rules --ranks 3 > chosen
awk '$1 == "allreduce" { reads = 1 } $1 == "broadcast" { reads = 0 } reads && $1 == 1024 { short = $2 } reads && $1 == 4096 { long = $2; segment = $3 }
    END { exit !(short == "direct" && long == "ring" && segment == 1024) }' chosen || { fail "tutti-info on rules"; cat chosen; }
sums 2 --algorithm rules:a/rules
[ $? = 2 ] && grep -q 'no rule is for 2 ranks' "$dir/out" || { fail "rules of three ranks"; cat "$dir/out"; }
sums 3 --algorithm rules:c/rules
[ $? = 2 ] && grep -q "c/rules: line 2: 'bubble' is not an algorithm of rules" "$dir/out" || { fail "a mistake in rules"; cat "$dir/out"; }
sums 3 --algorithm rules:none
[ $? = 2 ] && grep -q "the rules 'none' cannot be read" "$dir/out" || { fail "rules that are not there"; cat "$dir/out"; }
printf 'rules 1\ntopology 00000000000000ff\nallreduce -> ring\n' > other
sums 2 --algorithm rules:other --topology star:2
[ $? = 2 ] && grep -q 'these rules are of topology 00000000000000ff' "$dir/out" || { fail "rules of another topology"; cat "$dir/out"; }
# An algorithm that cannot do something leaves it to those that are built in, and says so once.
printf 'rules 1\nallreduce -> ring\n' > rings
STARPU_NCPU=2 STARPU_WORKERS_NOBIND=1 "$mpirun" -np 3 "$TUTTI_BUILDDIR/tests/programs/verbs" funneled rules:rings > "$dir/out" 2>&1 ||
    { fail "every collective by rules: status $?"; tail -20 "$dir/out"; }
[ "$(grep -c 'the rules say ring for an operator that does not commute' "$dir/out")" = 1 ] || { fail "what rules cannot do"; cat "$dir/out"; }
# A run of a training compares their hash.
train=("$apps/tutti-cifar" --data synthetic --model mlp --batch 6 --steps 1 --algorithm rules:rules)
here='cd "$1" && shift && exec "$@"'
"$mpirun" -np 2 bash -c "$here" - a "${train[@]}" : -np 1 bash -c "$here" - b "${train[@]}" > "$dir/out" 2>&1
[ $? = 2 ] && grep -q "the rules' hash" "$dir/out" || { fail "other rules on another rank"; cat "$dir/out"; }
# Rules say how long chunks are, unless --chunk-mb does.
collectives() { # OPTION...: on the links in a step, as traced
    (cd a && "$mpirun" -np 2 "${train[@]}" --algorithm rules:chunks --trace "$dir/trace" "$@") > "$dir/out" 2>&1 || { fail "chunks: status $?"; cat "$dir/out"; }
    grep -o '"cat":"[a-z]*coll' "$dir/trace" | wc -l
}
printf 'rules 1\nallreduce P 2 -> chunk 256KiB\n' > a/chunks
short=$(collectives) whole=$(collectives --chunk-mb 0)
[ "$short" -gt "$whole" ] || fail "chunks by rules: $short collectives a step, $whole without chunks"

# ---- rules that are measured ----
"$mpirun" -np 3 "$apps/tutti-bench" tune-collectives --write measured --kinds allreduce,broadcast --ranks 2,3 --from 4096 --to 4194304 \
    --factor 1024 --block-s 0.001 --topology star:3 --csv "$dir/csv" > "$dir/out" 2>&1 || { fail "tune-collectives: status $?"; cat "$dir/out"; }
[ "$(grep -c ',rule,\(allreduce\|broadcast\),.*,[23],.*,[a-z-]*[:0-9]*,,\(4096\|4194304\),us,,,,1,[0-9.]*$' "$dir/csv")" = 8 ] ||
    { fail "samples of tune-collectives"; cat "$dir/csv"; }
grep -q '^rules  *[0-9]* of  *8 within' "$dir/out" && grep -q '^priced .* of  *8 ' "$dir/out" || { fail "what tune-collectives tells"; cat "$dir/out"; }
"$apps/tutti-info" --rules measured > again && cmp measured again || fail "measured rules are not as they are printed"
for ranks in 2 3; do
    "$apps/tutti-info" --rules measured --ranks $ranks > chosen
    awk -v ranks=$ranks 'NR == FNR { if ($2 == ranks && $1 ~ /allreduce|broadcast/ && $4 !~ /^in$/) { wanted[$1, $3] = $4 " " $5 } next }
        /^[a-z]/ { kind = $1 }
        ((kind, $1) in wanted) { seen++; if (wanted[kind, $1] != $2 " " $3) { print kind, $1, wanted[kind, $1], "chosen:", $2, $3; bad = 1 } }
        END { exit bad || seen != 4 }' "$dir/out" chosen || { fail "measured rules choose something else"; cat measured "$dir/out" chosen; }
done
sums 3 --algorithm rules:measured --from 4096 --to 4194304 --factor 1024 --topology star:3 || { fail "sums by measured rules: status $?"; cat "$dir/out"; }
# Beside MPI's own choice, and, where they can be chosen, its algorithms by their names.
"$mpirun" -np 2 "$apps/tutti-bench" tune-collectives --write beside --library --from 4096 --to 4096 --kinds broadcast,reduce --block-s 0.0001 \
    --json json > "$dir/out" 2>&1 || { fail "--library: status $?"; cat "$dir/out"; }
grep -q '/ library / its best$' "$dir/out" && [ "$(grep -cE '^(broadcast|reduce) .* [0-9.]+  +[0-9.]+  ([0-9]+ [a-z]|own choice)' "$dir/out")" = 2 ] ||
    { fail "what --library tells"; cat "$dir/out"; }
[ "$(grep -cE '"over_library_choice":[0-9.]+,"over_library":[0-9.]+' json)" = 2 ] || { fail 'ratios in --json'; cat json; }
"$mpirun" -np 2 "$apps/tutti-bench" tune-collectives --write no/where --from 4 --to 4 --kinds reduce --block-s 0.0001 > "$dir/out" 2>&1
[ $? = 1 ] && grep -q 'no/where' "$dir/out" || { fail "rules that cannot be written"; cat "$dir/out"; }
"$mpirun" -np 2 "$apps/tutti-bench" tune-collectives --write x --ranks 3 > "$dir/out" 2>&1
[ $? = 2 ] && grep -q 'numbers from 2 to the ranks of the run' "$dir/out" || { fail "more ranks than there are"; cat "$dir/out"; }

# ---- by price ----
sums 2 --algorithm priced
[ $? = 2 ] && grep -q 'give --topology' "$dir/out" || { fail "prices without links"; cat "$dir/out"; }
sums 3 --algorithm priced --link-mbit 1000 --from 12 --to 1200000 --factor 1000 || { fail "prices: status $?"; cat "$dir/out"; }
TUTTI_LINK_MBIT=100 TUTTI_ALGORITHM=priced "$mpirun" -np 3 "$apps/groups" > "$dir/out" 2>&1 || { fail "groups by price: status $?"; cat "$dir/out"; }

finish
