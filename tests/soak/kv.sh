#!/bin/bash
# Servers of keys, and clients that die and come back, for a long time: what was pushed is there, exactly, and the servers'
# memory, descriptors and threads stay flat.  kv.sh [PUSHES [DEATHS]]
# PUSHES in all (default 1500; make check-soak: 100000) by three clients, two of which die DEATHS times each (2).
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
pushes=${1:-1500} deaths=${2:-2}
soak=$TUTTI_BUILDDIR/tests/soak/kv
export MPIRUN=$mpirun STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 TMPDIR=$dir TUTTI_KV_TIMEOUT=$((30 * ${TUTTI_TEST_SLOWDOWN:-1}))
cat > "$dir/ranked" << DONE
#!/bin/bash
echo \$\$ > "$dir/pid.\$TUTTI_KV_ROLE.\$\$"
exec "$soak" "$dir" "\$@"
DONE
chmod +x "$dir/ranked"
"$mpirun" -np 1 "$TUTTI_BUILDDIR/tests/kv/kv" sync 0 0 sync > "$dir/measured" 2>&1 # StarPU measures the machine once

# A launcher may fail, too, before its rank has lived: there are more restarts than deaths.
"$apps/tutti-run" --servers 2 --clients 3 -n 3 --max-restarts $((2 * deaths + 3)) --pause 0 --output "$dir/said" \
    "$dir/ranked" $((pushes / 3)) "$deaths" 2> "$dir/err" &
run=$!

# kB, descriptors and threads of each process of the servers' job, five times a second
sample() {
    local file pid
    for file in "$dir"/pid.server:0.*; do
        pid=${file##*.}
        [ -r "/proc/$pid/status" ] || continue
        awk -v pid="$pid" -v fds="$(ls "/proc/$pid/fd" | wc -l)" '/^VmRSS/ { kb = $2 } /^Threads/ { threads = $2 }
            END { if (kb) print pid, kb, fds, threads }' "/proc/$pid/status"
    done 2> /dev/null
}
while kill -0 $run 2> /dev/null; do
    sample >> "$dir/samples"
    sleep 0.2
done
wait $run || fail "tutti-run: status $?"
[ "$failures" = 0 ] || { cat "$dir/err"; tail -n 15 "$dir"/said/*; finish; }

# The sum of what each client's lives have begun and know to be added, and what is there.
grep '^key' "$dir/said/client.0.log"
for client in 0 1 2; do
    for key in 0 1; do
        read -r lives begun added < <(awk -v at=$((2 * key + 1)) '{ n++; b += $at; a += $(at + 1) } END { print n, b, a }' \
            "$dir"/life.$client.*)
        [ $client = 0 ] || [ "$lives" = $((deaths + 1)) ] || fail "client $client has lived $lives times"
        for there in $(awk -v key=$key -v at=$((client + 4)) '$1 == "key" && $2 == key { print $at }' "$dir/said/client.0.log"); do
            echo "client $client, key $key: $lives lives, $begun pushes begun, $added known to be added, $there there"
            [ "$there" -ge "$added" ] && [ "$there" -le "$begun" ] || fail "client $client: $there pushes are there"
        done
    done
done
[ "$(grep -c '^key' "$dir/said/client.0.log")" = 3 ] || fail "not three parts"

# Flat: the most of the last quarter against the most of the second.
awk '{ n[$1]++; for (i = 2; i <= 4; i++) v[$1, n[$1], i] = $i }
    END { split("- kB descriptors threads", unit, " "); split("0 1024 2 0", slack, " ") # some come just now
        for (p in n) for (i = 2; i <= 4; i++) {
            early = late = 0; q = int(n[p] / 4)
            for (j = 1; j <= n[p]; j++) {
                x = v[p, j, i]
                if (j > q && j <= 2 * q && x > early) early = x
                if (j > 3 * q && x > late) late = x
            }
            print "server process " p ": " unit[i] " " early ", then " late
            if (late > early + slack[i]) { print "FAILED: " unit[i] " grow"; bad = 1 }
            if (q <= 2) { print "FAILED: only " n[p] " samples of process " p ": nothing is known of what grows"; bad = 1 }
        }
        exit bad || !length(n) }' "$dir/samples" || failures=$((failures + 1))
finish
