#!/bin/bash
# tutti-bench channel compares all bytes and times every way of the table; a program takes gRPC's place, and gRPC itself where it
# is installed. tutti-bench peers compiles it whole or not at all.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
times() { # RANKS OPTION...: status returned, output in $dir/out
    local ranks=$1
    shift
    "$mpirun" -np "$ranks" "$apps/tutti-bench" channel --blocks 1 --block-s 0.001 --from 4096 --to 1048576 --factor 256 "$@" > "$dir/out" 2>&1
}
# As channel_grpc is: FALSE_GRPC says how it goes wrong.
mkdir "$dir/grpc"
cat > "$dir/grpc/channel_grpc" << 'END'
#!/bin/bash
if [ "$1" = serve ]; then
    echo '{"event": "ready", "about": "false gRPC", "port": 7}'
    exec cat
fi
echo "{\"event\": \"ready\", \"about\": \"false gRPC, $1\"}"
while read -r bytes rounds how; do
    [ "$rounds" -gt 0 ] && [[ $bytes =~ ^(4096|65536|1048576)$ ]] && [[ $how =~ ^(check|hand|read)$ ]] || exit 1
    [ "${FALSE_GRPC:-} $how" != 'other-bytes check' ] || { echo 'the server has received other bytes' >&2; exit 1; }
    echo '{"event": "block", "step_ms": 100.0, "cpu_s": 0.5}'
done
END
chmod +x "$dir/grpc/channel_grpc"

fabric=fabric # unless this build has no libfabric
times 2 --grpc "$dir/grpc" --json "$dir/json" || { fail "status $?"; cat "$dir/out"; }
grep -q 'this build has no libfabric' "$dir/out" && fabric=
for bytes in 4096 1048576; do
    for way in shm tcp $fabric mpi rpc 'shm, written there' 'false gRPC, tcp' 'false gRPC, unix'; do
        grep -q "^ *$bytes $way  *[0-9.]* " "$dir/out" || fail "no $way of $bytes bytes"
        for use in handover read; do
            grep -q "\"event\":\"channel\",\"name\":\"$way\",\"kind\":\"$use\",\"bytes\":$bytes,\"us\":[0-9.]*,\"over_shm\":" "$dir/json" ||
                fail "no $use of $way, $bytes bytes"
        done
    done
done
grep -q '"name":"false gRPC, tcp".*"us":100000.0,' "$dir/json" || { fail "what gRPC's program says"; cat "$dir/out" "$dir/json"; }

times 2 && grep -q 'no gRPC: tutti-bench peers --package grpc --install DIR builds it' "$dir/out" || { fail "without gRPC"; cat "$dir/out"; }
grep -q 'gRPC, ' "$dir/out" && fail "a row of gRPC without gRPC"
FALSE_GRPC=other-bytes times 2 --grpc "$dir/grpc"
[ $? = 1 ] && grep -q 'the peer program ended' "$dir/out" || { fail "gRPC with other bytes"; cat "$dir/out"; }
refuses 2 '3 ranks: start it on two ranks, with tutti-run -n 2' times 3
refuses 2 '1 rank: start it on two ranks' times 1
refuses 2 "grpc $dir: the folder has no channel_grpc: tutti-bench peers --package grpc --install" times 2 --grpc "$dir"

# On two hosts, what goes over the network.
if [ "$(id -u)" = 0 ] && command -v ip tc > /dev/null && ip netns add "probe$$" 2> /dev/null; then
    ip netns del "probe$$"
    "$apps/box/tutti-box" run --hosts 2 "$apps/tutti-bench" channel --blocks 1 --block-s 0.001 --from 65536 --to 65536 \
        --grpc "$dir/grpc" --json "$dir/json" > "$dir/out" 2>&1 || fail "two hosts: status $?"
    for way in tcp $fabric mpi 'false gRPC'; do
        grep -q "^ *65536 $way .* [0-9.]*\$" "$dir/out" || fail "two hosts: no $way: $(cat "$dir/out")"
    done
    grep -q '"event":"channel_cpu","name":"false gRPC","bytes":65536,"cpu_s_per_gb":7629.' "$dir/json" || fail "two hosts: what gRPC's program says"
    grep -q '65536 shm' "$dir/out" && fail "two hosts: shared memory"
else
    echo "left out: two hosts: needs root, iproute2 and network namespaces"
fi

# Compiling, with a false compiler: FALSE_FAULT says what goes wrong.
mkdir "$dir/bin"
cat > "$dir/bin/pkg-config" << 'END'
#!/bin/sh
[ "$FALSE_FAULT" != no-library ]
END
cat > "$dir/bin/c++" << 'END'
#!/bin/sh
[ "$FALSE_FAULT" != error ] || { echo 'error: how odd' >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n[ "$1" = --probe ] && [ "$FALSE_FAULT" != no-run ]\n' > "$2" && chmod +x "$2" && [ -s "$3" ]
END
chmod +x "$dir/bin/"*
compiles() { PATH=$dir/bin:$PATH "$apps/tutti-bench" peers --package grpc --install "$dir/new" > "$dir/out" 2>&1; }
left() { ls -d "$dir"/new* 2> /dev/null | grep -v '\.log$'; }
for fault in 'no-library no compiler, or no gRPC: apt-get install g++ pkg-config libgrpc++-dev' 'error the compiler failed: see .*/new.log' \
    'no-run channel_grpc that was compiled does not run here'; do
    FALSE_FAULT=${fault%% *} refuses 1 "${fault#* }" compiles
    left && fail "${fault%% *} leaves something"
done
compiles && grep -q "use it with tutti-bench channel --grpc $dir/new" "$dir/out" && [ -x "$dir/new/channel_grpc" ] && [ "$(left)" = "$dir/new" ] ||
    { fail "compiling"; cat "$dir/out"; }
refuses 2 'it exists already: remove it' compiles
rm -r "$dir/new" && mkdir "$dir/new.part" && touch "$dir/new.part/mine"
refuses 2 'new.part exists, and is not left from an installation' compiles
rm -r "$dir/new.part"

# gRPC itself.
if command -v c++ > /dev/null && pkg-config --exists grpc++ 2> /dev/null; then
    "$apps/tutti-bench" peers --package grpc --install "$dir/real" > "$dir/out" 2>&1 && times 2 --grpc "$dir/real" &&
        grep -q '1048576 gRPC [0-9.]*, unix ' "$dir/out" || { fail "gRPC"; cat "$dir/out"; }
    sleep 0.2
    [ -z "$(ps -eo stat,args | grep "$dir/real/channel_gr[p]c" | grep -v '^Z')" ] || fail "gRPC's processes are left"
else
    left_out "gRPC itself" "libgrpc++-dev is not installed"
fi
finish
