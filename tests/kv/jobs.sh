#!/bin/bash
# Servers and clients as jobs of their own: the oracle's bits in sync, counts without an order; a client that dies, returns
# or joins; a server that dies; and what is refused: another token, another number of clients, a port in use, a server
# that never comes; strangers at the door; what one client gets wrong, which is its own matter; meeting files that are not to be believed,
# or are left from an earlier server.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
. "$TUTTI_SRCDIR/tests/kv/lib.sh"

# ---- one meaning, two ways to start

for shape in '1 1 2' '1 2 1' '2 3 2'; do
    run $shape sync sync add
    all_end well
done
run 2 2 1 counts async
all_end well
run 2 2 4 stages sync 2
all_end well
run 1 3 1 leaving bounded:1
all_end well

# ---- what is urgent overtakes, on its way there and back

KV_STOP=$dir/stopped run 1 1 1 urgent async
comes client:0 ready
server=$(rank_of server:0)
kill -STOP "$server"
touch "$dir/stopped"
comes client:0 pushed
kill -CONT "$server"
all_end well

# ---- a client that keeps another waiting: both its server and the one that waits say so

run 1 2 1 rare bounded:1
all_end well
stalled='in a pull of key 0, which it has pushed 3 times: .*server.* waits for client 0 \(worker 0\), which has pushed it 1 times'
says server:0 "worker 1 has waited .* $stalled"
says client:1 "worker 1 waits $stalled"

# ---- deaths

KV_STOP=$dir/stop run 1 2 1 steps async 100000 # a client dies: the others go on; it returns, and one joins
comes client:1 stepping
dies client:1
comes server:0 'client 1 has died: its worker 1 on .* has closed the connection; the others continue'
start client:1 1 steps async 3
start client 1 steps async 3
ends client:1 well
ends client well
touch "$dir/stop"
says server:0 'client 1 is back'
says server:0 'client 2 joins'
says client:1 'stepping from [1-9]'
ends client:0 well
ends server:0 well

run 1 2 1 steps sync 100000 # in sync it ends the run
comes client:1 stepping
dies client:1
ends client:0 badly
ends server:0 badly
says server:0 'client 1 has died: .*: with sync the run cannot continue without it'
says client:0 'client 1 \(worker 1\) has died: server 0 ends the run'

run 2 2 1 steps bounded:2 100000 # a server
comes client:1 stepping
comes client:0 stepping
dies server:0
ends client:0 badly
ends client:1 badly
ends server:1 badly
says client:0 'server 0 of 2 .*: without it (server 1 ends )?the run'
says server:1 'has lost server 0: the run ends'

# A client that dies in a meeting has given the centre what it gave in those before, and nothing of this one.
servers=1 clients=2 job=()
rm -f "$dir"/server:* "$dir"/client* "$dir"/meet.*
export TUTTI_KV_SERVERS=1 TUTTI_KV_CLIENTS=2
start server:0 1 elastic elastic:period=1,alpha=0.5 4
start client:0 1 elastic elastic:period=1,alpha=0.5 4
start client:1 1 perish elastic:period=1,alpha=0.5 4
ends client:1 badly
says client:1 '^dying'
ends client:0 well
ends server:0 well
says server:0 'client 1 has died: '
gave=$(awk '/^client . gave key 0 / { sum += $6 } END { print sum }' "$dir/client:0" "$dir/client:1")
says client:0 "^the centre got key 0 $gave\$"

# ---- what one client sends is its own matter, but in sync

# fresh SERVERS CLIENTS TYPE: no job, and only what these begin
fresh() {
    servers=$1 clients=$2 job=()
    rm -f "$dir"/server:* "$dir"/client* "$dir"/meet.* "$dir"/stop
    export TUTTI_KV_SERVERS=$1 TUTTI_KV_CLIENTS=$2
}
export KV_STOP=$dir/stop
for type in async bounded:1 elastic; do
    fresh 1 1
    start server:0 1 steps $type 100000
    start client:0 1 steps $type 100000
    comes client:0 stepping
    start client 1 wide $type # a key of another size
    ends client badly
    says client 'server 0 refuses this client: worker 1 makes key 0 of 200 elements .* where others have made key 0 of 100'
    says server:0 'warning: client 1 is refused: worker 1 makes key 0 of 200 elements .*; the others continue'
    "$TUTTI_BUILDDIR/tests/kv/nonsense" "$dir/meet" 1 1 $type > "$dir/nonsense" 2>&1 || { fail "nonsense, $type"; cat "$dir/nonsense"; }
    touch "$dir/stop"
    ends client:0 well
    ends server:0 well
    ! grep -q ' error: ' "$dir/server:0" || { fail "the server calls it an error of its own"; grep ' error: ' "$dir/server:0"; }
done

# a client whose own sum has failed gives nothing of it
fresh 1 2
start server:0 1 whole async
start client:0 2 torn async
start client:1 2 whole async
comes client:1 watching
touch "$dir/stop"
ends client:0 badly
says client:0 tearing
ends client:1 well
ends server:0 well

# another number of workers, once no client is left: that of those who are gone is forgotten
fresh 1 1
start server:0 1 steps async 100000
start client:0 2 steps async 100000
comes client:0 stepping
start client 1 steps async 3
ends client badly
says client 'refuses: clients have 2 workers here, you have 1'
kill -KILL $(ps -o pid= --ppid "${job[client:0]}")
ends client:0 badly
comes server:0 'client 0 has died'
start client:0 1 steps async 3
ends client:0 well
ends server:0 well
unset KV_STOP

# ---- who may not

refuses 1 'servers is 64 and clients is 1: there may be 63 servers and 1024 clients' \
    env -u TUTTI_KV_SERVERS -u TUTTI_KV_CLIENTS TUTTI_KV_ROLE=client:0 TUTTI_KV_MEET="$dir/many" "$program" steps 64 1 async 5

refuses 1 'TUTTI_KV_TOKEN: a token may have no spaces' \
    env -u TUTTI_KV_SERVERS -u TUTTI_KV_CLIENTS TUTTI_KV_ROLE=client:0 TUTTI_KV_TOKEN='two words' TUTTI_KV_MEET="$dir/many" "$program" steps 1 1 async 5
# where they meet at addresses, a server's must be one that clients know
for at in '' 127.0.0.1:auto; do
    refuses 1 '"127.0.0.1" has no port, so clients do not find this server: set it or TUTTI_KV_LISTEN to ADDRESS:PORT' \
        env -u TUTTI_KV_SERVERS -u TUTTI_KV_CLIENTS TUTTI_KV_ROLE=server:0 TUTTI_KV_TOKEN=word TUTTI_KV_MEET=127.0.0.1:1 ${at:+TUTTI_KV_LISTEN=$at} \
        "$program" steps 1 1 async 5
done

# the server of one client, which comes later
servers=1 clients=1 job=()
rm -f "$dir"/server:* "$dir"/client* "$dir"/meet.* # what was killed has left its own
export TUTTI_KV_SERVERS=1 TUTTI_KV_CLIENTS=1
start server:0 1 steps async 5
comes server:0 'listens on 127'
[ "$(stat -c %a "$dir/meet.0")" = 600 ] || fail "the meeting place is open to others"
cp "$dir/meet.0" "$dir/wrong.0"
sed -i 's/^token ./token x/' "$dir/wrong.0"
TUTTI_KV_TIMEOUT=1 TUTTI_KV_MEET=$dir/wrong start client:0 1 steps async 5
ends client:0 badly
says client:0 'server 0 of 1 cannot be reached within 1 s: .* does not know this token'
port=$(sed -n 's/^address .*://p' "$dir/meet.0")
TUTTI_KV_ROLE=server:0 TUTTI_KV_MEET=$dir/other TUTTI_KV_LISTEN=127.0.0.1:$port \
    "$mpirun" -np 1 "$program" steps 1 1 async 5 > "$dir/taken" 2>&1 && fail "two servers on a port"
says taken "cannot listen on 127.0.0.1 port $port: Address already in use"
[ ! -e "$dir/other.0" ] || fail "one that does not listen has said where it is"
TUTTI_KV_ROLE=server:0 TUTTI_KV_MEET=$dir/meet TUTTI_KV_LISTEN=127.0.0.1:$port "$mpirun" -np 1 "$program" steps 1 1 async 5 > "$dir/taken" 2>&1 &&
    fail "a server twice"
[ -e "$dir/meet.0" ] || fail "a server that does not listen has removed the address of the one that does"
exec 8<> "/dev/tcp/127.0.0.1/$port" # strangers: one says nothing, one the wrong thing
exec 9<> "/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.1\r\n\r\n' >&9
TUTTI_KV_CLIENTS=3 start client:2 1 steps async 5
ends client:2 badly
says client:2 'refuses: this is server 0 of 1 for 1 clients, type async; you want server 0 of 1 for 3'
start client:0 1 steps async 5
ends client:0 well
ends server:0 well
says server:0 'rejected a connection from 127.0.0.1'
exec 8>&- 9>&-
[ ! -e "$dir/meet.0" ] || fail "the meeting place is left"

servers=1 clients=1 job=()
TUTTI_KV_TIMEOUT=1 start client:0 1 steps async 5 # nobody comes
ends client:0 badly
says client:0 'server 0 of 1 cannot be reached within 1 s: .*meet.0: No such file'
# A file is believed if nobody else can have written it.
mkdir "$dir/open"
cat > "$dir/open/meet.0" << FILE
tutti server
address 127.0.0.1:1
token x
FILE
distrusts() { # WORDS
    start client:0 1 steps async 5
    ends client:0 badly
    says client:0 "tutti_kv_open: meet: .*$1"
}
export TUTTI_KV_MEET=$dir/open/meet
chmod 620 "$dir/open/meet.0"
distrusts 'meet.0 \(mode 620\): use chmod go-w on it'
chmod 600 "$dir/open/meet.0"
chmod 777 "$dir/open"
distrusts 'open \(mode 777\): use chmod go-w on it'
chmod 700 "$dir/open"
mv "$dir/open/meet.0" "$dir/open/else"
ln -s else "$dir/open/meet.0"
distrusts 'meet.0: is a link'
rm "$dir/open/meet.0"
mkdir "$dir/open/meet.0"
distrusts 'meet.0 is not a regular file'
if [ "$(id -u)" = 0 ]; then
    rmdir "$dir/open/meet.0"
    cp "$dir/open/else" "$dir/open/meet.0"
    chown 65534 "$dir/open/meet.0"
    distrusts 'meet.0 belongs to another user \(uid 65534\)'
else
    left_out "a meeting file of another user" "needs root"
fi

# A file that is left from an earlier server names a port that another has: the client waits for its own server.
fresh 1 1
for at in '127.0.0.1' '[::1]:auto'; do # and an address of IPv6, where there is IPv6
    if [ "$at" != 127.0.0.1 ] && ! grep -q '^00000000000000000000000000000001 ' /proc/net/if_inet6 2> /dev/null; then
        left_out "an address of IPv6" "this machine has none"
        continue
    fi
    rm -rf "$dir/open"
    mkdir -m 700 "$dir/open"
    TUTTI_KV_LISTEN=$at TUTTI_KV_MEET=$dir/open/other TUTTI_KV_TOKEN=same start server:0 1 steps async 5
    other=${job[server:0]}
    for ((i = 0; i < 200 * slow; i++)); do [ -e "$dir/open/other.0" ] && break || sleep 0.05; done
    sed 's/^number .*/number 5/' "$dir/open/other.0" > "$dir/open/meet.0"
    chmod 600 "$dir/open/meet.0"
    export TUTTI_KV_MEET=$dir/open/meet TUTTI_KV_TOKEN=same
    start client:0 1 steps async 5
    sleep 1
    TUTTI_KV_LISTEN=$at start server:0 1 steps async 5
    ends client:0 well
    ends server:0 well
    TUTTI_KV_MEET=$dir/open/other start client:0 1 steps async 5
    ends client:0 well
    wait "$other" || fail "the server that was not meant"
done
unset TUTTI_KV_TOKEN

for role in clients client:x; do
    job=()
    start $role 1 steps async 5
    ends $role badly
    says $role "TUTTI_KV_ROLE \"$role\": must be server:K, client:K, or client for one that joins"
done
TUTTI_KV_MEET=somewhere start client:0 1 steps async 5
ends client:0 badly
says client:0 'TUTTI_KV_MEET "somewhere": must be a path with a "/", or HOST:PORT'
finish
