#!/bin/bash
# tutti-bench kv: values and bytes are right for several numbers of servers and clients, the bytes of servers fall as clients /
# workers, as MPI counts them, too; a peer takes turns; wrong options are refused on all ranks; the results can be drawn.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
unset TUTTI_PEER_MXNET

benches() { # RANKS OPTION...
    local ranks=$1
    shift
    "$mpirun" -np "$ranks" "$apps/tutti-bench" kv --blocks 1 --block-s 0.001 "$@" > "$dir/out" 2>&1
}

# A peer that says what it is asked for, and takes 8 ms a round.
cat > "$dir/peer" << 'END2'
#!/bin/sh
echo "$*" >> "$0.called"
echo "{\"event\": \"ready\", \"about\": \"false\"}"
while read -r line; do
    echo "$line" >> "$0.asked"
    echo '{"event": "block", "step_ms": 8.0}'
done
END2
chmod +x "$dir/peer"
benches 4 --servers 0,1,2 --clients 1,2 --from 1048576 --to 1048576 --keys 2 --link-mbit 1000 --peer "$dir/peer" \
    --peer-variants sync,async-b100-p2 --json "$dir/json" --csv "$dir/csv" || { fail "status $?"; cat "$dir/out"; }

# bytes OP SERVERS CLIENTS KEY WAY: of servers, in --json.
bytes() {
    sed -n "s/.*\"name\":\"sync, $2 servers\{0,1\}, $3 clients\{0,1\}\",\"op\":\"$1\".*\"bytes\":$4,.*\"server_$5_bytes\":\([0-9]*\).*/\1/p" "$dir/json"
}
for servers in 1 2; do
    for clients in 1 2; do
        [ "$(bytes push $servers $clients 1048576 in)" = $((clients * 2 * 1048576)) ] || fail "push, $servers servers, $clients clients"
        [ "$(bytes pull $servers $clients 1048576 out)" = $((clients * 2 * 1048576)) ] || fail "pull, $servers servers, $clients clients"
        [ "$(bytes pull $servers $clients 1048576 in)" = 0 ] || fail "a pull that pushes"
    done
done
[ "$failures" = 0 ] || cat "$dir/json"
grep -q '"kind":"peer","name":"MXNet async-b100-p2, 2 servers","op":"pushpull"' "$dir/json" || fail "a peer's row"
grep -q '"name":"sync, 1 server, 2 clients","op":"push".*"over_peer_name":"MXNet sync, 1 server"' "$dir/json" || fail "which peer"
grep -q '"limit_ms":' "$dir/json" || fail "no limit"
grep -q -- '--role server --keys 2 --variant async-b100-p2' "$dir/peer.called" || { fail "what peers are told"; cat "$dir/peer.called"; }
grep -c -- '--with-scheduler' "$dir/peer.called" | grep -qx 4 || fail "schedulers"
grep -q '^pushpull 1048576 [0-9]*$' "$dir/peer.asked" || fail "what a peer is asked for"
[ "$(grep -c ',kv,store,' "$dir/csv")" = 27 ] || fail "--csv"
[ "$(cut -d , -f 5- "$dir/csv" | sed 's/,[^,]*$//' | sort | uniq -d | wc -l)" = 0 ] || { fail "rows of --csv that are alike"; cat "$dir/csv"; }
grep -q ',kv,store,.*,ms,pushpull,,,1,[0-9.]*$' "$dir/csv" || { fail "op in --csv"; cat "$dir/csv"; }
"$apps/tutti-bench" plot --json "$dir/json" --svg "$dir/svg" && grep -q 'bytes of a key' "$dir/svg" || fail "the picture"

# MPI itself counts the same, where this Open MPI can count: 2 workers of one client send the server half of what 2 clients do.
sends() { # CLIENTS: bytes that workers 0 and 1 have sent to the server, rank 2
    rm -f "$dir"/sent.*
    "$mpirun" -np 3 --mca pml ob1,monitoring --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$dir/sent" "$apps/tutti-bench" kv --types sync --clients "$1" --from 1048576 --to 1048576 --keys 1 \
        --blocks 1 --block-s 0.001 > "$dir/out" 2>&1
    cat "$dir"/sent.[01].prof 2> /dev/null | awk '$1 == "E" && $3 == 2 { sent += $4 } END { print sent + 0 }'
}
one=$(sends 1) two=$(sends 2)
# two stores (to plan, and the block) of a first value; of one client 1 + 4 rounds that push, and 4
if [ "$two" != 0 ]; then
    awk -v one="$one" -v two="$two" -v n=1048576 'BEGIN { a = (one - 2 * n) / n; b = (two - 2 * n) / n; exit !(b > 1.98 * a && b < 2.02 * a && a > 8.9 && a < 9.2) }' ||
        fail "MPI counts $one bytes of one client, and $two of two"
elif [ "$mpi" = openmpi4 ]; then # which can
    fail "MPI counts nothing of what clients send"
    cat "$dir/out"
else
    left_out "what clients send, as MPI counts it" "this MPI does not count"
fi

refuses 2 'no rank is left to work' benches 3 --servers 3
refuses 2 'cannot form so many groups of equal size' benches 3 --clients 3
refuses 2 'must be sync, async or bounded:S' benches 3 --types slow
refuses 2 'without servers there is the type sync alone' benches 3 --servers 0 --types async
refuses 1 'no such folder or program; tutti-bench peers --package mxnet --install makes a folder' benches 3 --peer "$dir/nowhere"
refuses 2 'must be up to 8 whole numbers above 0, or workers' benches 3 --clients 0
finish
