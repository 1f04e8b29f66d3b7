#!/bin/bash
# A link goes down between two hosts: both ranks end, naming what did not, the launcher ends, and when the link is back the
# run goes on from its checkpoint, unattended. Hosts are network namespaces: root, or skipped.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
[ "$mpi" != hydra ] || { echo "skipped: hydra waits for ever for a host that it cannot reach"; exit 77; }
box=$apps/box/tutti-box name=link$$
if ! ip netns add "probe$$" 2> /dev/null; then
    echo "skipped: no network namespaces here"
    exit 77
fi
ip netns del "probe$$"
"$box" up "$name" --hosts 2 --rate none > "$dir/out" 2>&1 || { fail "tutti-box up: status $?"; cat "$dir/out"; finish; }
trap '"$box" down "$name"; rm -rf "$dir"' EXIT
unset OMPI_MCA_btl # the guard's leaves TCP out
link() { "$box" exec "$name" lan ip link set eth2 "$1"; }
there() { for host in 1 2; do ip netns pids "tutti-$name-$host"; done; }
ranks_there() { for pid in $(there); do [ "$(ps -o comm= -p "$pid")" != tutti-cifar ] || echo "$pid"; done; }
# What must end while the link is down: everything, but Open MPI 5's daemon on the other host learns of it when it is back.
bound() { if [ "$mpi" = openmpi5 ]; then ranks_there; else there; fi; }

make_cifar "$dir/data"
run=(--data "$dir/data" --model mlp --batch 10 --lr 0.02 --timeout 4 --quiet)
trains 2 "${run[@]}" --epochs 30
hash=$(field weights_hash)

"$apps/tutti-run" --linger 2 --pause 1 --max-restarts 1 "$box" run --name "$name" -n 2 "$apps/tutti-cifar" "${run[@]}" \
    --epochs 30 --checkpoint "$dir/saved" --json "$dir/json" > "$dir/out" 2>&1 &
training=$!
for _ in {1..200}; do
    [ -e "$dir/saved" ] && break
    sleep 0.1
done
[ "$(there | wc -l)" -ge 4 ] && [ "$(ranks_there | wc -l)" = 2 ] || fail "there are no ranks on the hosts"
link down
down=$SECONDS
while [ -n "$(bound)" ] && [ $((SECONDS - down)) -lt 60 ]; do sleep 0.2; done
[ $((SECONDS - down)) -lt 20 ] || { fail "the ranks were there $((SECONDS - down)) s after the link went down"; bound; }
link up
status=0
wait $training || status=$?
# What rank 1 has to say is lost with its link. The link may go down while an epoch ends, too.
grep -Eq "tutti: rank 0: error: .*(d\.fc|'(the (epoch's sums( of each rank)?|weights' hashes|checkpoint's state|ranks' status)|what the ranks found)')" "$dir/out" ||
    fail "rank 0 does not name what it waited for"
[ $status = 0 ] || fail "status $status"
grep -q 'restart 1 of 1, from ' "$dir/out" || fail "it did not go on from its checkpoint"
[ "$(field weights_hash)" = "$hash" ] || fail "weights $(field weights_hash) instead of $hash"
for _ in {1..100}; do
    [ "$mpi" = openmpi5 ] && [ -n "$(there)" ] || break
    sleep 0.2
done
[ -z "$(there)" ] || fail "left behind: $(ps -o pid=,args= -p $(there))"
[ "$failures" = 0 ] || cat "$dir/out"
finish
