#!/bin/bash
# Training on a store of keys: async and bounded in one mpirun and as jobs of their own, elastic as jobs; the loss falls; bounded:0, and sync as jobs,
# have the bits of sync; a client that dies; a server of which another has the keys; checkpoints; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
slow=${TUTTI_TEST_SLOWDOWN:-1}
make_cifar "$dir/large"
# As many images of 8x8 grey pixels, with which mlp has the same keys, and a sixth of the weights to push.
mkdir "$dir/data"
perl -e 'my ($folder) = @ARGV; srand 7;
    sub put { my $name = shift; open my $f, ">:raw", "$folder/$name-ubyte" or die; print $f @_; close $f or die }
    for ([train => 200], [t10k => 30]) {
        my ($name, $n) = @$_;
        my @label = map { int rand 10 } 1 .. $n;
        put("$name-images-idx3", pack("N4", 0x803, $n, 8, 8), map { my $l = $_; map { chr int(20 * $l + rand 60) } 1 .. 64 } @label);
        put("$name-labels-idx1", pack("N2", 0x801, $n), map { chr } @label);
    }' "$dir/data"
model=(--data "$dir/data" --model mlp --batch 8 --lr 0.02)
run=$apps/tutti-run
export MPIRUN=$mpirun TUTTI_KV_TIMEOUT=$((15 * slow)) TMPDIR=$dir

# losses: of the epochs of the last run, in a line
losses() { sed -n 's/.*"event":"eval".*"train_loss":\([^,]*\).*/\1/p' "$dir/json" | tr '\n' ' '; }
learns() { # WHAT. How old weights are depends on who comes when, so that async needs some epochs for it.
    losses | awk '{ exit !(NF > 1 && $NF < 0.9 * $1) }' || fail "$1: the loss does not fall: $(losses)"
}
communicates() { # WHAT: what goes to servers and back counts as communication
    awk -v ms="$(field comm_ms)" 'BEGIN { exit !(ms > 0) }' || fail "$1: a step communicates $(field comm_ms) ms"
}
jobs() { # STATUS OPTION...: one server and two clients, each a job
    local wanted=$1 status=0
    shift
    "$run" --servers 1 --clients 2 -n 2 "$apps/tutti-cifar" "${model[@]}" --quiet --json "$dir/json" "$@" > "$dir/out" 2>&1 ||
        status=$?
    [ $status = "$wanted" ] || { fail "jobs: status $status instead of $wanted: $*"; cat "$dir/out"; }
}
comes() { # FILE PATTERN
    for ((i = 0; i < 200 * slow; i++)); do
        grep -qE -- "$2" "$1" 2> /dev/null && return
        sleep 0.1
    done
    fail "$1 never says: $2"; cat "$dir/out"
}

# ---- one mpirun ----
trains 3 "${model[@]}" --layout servers=1,clients=2 --strategy async --epochs 6 --metrics "$dir/prom"
grep -q '^# EOF' "$dir/prom" || fail "--metrics of the client that reports"
learns async
communicates async
grep -q '"layout":"servers=1,clients=2"' "$dir/json" || fail "the start does not name the layout"
grep -q '"strategy":"async"' "$dir/json" || fail "the start does not name the strategy"
[ "$(grep -c '"event":"eval"' "$dir/json")" = 6 ] || fail "not an evaluation for each epoch"
trains 5 "${model[@]}" --layout servers=1,clients=2 --strategy bounded:2 --epochs 4 --workers 2
learns "bounded:2, clients of two"

# ---- bounded:0 is sync: the bits of a step's own servers ----
same=(--model cifar-quick --steps 6 --augment crop)
trains 3 "${model[@]}" "${same[@]}" --layout servers=1,clients=2
sync=$(field weights_hash)
for design in concurrent chained; do
    trains 3 "${model[@]}" "${same[@]}" --layout servers=1,clients=2 --strategy bounded:0 --design $design
    is "bounded:0, $design" "$sync"
done
trains 6 "${model[@]}" "${same[@]}" --layout servers=2,clients=4 --strategy bounded:0
four=$(field weights_hash)
trains 5 "${model[@]}" "${same[@]}" --layout servers=1,clients=4
is "four clients" "$four"

adam=(--optimizer adam --lr 0.001 --accumulate 2 --steps 4)
trains 5 "${model[@]}" "${adam[@]}" --layout servers=1,clients=2
two=$(field weights_hash)
trains 5 "${model[@]}" "${adam[@]}" --layout servers=1,clients=2 --strategy bounded:0
is "clients of two, adam" "$two"

# ---- workers in stages: the same bits ----
cut=("${same[@]}" --micro-batches 2 --eval-every 1 --replica-check 2)
trains 3 "${model[@]}" "${cut[@]}" --layout servers=1,clients=2
halves=$(field weights_hash)
trains 6 "${model[@]}" "${cut[@]}" --layout servers=2,clients=2,stages=2 --strategy bounded:0 --checkpoint "$dir/s"
is "bounded:0, stages" "$halves"
grep -q '"layout":"servers=2,clients=2,stages=2"' "$dir/json" || fail "the start does not name the stages"
trains 5 "${model[@]}" --layout servers=1,clients=2,stages=2 --strategy async --epochs 6 --design chained
learns "async, stages"

# ---- jobs ----
jobs 0 "${same[@]}" --strategy sync
is "sync, jobs" "$sync"
in_stages() { # OPTION...: each client is two stages
    "$run" --servers 1 --clients 2 -n "$@" > "$dir/out" 2>&1
}
in_stages 4 "$apps/tutti-cifar" "${model[@]}" "${cut[@]}" --layout stages=2 --quiet --json "$dir/json" || { fail "jobs in stages"; cat "$dir/out"; }
is "sync, jobs in stages" "$halves"
in_stages 4 "$apps/tutti-cifar" "${model[@]}" "${cut[@]}" --layout stages=2 --quiet --json "$dir/json" --strategy elastic:period=2,alpha=0.2 ||
    { fail "elastic, jobs in stages"; cat "$dir/out"; }
in_stages 6 "$apps/tutti-cifar" "${model[@]}" --layout stages=2 --steps 1 && fail "three ranks of a client make stages of two"
grep -q 'workers of 2 stages cannot be formed of the 3 ranks of this client' "$dir/out" || { fail "ranks that make no stages"; cat "$dir/out"; }
jobs 0 --epochs 6 --strategy async --checkpoint "$dir/a"
learns "async, jobs"
communicates "async, jobs"

# ---- a checkpoint: the servers begin with it ----
first=$(losses)
jobs 0 --epochs 7 --strategy bounded:1 --checkpoint "$dir/a" --resume "$dir/a"
grep -q '"event":"start".*"first_step":[1-9]' "$dir/json" || fail "it does not resume"
echo "$first $(losses)" | awk '{ exit !($NF < 0.9 * $1) }' || fail "it does not begin with what is saved: $first, $(losses)"
refused_jobs() { # TEXT OPTION...
    jobs 2 --steps 1 "${@:2}"
    grep -q -e "$1" "$dir/out" || { fail "no \"$1\": ${*:2}"; cat "$dir/out"; }
}

# ---- elastic: clients train alone where they never meet; else they are drawn to each other ----
alone=(--steps 6 --strategy elastic:period=1000000,alpha=0.25)
jobs 0 "${alone[@]}"
far=$(field weights_hash)
jobs 0 "${alone[@]}"
is "elastic, clients that never meet" "$far"
jobs 0 --epochs 3 --strategy elastic:period=1,alpha=0.25 --bucket-mb 0.1 --transport shm # these are of sums in a client
learns "elastic, jobs"
jobs 0 --steps 6 --strategy elastic:period=1,alpha=0.25 --checkpoint "$dir/e"
[ "$(field weights_hash)" != "$far" ] || fail "elastic: clients do not meet"
jobs 0 --steps 8 --strategy elastic:period=1,alpha=0.25 --checkpoint "$dir/e" --resume "$dir/e"
jobs 0 --steps 9 --stop-after 2 --strategy elastic:period=1,alpha=0.25
[ "$(field steps)" = 2 ] || fail "elastic, jobs: there are rounds, so that --stop-after 2 stops after step $(field steps)"
refused_jobs "clients that are jobs of their own have no rounds: leave out round=" --strategy elastic:round=10
refused_jobs "alpha=0.6 2 clients would push the centre past their mean" --strategy elastic:alpha=0.6

# ---- a client beyond the expected ones is no second reporter ----
mkdir -m 700 "$dir/beyond"
export TUTTI_KV_SERVERS=1 TUTTI_KV_CLIENTS=1 TUTTI_KV_MEET=$dir/beyond/meet
declare -A started
begins() { # ROLE
    TUTTI_KV_ROLE=$1 "$run" -n 1 "$apps/tutti-cifar" "${model[@]}" --steps 4 --strategy async --json "$dir/beyond/$1.json" > "$dir/beyond/$1" 2>&1 &
    started[$1]=$!
}
begins server:0
begins client:1
comes "$dir/beyond/server:0" 'client 1 joins'
begins client:0
for role in "${!started[@]}"; do wait "${started[$role]}" || { fail "$role: status $?"; cat "$dir/beyond/$role"; }; done
unset TUTTI_KV_SERVERS TUTTI_KV_CLIENTS TUTTI_KV_MEET
[ -e "$dir/beyond/client:0.json" ] && [ ! -e "$dir/beyond/client:1.json" ] || fail "who reports: $(ls "$dir/beyond")"

# ---- a client dies: the other goes on; it returns, with the step of the checkpoint ----
events() { cat "$dir/json" 2> /dev/null | grep -c "\"event\":\"$1\""; }
until_steps() { # N
    for ((i = 0; i < 200 * slow; i++)); do
        [ "$(events step)" -ge "$1" ] && return
        sleep 0.1
    done
    fail "client 0 does not reach $1 steps"; tail -n 15 "$dir"/said/*
}
process_of() { # ROLE: its rank, of the run that meets in this folder; nothing, if it is not there
    local pid
    for pid in $(pgrep -x tutti-cifar); do
        grep -qzx "TUTTI_KV_ROLE=$1" "/proc/$pid/environ" 2> /dev/null && grep -qzF "TUTTI_KV_MEET=$dir/" "/proc/$pid/environ" || continue
        echo "$pid" && return
    done
}
kills() { kill -KILL "$(process_of "$1")" || fail "$1 is not there"; } # ROLE
starts() { # OPTION...: of tutti-run
    rm -rf "$dir/json" "$dir/said"
    "$run" --servers 1 --clients 2 -n 2 --output "$dir/said" "$@" "$apps/tutti-cifar" "${model[@]}" --epochs 4000 \
        --strategy async --json "$dir/json" --checkpoint "$dir/b" --overwrite > "$dir/out" 2>&1 &
    job=$!
    until_steps 20
}
stops() { # ends the run, which is well after that
    local status=0
    kill -TERM $job
    wait $job || status=$?
    [ $status = 143 ] || fail "status $status after SIGTERM"
}

starts
kills client:1
comes "$dir/said/servers.log" 'client 1 has died: .*the others continue'
until_steps $(($(events step) + 20))
stops
grep -q 'tutti-run --servers 1 --clients 2 -n 2 .*--resume' "$dir/said/client.0.log" || fail "no command to continue"

starts --max-restarts 1 --pause 0
kills client:0
comes "$dir/out" 'client 0: restart 1 of 1'
comes "$dir/said/servers.log" 'client 0 is back'
comes "$dir/json" '"event":"start".*"first_step":[1-9]'
until_steps $(($(events step) + 20))
stops

# ---- the server dies: the clients end by themselves ----
starts
kills server:0
status=0
wait $job || status=$?
[ $status = 137 ] || fail "status $status after the server has died"
for client in 0 1; do
    grep -q 'server 0 of 1 .*: without it the run ends' "$dir/said/client.$client.log" || fail "client $client does not say why"
done
grep -rq 'still runs' "$dir/said" "$dir/out" && fail "a client had to be ended"

# ---- a server dies of which the next has the keys: the weights are those of a run in which nobody has ----
steps=(--data "$dir/large" --model mlp --steps 150 --strategy sync) # so that the run does not end meanwhile
jobs 0 "${steps[@]}"
alive=$(field weights_hash)
rm -rf "$dir/json" "$dir/said"
"$run" --servers 2 --server-replicas 2 --clients 2 -n 2 --output "$dir/said" "$apps/tutti-cifar" "${model[@]}" "${steps[@]}" \
    --json "$dir/json" > "$dir/out" 2>&1 &
job=$!
until_steps 20
client=$(process_of client:0)
kill -STOP "$client" || fail "client 0 is not there" # all wait for it: the server dies in training
kills server:0
kill -CONT "$client"
wait $job || { fail "a run whose second server lives has status $?"; tail -n 15 "$dir"/said/* "$dir/out"; }
is "sync, a server dies" "$alive"
grep -q 'server 0 is lost: server 1, which has the same keys' "$dir/said/server.1.log" || fail "server 1 does not say that it goes on"

# ---- what is refused ----
refused "strategy async: needs parameter servers: add --layout servers=1" 2 --strategy async
refused "bounded takes a number, such as bounded:3\|bound must be a whole number" 3 --layout servers=1 --strategy bounded:x
refused "bound must be a whole number from 0 to" 3 --layout servers=1 --strategy bounded:-1
refused "async takes no parameters" 3 --layout servers=1 --strategy async:3
refused "have sgd, adam and adamw" 3 --layout servers=1 --strategy async --optimizer lars
refused "clip-norm.*a part of the gradients" 3 --layout servers=1 --strategy async --clip-norm 1
refused "compress.*a part of the gradients" 3 --layout servers=1 --strategy async --compress onebit
refused "wire.*servers add gradients as f32" 3 --layout servers=1 --strategy async --wire bf16
refused "workers of 2 stages cannot be formed of 2 ranks\|workers of 2 stages cannot be formed of 3 ranks" 4 --layout servers=1,stages=2 --strategy async
refused "design.*take another design" 3 --layout servers=1 --strategy async --design sequential
refused "design auto.*name a design" 3 --layout servers=1 --strategy async --design auto
refused "ema.*keep no averages" 3 --layout servers=1 --strategy async --ema 0.9
refused "bucket-mb.*has no effect where gradients are pushed to a store of keys .*, because no step sums them" 3 --layout servers=1 --strategy async --bucket-mb 2
refused "transport shm: gradients that are pushed .* go over what the variable TUTTI_TRANSPORT names: set that" \
    3 --layout servers=1 --strategy async --transport shm
TUTTI_TRANSPORT=shm refused "transport mpi: gradients that are pushed" 3 --layout servers=1 --strategy async --transport mpi
TUTTI_TRANSPORT=shm cifar 3 "${model[@]}" --layout servers=1 --strategy async --steps 2 || { fail "TUTTI_TRANSPORT: status $?"; cat "$dir/out"; }
echo '{"bucket-mb": "auto", "transport": "mpi", "priority": "auto"}' > "$dir/usual.json" # what a store does without them
cifar 3 "${model[@]}" --layout servers=1 --strategy async --check-only --config "$dir/usual.json" --bucket-mb 0 ||
    { fail "what changes nothing is refused: status $?"; cat "$dir/out"; }
refused "patience.*the other clients would continue" 3 --layout servers=1 --strategy async --patience 2
refused "device cuda.*use cpu" 3 --layout servers=1 --strategy async --device cuda
refused "has a weight decay of its own" 3 --layout servers=1 --strategy async --decay-weights-only
refused "cannot be formed of 2 workers" 3 --layout servers=1,clients=3 --strategy async
refused_jobs "does not go with servers and clients as jobs of their own" --strategy local
refused_jobs "priority on: has no effect where gradients are pushed to a store of keys .*, because no step sums them" --priority on
refused_jobs "the jobs of this run are 1 servers and 2 clients" --strategy async --layout servers=2
cifar 3 "${model[@]}" --layout servers=1,clients=2 --strategy async --check-only || fail "--check-only: status $?"
grep -q "ordering law holds" "$dir/out" || { fail "--check-only does not say that the law is kept"; cat "$dir/out"; }
finish
