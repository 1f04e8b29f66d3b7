#!/bin/bash
# One rank does wrong with one collective, or with one message (TUTTI_FAULT), at random points of random designs, on replicas,
# stages, divided layers, divided updates, workers with a server, workers that serve, replicas that gossip, and codes of gradients:
# the report names that rank and that tensor, or that edge, in time, every rank ends, and nothing of the run is left behind.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
needs_faults
rounds=${TUTTI_TEST_ROUNDS:-1} # of each kind
lanes=${TUTTI_TEST_LANES:-2}   # runs at a time: they wait more than they compute
all="skip extra swap resize delay stop kill"
[ "$mpi" = hydra ] || all+=" orphan" # which ends all ranks when one has died, whatever it is asked for
kinds=(${TUTTI_TEST_KINDS:-$all})
seed=${TUTTI_TEST_SEED:-$RANDOM}
echo "seed $seed (replay with TUTTI_TEST_SEED)"
layouts=(${TUTTI_TEST_LAYOUT:-replicas stages split sharded servers everywhere gossip codes})
wires=(${TUTTI_TEST_WIRE:-f32 bf16}) # the types of gradients
mapfile -t designs < <(names designs)
slow=${TUTTI_TEST_SLOWDOWN:-1}
warn=$((2 * slow)) dump=$((3 * slow)) abort=$((6 * slow)) margin=$((2 * slow)) end=$((5 * slow)) # seconds

# What a run must not leave: the segments and the session folder of Open MPI have places of their own here.
shared=$(mktemp -d /dev/shm/tutti-chaos.XXXXXX)
trap 'rm -rf "$dir" "$shared"' EXIT
open_places() { # LANE
    dir=$dir/$1 shared=$shared/$1
    mkdir -p "$dir/session" "$dir/dumps" "$shared"
    launch_segments "$mpi" "$shared"
    launch_scratch "$mpi" "$dir/session"
    rmdir "$dir"/session/*/kept "$dir"/session/* 2> /dev/null || true # one launcher at a time: what is there later was left
}

micro_batches=4
# Each gradient is a collective: six a step, from #30 on (what comes before is set-up).
run=(--data synthetic --model mlp --batch 4 --lr 0.001 --steps 100 --eval-every end --bucket-mb 0 --timeout 60 --quiet)
run+=(--stall-warn $warn --stall-dump $dump --stall-abort $abort --stall-dir)

ranks_left() { pgrep -f "^$apps/(\.libs/)?(lt-)?tutti-cifar .*--stall-dir $dir/dumps"; }
# Puts the time before every line.
stamp() { while IFS= read -r line || [ -n "$line" ]; do printf '%s %s\n' "$EPOCHREALTIME" "$line"; done; }
# The time of the first line that matches, or nothing.
time_of() { grep -aE -m 1 -e "$1" "$dir/out" | cut -d ' ' -f 1; }
# For how long the machine let the others stand still, at most: it does not count as time without progress.
stood_still() { # VICTIM
    sed -n 's/.*rank \([0-9]*\): warning: this process did not run for \([0-9.]*\) s.*/\1 \2/p' "$dir/out" |
        awk -v victim="$1" '$1 != victim { s[$1] += $2 } END { for (r in s) if (s[r] > most) most = s[r]; print most + 0 }'
}
within() { # SECONDS FROM TO
    awk -v limit="$1" -v from="$2" -v to="$3" 'BEGIN { exit !(to - from <= limit) }'
}

# The same where layers are divided, updates, or codes: other groups, or more collectives, may be the first to miss a rank.
shared_pattern() { # KIND RANK NUMBER TENSOR
    case $1 in
    stop | orphan) echo "error: .*collective #[0-9]+ \"[^\"]*\"( of [^:]*)?: rank $2 does not answer" ;;
    resize) # of parts with lengths of their own, the rank sees for itself that these do not add up
        echo "$(pattern "$@")|rank $2: error: [a-z-]+: the counts add up to" ;;
    *) pattern "$@" ;;
    esac
}

# The same of messages, which each edge numbers. The message that a swap waits for may wait for the one it
# holds back.
message_pattern() { # KIND RANK
    case $1 in
    swap) echo "$(message_pattern resize $2)|$(message_pattern stall $2)" ;;
    stall) echo "error: .*message #[0-9]+ \"[^\"]*\" of edge [^:]*: rank $2 is ready for it" ;;
    skip) # a message that is left out is missed by the next one on its edge; the last of a step has none, and its receiver waits
        local last
        last=$(sed -nE 's/.*TUTTI_FAULT: skip at message .*[.]send", #([0-9]+) of its edge.*/\1/p' "$dir/out")
        if [ $((${last:-0} % micro_batches)) = $((micro_batches - 1)) ]; then
            echo "(warning|error): .*message #$last (\"[^\"]*\" )?of edge [0-9]+ from rank $2 to rank [0-9]:"
        else
            message_pattern resize $2
        fi ;;
    resize) echo "error: .*messages differ \(number [0-9]+ on edge [0-9]+ from rank [0-9] to rank [0-9]\).*[:;] rank $2: #" ;;
    stop | orphan) echo "error: .*message #[0-9]+ \"[^\"]*\" of edge [^:]*: rank $2 does not answer" ;;
    *) pattern "$1" "$2" 0 '' ;;
    esac
}

# The line that must name the fault. A rank that stops is missed in the oldest collective that it had not ended, which is
# the one of the fault or, with several in flight, one of those just before it.
pattern() { # KIND RANK NUMBER TENSOR
    local older number who="[:;] rank $2: #" what="'$4'"
    local differs="error: .*collectives differ.*($who.*$what|$what.*$who)"
    for ((number = $3 - 16; number < $3; number++)); do older+="#$number|"; done
    case $1 in
    skip) # of the order that is agreed on, the rank sees for itself that it has none
        [ "$4" != order ] || differs+="|error: .*collective #$3 \"order\": rank $2 received no order"
        echo "$differs" ;;
    extra | resize) echo "$differs" ;;
    swap) echo "$differs|error: .*collective #$3 \"$4\": rank $2 " ;;
    delay) # an order, which its sender and others may have ended already, holds back what comes after it
        local held="warning: .*: rank $2 .*blocked by collective #$3 \"$4\", which comes first"
        echo "warning: .*collective #$3 \"$4\": rank $2 |$held" ;;
    stop | orphan) echo "error: .*collective ($older#$3) \"[^\"]*\": rank $2 does not answer" ;;
    kill) # the launcher sees it first, in a line or two on one of its two streams; MPICH's does not say which rank
        if [ "$mpi" = hydra ]; then echo "EXIT CODE: 9"; else echo "process rank $2 .*exited on"; fi ;;
    esac
}

# run_once KIND RANK NUMBER DESIGN WIRE LAYOUT: output with times in $dir/out; status, ended.
run_once() {
    local do=$1 ranks=3 number=collective=$3 cut=()
    case $6 in
    stages) number=message=$3 cut=(--layout stages=3 --batch 8 --micro-batches $micro_batches) ;;
    split) ranks=4 cut=(--layout replicas=4,split=2 --micro-batches 2) ;;
    sharded) cut=(--strategy sharded) ;;
    servers) number=message=$3 cut=(--layout servers=1) ;;
    everywhere) number=message=$3 cut=(--layout servers=all) ;;
    gossip) number=message=$3 cut=(--strategy gossip:ring) ;;
    codes) cut=(--compress onebit) ;;
    esac
    local launcher=("$mpirun" -np $ranks)
    case $1 in
    delay) do=delay:$((3 * slow)) ;;
    orphan) # a rank is killed and the launcher lets the others go on: they find out by themselves
        do=kill launcher+=("$(launch_keep_going "$mpi")") ;;
    esac
    # After a kill mpirun itself may stand still (see tutti-run), which is counted; tutti-run tells of ranks that are left.
    [ $do != kill ] || launcher=("$apps/tutti-run" --max-restarts 0 --linger $((2 * slow)) "${launcher[@]}")
    TUTTI_FAULT=rank=$2,$number,do=$do "${launcher[@]}" "$apps/tutti-cifar" "${run[@]}" "$dir/dumps" --design "$4" --wire "$5" "${cut[@]}" 2>&1 |
        stamp > "$dir/out"
    status=${PIPESTATUS[0]}
    ended=$EPOCHREALTIME
}

# What a run must not leave behind.
check_left() { # WHAT
    if grep -q 'tutti-run: mpirun still runs .* after its last process ended' "$dir/out"; then
        stood=$((stood + 1))
    elif grep -Eq 'tutti-run: (killing|removing) what is left' "$dir/out"; then
        fail "$1: left behind"
    fi
    [ -z "$(ranks_left)" ] || { fail "$1: left behind: $(ranks_left)"; kill -KILL $(ranks_left); }
    [ -z "$(ls "$shared")" ] || { fail "$1: left in /dev/shm: $(ls "$shared")"; rm -rf "${shared:?}"/*; }
    [ -z "$(ls "$dir/session")" ] || { fail "$1: left: $(find "$dir/session")"; rm -rf "$dir"/session/*; }
}

stood=0
# goes_wrong KIND: runs with a fault of this kind at a random place, and checks what came of it.
goes_wrong() {
    local kind=$1 victim=$((RANDOM % 3)) number=$((42 + RANDOM % 48)) design=${designs[RANDOM % ${#designs[@]}]}
    local wire=${wires[RANDOM % ${#wires[@]}]}
    local layout=${layouts[RANDOM % ${#layouts[@]}]}
    case $kind in extra | delay) layout=replicas ;; esac # there are no extra messages; a delay is passed on from edge to edge
    # What a message that is left out or held back keeps others from is told of these first, which names other ranks.
    case $kind,$layout in skip,servers | skip,everywhere | skip,gossip | swap,servers | swap,everywhere | swap,gossip) layout=stages ;; esac
    case $layout in servers | everywhere | gossip | codes) wire=f32 ;; esac
    local what="$1 on rank $victim at #$number, $design, $wire, $layout" limit=$((abort + margin)) before=$failures told tensor reported
    [ "$kind" = delay ] && limit=$((warn + margin))
    for try in 1 2 3; do # a machine that is busy may be too slow to set up within the limits
        run_once "$kind" $victim $number "$design" "$wire" "$layout"
        told=$(time_of 'TUTTI_FAULT: [a-z]+ at (collective|message)')
        [ -n "$told" ] && break
        echo "$what: set-up took too long (try $try)"
    done
    tensor=$(sed -nE 's/.*TUTTI_FAULT: [a-z]* at (collective|message) [0-9]* "([^"]*)".*/\2/p' "$dir/out")
    case $layout in
    stages | servers | everywhere | gossip) reported=$(time_of "$(message_pattern "$kind" $victim)") ;;
    split | sharded | codes) reported=$(time_of "$(shared_pattern "$kind" $victim $number "${tensor//./\\.}")") ;;
    *) reported=$(time_of "$(pattern "$kind" $victim $number "${tensor//./\\.}")") ;;
    esac
    if [ -z "$told" ]; then
        fail "$what: the fault did not happen"
    elif [ -z "$reported" ]; then
        fail "$what: not reported as it should: rank $victim, $tensor"
    else
        limit=$(awk -v l="$limit" -v s="$(stood_still $victim)" 'BEGIN { print l + s }')
        within "$limit" "$told" "$reported" || fail "$what: reported after more than $limit s"
        [ "$kind" = delay ] || within "$(awk -v l="$limit" -v e="$end" 'BEGIN { print l + e }')" "$told" "$ended" || fail "$what: the end came late"
    fi
    case $kind in
    delay) [ "$status" = 0 ] || fail "$what: status $status" ;;
    orphan) ;; # a launcher that lets the others go on returns 0 whatever they do
    *) [ "$status" != 0 ] || fail "$what: status 0" ;;
    esac
    check_left "$what"
    if [ "$failures" = "$before" ]; then
        echo "$kind" >> "$dir/passed"
    else
        cat "$dir/out"
    fi
}

# Each case draws from a seed of its own, so that it is the same whatever runs beside it.
run_lane() { # LANE: its share of the cases
    open_places "$1"
    for ((i = $1; i < rounds * ${#kinds[@]}; i += lanes)); do
        RANDOM=$((seed + i))
        goes_wrong "${kinds[i % ${#kinds[@]}]}"
    done
    echo "$failures $stood" > "$dir/counts"
}
for ((lane = 0; lane < lanes; lane++)); do run_lane "$lane" > "$dir/said.$lane" 2>&1 & done
wait
for ((lane = 0; lane < lanes; lane++)); do
    cat "$dir/said.$lane"
    if read -r failed stopped 2> /dev/null < "$dir/$lane/counts"; then
        failures=$((failures + failed)) stood=$((stood + stopped))
    else
        fail "lane $lane has not come to its end"
    fi
done
for kind in "${kinds[@]}"; do
    echo "$kind: $(cat "$dir"/*/passed 2> /dev/null | grep -cx "$kind") of $rounds named in time"
done
echo "$stood times mpirun stood still after a kill, and was ended"
finish
