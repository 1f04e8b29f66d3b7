#!/bin/bash
# What is written to a terminal fits it and says how long the run will take; what is written anywhere else is plain text.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
run=(--data synthetic --model mlp --batch 4 --lr 0.01 --steps 6 --eval-every never)
bench=("$apps/tutti-bench" compute --model mlp --batch 4 --steps 1 --blocks 2 --peer none)
step=("$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --peer none --design funneled)

plain() { # COMMAND...
    "$@" > "$dir/out" 2>&1 || { fail "status $?: $*"; cat "$dir/out"; }
    grep -q "$(printf '[\r\033]')" "$dir/out" && { fail "not plain: $*"; cat -v "$dir/out"; }
}
plain "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}"
grep -q 'step 6/6 .* eta 0:00$' "$dir/out" || { fail "no line has a time"; cat "$dir/out"; }
plain "${bench[@]}"
plain "${step[@]}"

type script > /dev/null 2>&1 || { left_out "a terminal" "script is not installed"; finish; }
on_terminal() { # COLUMNS COMMAND...: $dir/out is what came out there
    local columns=$1
    shift
    printf '%q ' "$@" > "$dir/command"
    TERM=xterm script -qec "stty cols $columns; $(cat "$dir/command")" "$dir/typed" < /dev/null > "$dir/out" 2>&1 || { fail "status $?: $*"; cat -v "$dir/out"; }
    grep -q "$(printf '\033\\[K')" "$dir/out" || { fail "no bar at a terminal: $*"; cat -v "$dir/out"; }
}
# A rank's terminal may be the launcher's work, whatever stands between them.
printf '%s\n' '#!/bin/sh' '"$@"' 'exit $?' > "$dir/wrapper"
chmod +x "$dir/wrapper"
plain "$mpirun" -np 2 "$dir/wrapper" "$apps/tutti-cifar" "${run[@]}"

# The longest of the lines that replace themselves, without what StarPU 1.4 says in between.
longest() { tr '\r' '\n' < "$dir/out" | sed 's/\[starpu\].*//' | sed -n "s/^$(printf '\033')\\[K\\(epoch [0-9]*\\/\\|step [0-9]*\\/\\|block \\)/\\1/p" | awk '{ if (length > most) most = length } END { print most + 0 }'; }
[ "$mpi" = hydra ] && ranks=() || ranks=("$mpirun" -np 2) # hydra's ranks write to pipes, never to a terminal
for columns in 50 30; do
    on_terminal $columns "${ranks[@]}" "$apps/tutti-cifar" "${run[@]}"
    most=$(longest)
    [ "$most" -gt 10 ] && [ "$most" -lt $columns ] || { fail "a line of $most on $columns columns"; cat -v "$dir/out"; }
    grep -q 'eta 0:0' "$dir/out" || { fail "no time at a terminal"; cat -v "$dir/out"; }
done
on_terminal 8 "${bench[@]}"
[ "$(longest)" -lt 8 ] || { fail "a bench's line of $(longest)"; cat -v "$dir/out"; }
TERM=dumb script -qec "$apps/tutti-cifar ${run[*]}" "$dir/typed" < /dev/null > "$dir/out" 2>&1 || fail "TERM=dumb: status $?"
grep -q "$(printf '\033')" "$dir/out" && { fail "TERM=dumb gets escapes"; cat -v "$dir/out"; }
finish
