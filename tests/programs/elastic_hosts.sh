#!/bin/bash
# Ranks that come and go on several hosts (tutti-run --elastic --hosts): addresses of the loopback are the hosts. What reaches
# them is a script in place of ssh, whose end an agent notices by its input alone. Where it may, it gives each host a boot of its
# own: so ranks share memory within a host alone.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
. "$TUTTI_SRCDIR/tests/programs/elastic_lib.sh"
make_cifar "$dir/data" 400
all=(--data "$dir/data" --batch 4 --lr 0.02 --augment crop --model mlp --algorithm ring --eval-every never)
a=127.0.0.2 b=127.0.0.3

own_boot=no
echo x > "$dir/boot.x"
if unshare -m mount --bind "$dir/boot.x" /proc/sys/kernel/random/boot_id 2> /dev/null; then own_boot=yes; fi
[ $own_boot = yes ] || left_out "ranks that reach each other by TCP" "a mount namespace needs root"
cat > "$dir/rsh" << END
#!/bin/sh
[ ! -e "$dir/dead.\$1" ] || { echo "no route to \$1" >&2; exit 255; }
echo "\$1-boots-for-itself" > "$dir/boot.\$1"
cd /
[ $own_boot = no ] || { unshare -m sh -c "mount --bind '$dir/boot.\$1' /proc/sys/kernel/random/boot_id && \$2"; exit; }
sh -c "\$2"
END
chmod +x "$dir/rsh"
launching=(--hosts "$a,$b" --rsh "$dir/rsh")
# The process of the rank with this number of its own: its parent is an agent.
rank() {
    local p
    for p in $(pgrep -x -f ".*tutti-cifar --data $dir/data .*"); do
        tr '\0' '\n' < "/proc/$p/environ" | grep -q "^TUTTI_ELASTIC=1 3 3 $1 " || continue
        tr '\0' ' ' < "/proc/$(awk '$1 == "PPid:" { print $2 }' "/proc/$p/status")/cmdline" | grep -q -e --agent && echo "$p"
    done
}
agent() { awk '$1 == "PPid:" { print $2 }' "/proc/$(rank "$1")/status"; }
mapped() { grep -c 'memfd:' "/proc/$(rank "$1")/maps"; }
none_left() { [ -z "$(pgrep -f "$dir/(data|rsh)")" ]; }

# ---- the same ranks as with mpirun, through what reaches hosts ----
trains 3 "${all[@]}" --steps 12
hash=$(field weights_hash)
elastic 3 1:3 "${all[@]}" --steps 12 || { fail "status $?"; cat "$dir/out"; }
[ "$(field weights_hash)" = "$hash" ] || fail "on hosts: $(field weights_hash), mpirun: $hash"

# ---- a job of Slurm ----
mkdir "$dir/slurm"
printf '#!/bin/sh\n[ "$*" = "show hostnames" ] && printf "%s\\n%s\\n"\n' $a $b > "$dir/slurm/scontrol"
printf '#!/bin/sh\n[ "$1 $2 $3 $4" = "--exact --nodes=1 --ntasks=1 --nodelist" ] || exit 1\necho "$5" >> "%s"\nshift 5\nexec "$@"\n' "$dir/steps" > "$dir/slurm/srun"
chmod +x "$dir"/slurm/*
(
    launching=(--srun)
    PATH=$dir/slurm:$PATH elastic 2 1:2 "${all[@]}" --steps 3
) || { fail "--srun: status $?"; cat "$dir/out"; }
[ "$(sort "$dir/steps" | tr '\n' ' ')" = "$a $b " ] || fail "steps of the job: $(cat "$dir/steps")"

# ---- a host goes: its rank moves; SIGTERM ends the run, which saves ----
restarts=3 begin_elastic 3 1:3 "${all[@]}" --steps 200000 --checkpoint "$dir/saved"
await 20 has_begun 1 && await 20 has_trained 5
if [ $own_boot = yes ]; then # 0 and 2 are on one host
    [ "$(mapped 0)" -gt "$(mapped 1)" ] || fail "mapped memory: rank 0 has $(mapped 0), rank 1, alone on its host, $(mapped 1)"
fi
touch "$dir/dead.$b"
kill -9 "$(agent 1)" "$(rank 1)"
await 20 has_begun 3 && await 20 has_trained 5
status=0
kill -TERM "$run"
wait "$run" || status=$?
[ $status = 143 ] && [ -s "$dir/saved" ] && grep -q '"event":"interrupted"' "$dir/json" || fail "SIGTERM: status $status"
grep -q "host $b: .* has ended with status" "$dir/out" && grep -q "rank number 3 joins on host $a" "$dir/out" && ! grep -q "no route to" "$dir/out" ||
    { fail "the host that is gone"; cat "$dir/out"; }
await 5 none_left || ps -ef

# ---- a host goes with two ranks, and is back at once: it is not left out ----
rm -f "$dir"/dead.* "$dir/json"
restarts=2 begin_elastic 3 1:3 "${all[@]}" --steps 200000
await 20 has_begun 1 && await 20 has_trained 5
kill -9 "$(agent 0)" "$(agent 2)" "$(rank 0)" "$(rank 2)"
await 20 grep -q "rank number 4 joins" "$dir/out" && ! grep -q "left out" "$dir/out" || { fail "a host that is back"; cat "$dir/out"; }
kill -TERM "$run"
wait "$run"

# ---- SIGTERM to an agent: its rank leaves, and is not replaced ----
rm -f "$dir"/dead.* "$dir/json"
restarts=1 begin_elastic 3 1:3 "${all[@]}" --steps 200000
await 20 has_begun 1 && await 20 has_trained 5
kill -TERM "$(agent 1)"
await 20 has_begun 2 && await 20 has_trained 5
kill -TERM "$run"
wait "$run"
grep -q "this rank leaves the run after step" "$dir/out" && grep -q "rank number 1 has ended with status 143" "$dir/out" && ! grep -q joins "$dir/out" ||
    { fail "SIGTERM to an agent"; cat "$dir/out"; }

# ---- nothing is left when tutti-run is killed ----
rm -f "$dir"/dead.* "$dir/json"
"$apps/tutti-run" --elastic 1:1 -n 1 --hosts "$a" --rsh "$dir/rsh" bash -c 'sh -c "trap \"\" TERM; exec sleep \$1" - "$1"; true' - "7$$" > /dev/null 2>&1 &
script=$!
sleeps() { pgrep -f "^sleep 7$$" > /dev/null; }
begin_elastic 3 1:3 "${all[@]}" --steps 200000
await 20 has_begun 1 && await 20 has_trained 5 && await 20 sleeps
kill -9 "$run" "$script"
wait "$run" "$script" 2> /dev/null
await 15 none_left
none_sleep() { ! sleeps; }
await 30 none_sleep

# ---- refused ----
touch "$dir/dead.$a" "$dir/dead.$b"
refuses 1 "no host is left for a rank" elastic 2 1:2 "${all[@]}"
[ "$(grep -c "host 127.0.0.. is left out" "$dir/out")" = 2 ] || { fail "hosts that are gone"; cat "$dir/out"; }
rm "$dir"/dead.*
printf '#!/bin/sh\necho Welcome\n' > "$dir/talks"
printf '#!/bin/sh\nprintf "d 7\\n0.0.1 5\\n"; sleep 5\n' > "$dir/old"
chmod +x "$dir/talks" "$dir/old"
elastic_with() { # OPTION... -- N LEAST:MOST OPTION...
    launching=()
    while [ "$1" != -- ]; do launching+=("$1"); shift; done
    elastic "${@:2}" "${all[@]}"
}
refuses 1 "host $a: 'Welcome' is not what tutti-run says there" elastic_with --hosts "$a" --rsh "$dir/talks" -- 1 1:1
refuses 1 "host $a has tutti-run 0.0.1, and this is" elastic_with --hosts "$a" --rsh "$dir/old" -- 1 1:1
refuses 2 "localhost' is another host for each rank" elastic_with --hosts "$a,localhost" -- 2 1:2
refuses 2 "'' is not the name of a host" elastic_with --hosts "$a,,$b" -- 2 1:2
refuses 2 "rsh: with --elastic and --hosts only" elastic_with --rsh "$dir/rsh" -- 2 1:2
finish
