#!/bin/bash
# --transport: training gives the same weights whatever carries the messages: MPI, shared memory of a host, and on two hosts
# (tutti-box) shared memory within them, and TCP or libfabric between them. What cannot be is refused on every rank.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
box=$apps/box/tutti-box
train="$apps/tutti-cifar --data synthetic --model resnet8 --eval-every never --steps 3 --batch 4"

weights() { # WHAT RUN...: its weights in $hash
    local what=$1
    shift
    "$@" > "$dir/out" 2>&1 || fail "$what: status $?: $(tail -n 5 "$dir/out")"
    hash=$(sed -n 's/.*weights \([0-9a-f]*\)$/\1/p' "$dir/out")
    [ -n "$hash" ] || fail "$what: no weights: $(tail -n 5 "$dir/out")"
}

same() { # RANKS TRANSPORT OPTION...: the weights are those over MPI
    local ranks=$1 transport=$2
    shift 2
    # shellcheck disable=SC2086
    weights "$ranks ranks $*" $mpirun -np "$ranks" $train --transport mpi "$@"
    local wanted=$hash
    # shellcheck disable=SC2086
    weights "$ranks ranks $* --transport $transport" $mpirun -np "$ranks" $train --transport "$transport" "$@"
    [ "$hash" = "$wanted" ] || fail "$ranks ranks $*: weights $hash over $transport, and $wanted over mpi"
}

same 2 shm --design concurrent
same 4 mesh --layout stages=2,replicas=2 --verify full --json "$dir/json"
four=$hash
# Activations, their gradients and sums arrive where they belong.
grep '"event":"summary"' "$dir/json" | grep -q '"received":{"after_step":2,"placed":[1-9].*"copied":0,' ||
    fail "something is copied on its way: $(tail -n 1 "$dir/json")"

# shellcheck disable=SC2086
$mpirun -np 2 $train --transport shm --algorithm mpi > "$dir/out" 2>&1
[ $? = 2 ] || fail "MPI's own sums without MPI: not refused"
grep -q "\-\-algorithm mpi is MPI's own; or use --transport mpi" "$dir/out" || fail "--algorithm mpi: $(tail -n 5 "$dir/out")"

# Memory that one rank cannot have is missing to all.
launch_several_programs "$mpi"
# shellcheck disable=SC2016,SC2086
said_by_each=yes refuses 1 'rank 1: error: shared memory needs .* ulimit -f' \
    "$mpirun" -np 1 $train --transport shm : -np 1 bash -c 'ulimit -f 1000000; exec "$@"' - $train --transport shm
grep -q 'rank 0: error: rank 1 has no connections to the others: memory ran out' "$dir/out" || fail "rank 0 says: $(cat "$dir/out")"

# What is copied is known before the first step.
foretells() { # TEXT RUN...
    local text=$1
    shift
    "$@" --remote-buffers > "$dir/out" 2>&1 || fail "--remote-buffers: status $?: $(tail -n 5 "$dir/out")"
    grep -q "$text" "$dir/out" || fail "--remote-buffers does not say '$text': $(cat "$dir/out")"
}
# shellcheck disable=SC2086
foretells 'of 2 ranks: [1-9][0-9]* zero copy (.*), 0 one copy' "$mpirun" -np 2 $train --layout stages=2 --transport shm
# shellcheck disable=SC2086
foretells 'one copy: the transport .mpi. has no memory' "$mpirun" -np 2 $train --transport mpi

# libfabric, if this build has it, and the provider that is asked for, even where all ranks are on one host.
fabric=yes
# shellcheck disable=SC2086
TUTTI_FABRIC_PROVIDER=nonsense $mpirun -np 2 $train --transport fabric > "$dir/out" 2>&1
[ $? = 2 ] || fail "no such provider: not refused: $(tail -n 5 "$dir/out")"
if grep -q 'this build has no libfabric' "$dir/out"; then
    fabric=no
    echo "left out: libfabric: this build has none"
else
    grep -q 'rank 1: error: libfabric has no provider nonsense' "$dir/out" || fail "no such provider: $(tail -n 5 "$dir/out")"
fi

# One rank has nobody to send to.
weights 'one rank' $train --transport mesh

if [ "$(id -u)" = 0 ] && command -v ip tc > /dev/null && ip netns add "probe$$" 2> /dev/null; then
    ip netns del "probe$$"
    # shellcheck disable=SC2086
    weights 'two hosts' "$box" run --hosts 2 -n 4 $train --layout stages=2,replicas=2 --verify full --transport mesh
    [ "$hash" = "$four" ] || fail "two hosts: weights $hash, and $four on one"
    if [ $fabric = yes ]; then
        # shellcheck disable=SC2086
        weights 'two hosts over libfabric' "$box" run --hosts 2 -n 4 $train --layout stages=2,replicas=2 --verify full \
            --transport fabric --json "$dir/json"
        [ "$hash" = "$four" ] || fail "two hosts over libfabric: weights $hash, and $four on one"
        grep '"event":"summary"' "$dir/json" | grep -q '"received":{"after_step":2,"placed":[1-9].*"copied":0,' ||
            fail "something is copied on its way over libfabric: $(tail -n 1 "$dir/json")"
        # shellcheck disable=SC2086
        foretells 'of 2 ranks: [1-9][0-9]* zero copy (.*), 0 one copy' \
            "$box" run --hosts 2 -n 2 $train --layout stages=2 --transport fabric
    fi
    # shellcheck disable=SC2086
    foretells 'one copy: rank [0-9] is on another host' "$box" run --hosts 2 -n 2 $train --layout stages=2 --transport mesh
    # shellcheck disable=SC2086
    "$box" run --hosts 2 -n 2 $train --transport shm > "$dir/out" 2>&1
    [ $? = 2 ] || fail "shm on two hosts: not refused"
    grep -q 'use --transport mesh' "$dir/out" || fail "shm on two hosts: $(tail -n 5 "$dir/out")"
else
    echo "left out: two hosts: needs root, iproute2 and network namespaces"
fi
finish
