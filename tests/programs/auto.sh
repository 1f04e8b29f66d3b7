#!/bin/bash
# --design auto: ends, says what it chose and why, trains what the chosen options train, and remembers.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
export XDG_CACHE_HOME="$dir/cache"
run=(--data "$dir/data" --model mlp --batch 4 --steps 3 --lr 0.02 --eval-every never)

automatic() { # P OPTION...
    local ranks=$1
    shift
    cifar "$ranks" "${run[@]}" --design auto --json "$dir/json" "$@" && return
    fail "status $?: auto on $ranks ranks, $*"
    cat "$dir/out"
}

says() { # REGEX
    grep -q "$1" "$dir/out" || { fail "nothing like $1"; cat "$dir/out"; }
}

# chosen: the options after "auto:".
chosen() {
    sed -n 's/.*auto: \(--design [^,:]*\).*/\1/p' "$dir/out"
}

same_as_fixed() { # P
    local hash options; hash=$(field weights_hash) options=$(chosen)
    [ "$(field auto)" = true ] || fail "the summary does not say auto"
    [ "--design $(field design)" = "$(echo "$options" | cut -d ' ' -f 1-2)" ] || fail "design $(field design), but $options"
    trains "$1" "${run[@]}" $options
    [ -n "$options" ] && [ "$(field weights_hash)" = "$hash" ] ||
        fail "$1 ranks: auto ended with $hash, $options with $(field weights_hash)"
    [ "$(field auto)" = false ] || fail "the summary of a fixed design says auto"
}

# One rank has nothing to choose.
automatic 1
says 'auto: --design funneled, because one rank'
[ ! -e "$XDG_CACHE_HOME/tutti/tuning.json" ] || fail "one rank remembers"

# No time: the default.
automatic 2 --tuning-time 0
says 'leave no time'
same_as_fixed 2

# Enough time: everything is tried, and the next run knows.
automatic 2 --tuning-time 1e6 --bucket-mb 2 --tuning "$dir/tuning.json"
says '^tutti: rank 0:   --design chained --bucket-mb 2  *[0-9.]* ms per step'
says 'remembered in '
options=$(chosen)
same_as_fixed 2
automatic 2 --bucket-mb 2 --tuning "$dir/tuning.json"
says "auto: $options, as tried on 20..-..-.. ($dir/tuning.json)"
same_as_fixed 2

# Another type on the wire is another run.
automatic 2 --bucket-mb 2 --tuning-time 0 --wire bf16 --tuning "$dir/tuning.json"
says 'leave no time'

# So is another transport, another place of the communication thread, and a layer without a sum.
for other in "--transport mesh" "--comm-core none" "--freeze fc1"; do
    # shellcheck disable=SC2086
    automatic 2 --bucket-mb 2 --tuning-time 0 $other --tuning "$dir/tuning.json"
    says 'leave no time'
done

if computes_bf16; then
    automatic 2 --bucket-mb 2 --tuning-time 0 --precision bf16 --tuning "$dir/tuning.json"
    says 'leave no time'
fi
# The faster type is chosen by trying; all ranks take it.
automatic 2 --tuning-time 0 --precision auto
says 'auto: --precision \(f32\|bf16\), because'

# What a step does besides is part of what is timed and remembered.
doing=(--accumulate 2 --optimizer adam --clip-norm 1 --ema 0.9)
automatic 2 --bucket-mb 2 --tuning-time 0 "${doing[@]}" --tuning "$dir/tuning.json"
says 'leave no time'
automatic 2 --bucket-mb 2 --chunk-mb 1 --priority off --tuning-time 1e6 --lr 0.001 "${doing[@]}"
says '^tutti: rank 0:   --design chained .*[0-9.]* ms per step'

# Another run is another key; what is given stays.
automatic 3 --bucket-mb 1.5 --chunk-mb 1 --lanes 3 --priority off
says 'auto: --design concurrent --lanes 3 --bucket-mb 1.5 --chunk-mb 1, as nothing else'
automatic 3 --tuning-time 3 --bucket-mb 1.5
same_as_fixed 3

# A file that cannot be read or written is no reason to fail.
echo '{"choices"' > "$dir/damaged.json"
automatic 2 --tuning-time 0 --tuning "$dir/damaged.json"
says 'damaged.json is damaged: line 2'
automatic 2 --tuning-time 0 --tuning "$dir/nowhere/at/all"
automatic 2 --tuning-time 0 --tuning none

# A search that was cut short is remembered for the restarts of one run, and stands in its checkpoint.
cut=(--tuning-time 0.3 --bucket-mb 1 --tuning "$dir/cut.json")
TUTTI_RUN=one automatic 2 "${cut[@]}"
says 'this choice is remembered for restarts of this run only'
options=$(chosen)
TUTTI_RUN=one automatic 2 "${cut[@]}"
says "auto: $options, as tried on "
TUTTI_RUN=two automatic 2 "${cut[@]}"
says 'this choice is remembered for restarts of this run only'
automatic 2 "${cut[@]}" --checkpoint "$dir/kept"
says 'this choice is not remembered'
options=$(chosen)
automatic 2 "${cut[@]}" --steps 6 --resume "$dir/kept"
says "auto: $options, as before the run was interrupted"
automatic 2 --design auto --priority off --bucket-mb 0.5 --steps 6 --tuning-time 0 --resume "$dir/kept"
says "auto: the run had chosen $options, which these options rule out"

refuses 2 'check-only: it checks one design' cifar 2 "${run[@]}" --design auto --check-only
refuses 2 'tuning-time nan' cifar 2 "${run[@]}" --design auto --tuning-time nan
finish
