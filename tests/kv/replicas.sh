#!/bin/bash
# Every key on two servers, between jobs: one that dies, whichever it is, changes no bit of what clients pull, though they push ahead
# of their pulls; two that follow each other end the run; and what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
. "$TUTTI_SRCDIR/tests/kv/lib.sh"

export TUTTI_KV_SERVER_REPLICAS=2
for dead in 0 2; do # of three: the bits are those of the oracle
    run 3 2 1 survive sync 100
    comes client:1 stepping
    comes client:0 stepping
    dies server:$dead
    unset "job[server:$dead]"
    all_end well
    next=$(((dead + 1) % 3))
    says client:0 "server $dead of 3 has closed the connection: server $next continues with its keys"
    says server:$next "server $dead is lost: server $next, which has the same keys, continues"
    [ "$(cat "$dir"/server:* | grep -c 'is lost')" = 1 ] || fail "the death is told more than once"
done

run 2 2 1 survive sync 100000 # both
comes client:1 stepping
comes client:0 stepping
dies server:1
comes client:0 'server 0 continues'
dies server:0
ends client:0 badly
ends client:1 badly
says client:0 'server 0 of 2 .*, after server 1: no server has the keys of both, and the run ends'

# one that dies before the last client has come: there is nothing to go on from, and no job waits for ever
servers=2 clients=2 job=() timeout=$TUTTI_KV_TIMEOUT
rm -f "$dir"/server:* "$dir"/client* "$dir"/meet*
export TUTTI_KV_SERVERS=2 TUTTI_KV_CLIENTS=2 TUTTI_KV_TIMEOUT=$((6 * slow))
for role in server:0 server:1 client:0; do start $role 1 survive sync 100; done
for role in server:0 server:1; do comes $role 'client 0 is here'; done
dies server:0
unset "job[server:0]"
TUTTI_KV_TIMEOUT=$((2 * slow)) start client:1 1 survive sync 100
all_end badly
says client:1 'server 0 of 2 cannot be reached within'
says server:1 'client 1 has not come within'
says client:0 'server 1 ends the run'
export TUTTI_KV_TIMEOUT=$timeout

# ---- what is refused

run 2 1 1 survive async 5 # a type whose sums have no order
all_end badly
says client:0 'server_replicas is 2, but the type is not sync'
run 1 1 1 survive sync 5
all_end badly
says server:0 'TUTTI_KV_SERVER_REPLICAS is 2, but there is one server'
servers=2 clients=1 job=()
export TUTTI_KV_SERVERS=2 TUTTI_KV_CLIENTS=1
start server:0 2 survive sync 5
ends server:0 badly
says server:0 'server_replicas is 2, but this job has 2 servers'
start server:0 1 survive sync 5
comes server:0 'listens on 127'
TUTTI_KV_SERVER_REPLICAS=1 start client:0 1 survive sync 5
ends client:0 badly
says client:0 'keys have 2 copies here, you want 1: give all jobs the same server replicas'
kill "${job[server:0]}"
ends server:0 badly
"$mpirun" -np 2 "$program" survive 1 1 sync 5 > "$dir/one" 2>&1 && fail "one mpirun has replicas"
says one 'TUTTI_KV_SERVER_REPLICAS is 2, but one mpirun ends when a server dies'
finish
