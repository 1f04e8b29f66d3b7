#!/bin/bash
# A store of keys in every design that can serve: the bits of an oracle that adds in the order of clients, for several
# numbers of servers and clients; nothing lost or added twice without an order; clients that leave; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/kv/kv

kv() { "$mpirun" -np "$1" "$program" "${@:2}"; } # RANKS MODE SERVERS CLIENTS TYPE [OPTIMIZER]
runs() {
    local status=0
    kv "$@" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 0 ] || { fail "$*, ${TUTTI_DESIGN:-}: status $status"; head -20 "$dir/out" "$dir/err"; }
}

says() { grep -qF -- "$2" "$dir/$1" || { fail "$1 does not say: $2"; head -20 "$dir/$1"; }; }

export STARPU_NCPU=2 STARPU_WORKERS_NOBIND=1
runs 1 sync 0 0 sync # first: StarPU measures the machine once; two at a time meet in its files
# TUTTI_TEST_FEWER: one of the designs, and of the elastic stores.
designs=$(names overlapping) stores=('2 1 1 2' '3 1 2 1' '6 2 2 2') # ranks, servers, clients, period
[ -z "${TUTTI_TEST_FEWER:-}" ] || designs=${designs%%$'\n'*} stores=("${stores[1]}")
for design in $designs; do
    export TUTTI_DESIGN=$design
    runs 6 sync 2 2 sync add
    runs 5 counts 1 2 async
done
unset TUTTI_DESIGN
runs 4 sync 1 0 sync sgd:rate=0.25,momentum=0.5
runs 5 sync 2 3 bounded:0 assign
runs 3 sync 0 0 sync sgd:rate=0.25,momentum=0.5
TUTTI_VERIFY=full runs 4 sync 1 0 sync add
TUTTI_CHUNK_MB=0.01 runs 4 counts 2 0 async
TUTTI_ALGORITHM=mpi runs 3 counts 1 0 async
# What the clients gave the centre is what it got, exactly; the workers of a client gave the same.
conserves() {
    awk '/ gave key / { if (seen[$2, $5]++ ? $6 != was[$2, $5] : 0) { print "client " $2 " differs: " $0; bad = 1 }
             if (seen[$2, $5] == 1) { was[$2, $5] = $6; gave[$5] += $6 } }
         /^the centre got key / { n++; got[$5, n] = $6; key[n] = $5 }
         END { if (!n) { print "the centre is not told"; bad = 1 }
             for (i = 1; i <= n; i++) if (got[key[i], i] != gave[key[i]]) {
                 print "key " key[i] ": clients gave " gave[key[i]] ", the centre got " got[key[i], i]; bad = 1 }
             exit bad }' "$@" || fail "elastic: not conserved"
}
for elastic in "${stores[@]}"; do
    read -r ranks servers clients period <<< "$elastic"
    runs "$ranks" elastic "$servers" "$clients" "elastic:period=$period,alpha=0.5" 8
    conserves "$dir/out"
done
for type in sync async bounded:1; do runs 4 leaving 1 0 $type; done

# A store is closed as soon as it is open: what servers have said last reaches every worker, whatever is compared.
for type in sync async bounded:1 elastic; do
    for verify in off on; do TUTTI_VERIFY=$verify runs 4 nothing 2 0 $type; done
done
# Who has left is not waited for: neither a server that did not serve, nor a worker that did not close its store.
for verify in off on; do
    export TUTTI_VERIFY=$verify
    refuses 1 "server [01] of 2 has left: it has closed its store" kv 3 deserts 2 0 sync
    for type in sync async; do
        refuses 1 "tutti_kv_serve: worker 0 has left without closing its store" kv 3 quits 1 0 $type
    done
done
unset TUTTI_VERIFY
TUTTI_VERIFY=off refuses 1 "rank 1 has left, but rank 0 waits for one more message of edge 0" kv 2 abandoned 1 0 async
TUTTI_DESIGN=sequential runs 2 sync 0 1 sync add

for stages in '9 1 2' '6 2 2' '4 0 1'; do # ranks, servers, clients
    read -r ranks servers clients <<< "$stages"
    runs "$ranks" stages "$servers" "$clients" sync 2
done
says err "tutti_kv_push: key 1 belongs to another stage than this worker's: the workers of that stage push and pull it"
says err "tutti_kv_init_elsewhere: key 101: 0 elements: must be 1 or more"
says err "tutti_kv_set_priority: without servers the sums of a stage go in the order of its pushes, whatever their priority"

runs 3 waits 2 0 sync
runs 1 waits 0 0 sync
# 100 pushes and pulls of 280 kB, all at once, of two workers: with memory for each, the server would have 112 MB.
runs 2 counts 1 0 async
little=$(sed -n 's/^server: \([0-9]*\) kB$/\1/p' "$dir/out")
runs 3 ahead 1 0 async
much=$(sed -n 's/^server: \([0-9]*\) kB$/\1/p' "$dir/out")
[ -n "$little" ] && [ -n "$much" ] || fail "the server does not say its memory: '$little' and '$much' kB"
grep -q 'fsanitize=' "$TUTTI_BUILDDIR/Makefile" || # it keeps what was freed
    [ "$((much - little))" -lt 50000 ] || fail "the server takes $much kB instead of $little"

# A client that pushes too rarely for the others is named.
runs 3 rare 1 0 bounded:1
says err "in a pull of key 0, which it has pushed 3 times: this server waits for client 0 (worker 0), which has pushed it 1 times"

runs 3 refusals 1 0 sync
says err "optimizer \"sgd\": say which rate"
says err "tutti_kv_push: key 0 is unknown: make it with tutti_kv_init"
says err "tutti_kv_pull: key 1 is unknown: make it with tutti_kv_init"
says err "tutti_kv_push: key 0 has 10 elements, but the data have 11: pass data of the size that tutti_kv_init was given"
says err "tutti_kv_push: key 0: elements of the vector have 8 bytes, but TUTTI_F32 has 4"
says err "tutti_kv_init: key 0 exists: take another number, or push to it"
says err "tutti_kv_init: key 0: the optimizer adam does not take I32: make a key of TUTTI_F32"
says err "tutti_kv_init: key -1: must be 0 or more"
says err "tutti_kv_init_elsewhere: key 0: clients have one stage: set tutti_kv_options.stages, or call tutti_kv_init"
says err "keys have been made: call it before the first tutti_kv_init"
runs 2 crowded 1 0 sync
refuses 1 "sets a.*, but another has set a" kv 3 differ 1 0 sync
for type in sync async; do
    refuses 1 "worker 1 pushes a key without tutti_kv_set_optimizer, but another has set sgd" kv 3 partial 1 0 $type
done
runs 3 divided 0 0 sync
refuses 1 "tutti_kv_serve: worker 1 uses key number 0, which worker 0 has left without making: every worker must make the same keys" \
    kv 3 missed 1 0 sync
refuses 1 "servers is 3 of 3 ranks: must be from 0 to 2" kv 3 works 3 0 sync
refuses 1 "stages is 2, but a client has 3 workers: must be a divisor of these" kv 4 stages 1 1 sync 2
refuses 1 "stages is -1, but a client has 3 workers" kv 4 stages 1 1 sync -1
refuses 1 "clients is 2, but 3 workers cannot form that many groups" kv 4 works 1 2 sync
refuses 1 'type is "async", but without servers there is sync alone' kv 2 works 0 0 async
refuses 1 'type "slowly": must be sync, async, bounded:S' kv 2 works 1 0 slowly
refuses 1 'type "bounded:-1": must be sync, async, bounded:S, where S is how many pushes a client may be ahead' kv 2 works 1 0 bounded:-1
refuses 1 'type "elastic:period=0": must be sync, async, bounded:S, ' kv 2 works 1 0 elastic:period=0
refuses 1 'type elastic: with alpha=0.5 3 clients would push the centre past their mean: use alpha=0.333333 or less' kv 4 works 1 0 elastic:period=1,alpha=0.5
refuses 1 "servers is -1 of 2 ranks: must be from 0 to 1" kv 2 works -1 0 sync
TUTTI_DESIGN=sequential refuses 1 "the design sequential ends one collective before it begins the next" kv 2 works 1 0 sync
[ "$(grep -c '^open: unsupported$' "$dir/out")" = 2 ] || { fail "not all ranks refuse"; cat "$dir/out"; }
finish
