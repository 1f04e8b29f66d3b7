#!/bin/bash
# tutti-box: ranks on hosts of their own, links with the rates asked for, boxes side by side, and nothing left behind however
# a run ends. Needs root and network namespaces; skipped elsewhere.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
box=$apps/box/tutti-box
a=ta$$ b=tb$$

"$box" --help | grep -q 'Link options' || fail "--help"
refuses 2 'no such command' "$box" sideways
refuses 2 'run what' "$box" run
refuses 2 '--rate fast' "$box" run --rate fast true
refuses 2 '--hosts 0' "$box" run --hosts 0 true
refuses 2 'must be 1 to 2' "$box" run --host 3:up=1gbit true
refuses 2 'speed is not' "$box" run --host 1:speed=1gbit true
refuses 2 'no such option' "$box" run --nothing 1 true
refuses 2 'made of a-z' "$box" up A

refuses 2 'neither known nor a file' "$box" run --topology nowhere:3 true
refuses 2 '--rate does not go with it' "$box" run --topology star:3 --rate 1gbit true
refuses 2 'device h0.g0: a box has hosts' "$box" run --topology dgx-2 true
printf '%s\n' 'topology 1' 'host h[0-1]' 'switch s rate 1GB/s' 'link h[0-1] s rate 1GB/s' 'ranks h[0-1]' > "$dir/switch"
refuses 2 'switch s has a rate in all' "$box" run --topology "$dir/switch" true
printf '%s\n' 'topology 1' 'host h[0-1]' 'link h0 h1 rate 1GB/s' 'ranks h0 h1 h1 h0' > "$dir/mixed"
refuses 2 'in turns or in equal blocks, not like this: 1 2 2 1' "$box" run --topology "$dir/mixed" true

if [ "$(id -u)" != 0 ]; then
    refuses 1 'needs root' "$box" list
    echo "skipped: only root has network namespaces"
    skip
fi
if ! command -v ip > /dev/null || ! command -v tc > /dev/null; then
    refuses 1 'apt-get install iproute2' "$box" list
    echo "skipped: no iproute2"
    skip
fi
if ! ip netns add "probe$$" 2> /dev/null; then
    echo "skipped: no network namespaces here"
    skip
fi
ip netns del "probe$$"
trap '"$box" down "$a" 2> /dev/null; "$box" down "$b" 2> /dev/null; rm -rf "$dir"' EXIT

# Without the programs it needs, it says which package has them.
mkdir "$dir/bin"
for program in bash sh cat id awk; do ln -s "$(command -v $program)" "$dir/bin/$program"; done
env PATH="$dir/bin" "$box" list > "$dir/out" 2>&1
grep -q 'apt-get install iproute2' "$dir/out" || fail "a missing program: $(cat "$dir/out")"

# Namespaces and state of a box that is gone: none.
gone() { # NAME
    ! ip netns list | grep -q "tutti-$1-" && [ ! -e "/run/tutti-box/$1" ]
}

# What cannot be built has the status 1, whatever tc's is, and leaves nothing; nor does a run without a temporary folder begin.
mkdir "$dir/fails"
printf '#!/bin/sh\necho no tc >&2\nexit 2\n' > "$dir/fails/tc" && chmod +x "$dir/fails/tc"
PATH=$dir/fails:$PATH refuses 1 'no tc' "$box" up "$a" --hosts 1
gone "$a" || fail "a box that cannot be built leaves something behind"
"$box" up "$a" --hosts 1 || fail "up: status $?"
PATH=$dir/fails:$PATH refuses 1 'no tc' "$box" shape "$a"
TMPDIR=$dir/none refuses 1 'no temporary folder can be created' "$box" run --name "$a" true
"$box" down "$a"

# Four ranks on two hosts, in turns; the exit status is the command's. A second each: tutti-box(1), Open MPI 5.
"$box" run --hosts 2 -n 4 sh -c 'echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} on $(cat /proc/sys/kernel/hostname | sed s/.*-//)"; sleep 1' \
    > "$dir/out" 2>&1 || fail "run: status $?: $(cat "$dir/out")"
[ "$(grep ' on ' "$dir/out" | sort | paste -sd,)" = "0 on 1,1 on 2,2 on 1,3 on 2" ] || fail "ranks on hosts: $(cat "$dir/out")"
[ "$("$box" run --hosts 1 sh -c 'cat /proc/sys/net/ipv4/tcp_congestion_control; sleep 1')" = reno ] || fail "TCP in a box is the machine's"
"$box" run --hosts 1 sh -c 'sleep 1; exit 7' > "$dir/out" 2>&1
[ $? = 7 ] || fail "the status of a command that fails"

# pump FROM TO BYTES: Mbit/s of a TCP stream between two hosts of box a.
pump() {
    "$box" exec "$a" "$2" perl -MIO::Socket::INET -MTime::HiRes=time -e '
        my $s = IO::Socket::INET->new(Listen => 1, LocalPort => 7777, ReuseAddr => 1, Timeout => 20) or die;
        my $c = $s->accept or die; my ($n, $x, $start) = (0);
        while (my $got = sysread $c, $x, 65536) { $start //= time; $n += $got }
        printf "%.1f\n", 8e-6 * $n / (time - $start)' > "$dir/pump" &
    local listener=$!
    for _ in $(seq 50); do "$box" exec "$a" "$2" sh -c 'grep -q ":1E61 00000000:0000 0A" /proc/net/tcp' && break; sleep 0.1; done
    "$box" exec "$a" "$1" perl -MIO::Socket::INET -e '
        my $c = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 7777) or die; print $c "x" x $ARGV[1]' "10.77.0.$2" "$3"
    wait $listener
    tail -n 1 "$dir/pump"
}
within() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x >= low && x <= high) }'; }

"$box" up "$a" --hosts 3 --rate none --host 1:up=20mbit --host 2:down=none --host 3:down=10mbit || fail "up: status $?"
"$box" list | grep -q "^$a: 3 hosts, stays" || fail "list: $("$box" list)"
refuses 1 "a box $a already exists" "$box" up "$a"
slow=$(pump 1 2 3000000) down=$(pump 2 3 2000000) fast=$(pump 2 1 20000000)
within "$slow" 10 21 || fail "a link of 20 Mbit/s up gave $slow"
within "$down" 5 11 || fail "a link of 10 Mbit/s down gave $down"
within "$fast" 40 1e9 || fail "a link without rate gave $fast"
"$box" shape "$a" --rate 5mbit || fail "shape: status $?"
refuses 2 "keeps its number of hosts" "$box" shape "$a" --hosts 3
slow=$(pump 2 1 1000000)
within "$slow" 2.5 5.6 || fail "a link shaped to 5 Mbit/s gave $slow"

# A second box with the same addresses does not see the first.
"$box" up "$b" --hosts 1 || fail "a second box: status $?"
"$box" exec "$b" 1 perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => "10.77.0.3", PeerPort => 1, Timeout => 1) ? 0 : 9)'
[ $? = 9 ] || fail "box b reaches box a"
"$box" run --name "$b" sleep 1 || fail "run in a box that stays: status $?"
"$box" down "$b" || fail "down: status $?"
gone "$b" || fail "down leaves something behind"
[ -e "/run/tutti-box/$a" ] || fail "down took the other box, too"
"$box" down "$a"
gone "$a" || fail "down leaves something behind of 3 hosts"

# A topology: cables with rates of their own, and routes over hosts and switches; ranks where it has them.
printf '%s\n' 'topology 1' 'host h[0-2]' 'switch s' 'link h0 s rate 4MB/s' 'link s h1 rate 2MB/s count 2' 'link h1 h2 rate 1MB/s' \
    'ranks h[0-2]' > "$dir/line"
"$box" up "$a" --topology "$dir/line" || fail "up --topology: status $?"
"$box" list | grep -q 'link h1 h2  8000000bit' || fail "list: $("$box" list)"
[ "$("$box" exec "$a" h1 cat /proc/sys/kernel/hostname)" = "$a-2" ] || fail "exec: a host by its name"
"$box" exec "$a" s sh -c 'ip route get 10.77.0.3' | grep -q 'via 10.76.0.3 dev l1' || fail "the switch's route to h2"
near=$(pump 1 2 2000000) far=$(pump 3 1 1000000)
within "$near" 16 33 || fail "a way of two cables of 32 Mbit/s gave $near"
within "$far" 4 8.4 || fail "a way over a cable of 8 Mbit/s gave $far"
refuses 2 "links keep their rates" "$box" shape "$a" --rate none
refuses 2 "the topology of this box has 3 ranks" "$box" run --name "$a" -n 2 true
"$box" down "$a"
gone "$a" || fail "down leaves something behind of a topology"
printf '%s\n' 'topology 1' 'host h' 'ranks h' > "$dir/single"
"$box" up "$a" --topology "$dir/single" || fail "up --topology of one host: status $?"
"$box" list | grep -q "^$a: 1 hosts" || fail "list: $("$box" list)"
"$box" down "$a"
"$box" run --topology two-level:2x2 sh -c 'echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} on $(cat /proc/sys/kernel/hostname | sed s/.*-//)"; sleep 1' \
    > "$dir/out" 2>&1 || fail "run --topology: status $?: $(cat "$dir/out")"
[ "$(grep ' on ' "$dir/out" | sort | paste -sd,)" = "0 on 1,1 on 1,2 on 2,3 on 2" ] || fail "ranks in blocks: $(cat "$dir/out")"

# A topology is built, measured from inside, and read again: the rates are those that were built.
printf '%s\n' 'topology 1' 'host h[0-2]' 'switch s' 'link h[0-1] s rate 4MB/s' 'link h2 s rate 2MB/s' 'ranks h[0-2]' > "$dir/built"
"$box" run --topology "$dir/built" "$apps/tutti-doctor" --measure "$dir/measured" > "$dir/out" 2>&1 || fail "measuring a box: $(cat "$dir/out")"
rates=$("$apps/tutti-info" --topology "$dir/measured" |
    awk '$1 == "link" { print $5 * ($5 ~ /GB/ ? 1e3 : $5 ~ /kB/ ? 1e-3 : 1) }' | paste -sd' ')
read -r one two three <<< "$rates"
for rate in "$one" "$two"; do within "${rate:-0}" 3.2 4.2 || fail "links of 4 MB/s are measured as $rate: $rates"; done
within "${three:-0}" 1.6 2.1 || fail "a link of 2 MB/s is measured as $three"
"$apps/tutti-info" --prices "$dir/measured" > "$dir/out" || fail "prices of what was measured: status $?"
# Of two levels, hosts with several ranks: their ranks, the memory of each host, and the slower end of the only way.
printf '%s\n' 'topology 1' 'host h[0-1]' 'switch s' 'link h0 s rate 16MB/s' 'link s h1 rate 8MB/s' 'ranks h0 h0 h1 h1' > "$dir/levels"
"$box" run --topology "$dir/levels" "$apps/tutti-doctor" --measure "$dir/two" > "$dir/out" 2>&1 || fail "measuring two levels: $(cat "$dir/out")"
grep -q 'has the links of 2 hosts, as 4 ranks have measured them$' "$dir/out" || fail "two levels: $(cat "$dir/out")"
"$apps/tutti-info" --topology "$dir/two" > "$dir/out"
grep -qE '^ranks ([^ ]+-1) \1 ([^ ]+-2) \2$' "$dir/out" && grep -q '^kind .* memory [0-9.]*[MG]B/s' "$dir/out" || fail "ranks of two levels: $(cat "$dir/out")"
rates=$(awk '$1 == "link" { print $5 * ($5 ~ /MB/) }' "$dir/out" | paste -sd' ')
for rate in ${rates:-0}; do within "$rate" 6.4 8.4 || fail "a way of 8 MB/s is measured as $rate"; done
# A square with unequal cables is no star: the hosts that agree least with one are named.
printf '%s\n' 'topology 1' 'host h[0-3]' 'link h0 h1 rate 32MB/s' 'link h1 h2 rate 16MB/s' 'link h2 h3 rate 16MB/s' 'link h3 h0 rate 4MB/s' \
    'ranks h[0-3]' > "$dir/square"
"$box" run --topology "$dir/square" "$apps/tutti-doctor" --measure "$dir/four" > "$dir/out" 2>&1 || fail "measuring a square: $(cat "$dir/out")"
grep -qE 'as 4 ranks have measured them: [^ ]+-[12] and [^ ]+-4 exchange [0-9.]+ MB/s, where their links let [0-9.]+ through: describe' "$dir/out" ||
    fail "a square is said to be a star: $(cat "$dir/out")"
# Trees are packed in what was measured, and sums go along them in the box that was built.
"$apps/tutti-trees" "$dir/measured" --allreduce --output "$dir/forest" > "$dir/out" || fail "trees of what was measured: status $?"
"$box" run --topology "$dir/built" "$apps/tutti-bench" allreduce --algorithm "forest:$dir/forest" --from 4 --to 4000 --factor 1000 \
    --blocks 1 --block-s 0.01 > "$dir/out" 2>&1 || fail "sums along trees of a box: $(cat "$dir/out")"

# Ended by a signal, a run leaves nothing; killed, its box is told to be left over, and removed on request.
started() { # a run of `sleep` in the background: $runner, and $name of its box
    rm -f "$dir/up"
    "$box" run --hosts 2 sh -c 'echo > '"$dir/up"'; sleep 77' > /dev/null 2>&1 &
    runner=$! name=run$!
    for _ in $(seq 100); do [ -e "$dir/up" ] && break; sleep 0.1; done
    pids=$(ip netns pids "tutti-$name-2")
    [ -n "$pids" ] || fail "nothing runs on host 2 of $name"
}
dead() { # PID...: within a few seconds
    local pid
    for _ in $(seq 50); do
        for pid; do kill -0 "$pid" 2> /dev/null && { sleep 0.1; continue 2; }; done
        return 0
    done
    return 1
}
started
kill -TERM $runner
wait $runner
[ $? = 143 ] || fail "status after SIGTERM"
gone "$name" || fail "SIGTERM leaves a box behind"
# shellcheck disable=SC2086
dead $pids || fail "SIGTERM leaves processes behind"
started
kill -TERM $runner
sleep 0.25 # it cleans up
kill -TERM $runner 2> /dev/null
wait $runner
gone "$name" || fail "a second SIGTERM leaves a box behind"
# shellcheck disable=SC2086
dead $pids || fail "a second SIGTERM leaves processes behind"
started
kill -KILL $runner
wait $runner 2> /dev/null
"$box" list | grep -q "^$name: .* left over" || fail "list does not tell of a left-over box: $("$box" list)"
"$box" down --left-over
gone "$name" || fail "down --left-over leaves a box behind"
# shellcheck disable=SC2086
dead $pids || fail "down --left-over leaves processes behind"
finish
