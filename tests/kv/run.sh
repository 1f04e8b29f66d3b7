#!/bin/bash
# tutti-run --servers: servers and clients as jobs of their own from one command. Which job ended how; a client that dies, and
# returns; in sync its death ends all; signals; output; words for Slurm and for other hosts; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/kv/kv
run=$apps/tutti-run
slow=${TUTTI_TEST_SLOWDOWN:-1}
cd "$dir" || exit 1
export MPIRUN=$mpirun STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 TUTTI_KV_TIMEOUT=$((15 * slow)) TMPDIR=$dir

# The program, one rank a job, which says in a file which process it is.
cat > ranked << DONE
#!/bin/bash
echo \$\$ > "$dir/pid.\$TUTTI_KV_ROLE.new"
mv "$dir/pid.\$TUTTI_KV_ROLE.new" "$dir/pid.\$TUTTI_KV_ROLE"
exec "$program" "\$@"
DONE
chmod +x ranked
show() { cat out err; }
ends() { # WANTED-STATUS
    local status=0
    wait "$job" || status=$?
    [ $status = "$1" ] || { fail "status $status instead of $1"; show; }
    [ -z "$(ls -d "$dir"/tutti-run.* 2> /dev/null)" ] || fail "its folder is left"
}
starts() {
    rm -f out err # what is waited for must not be an earlier run's
    "$run" "$@" > out 2> err &
    job=$!
}
with() { starts "${@:2}"; ends "$1"; }
says() { grep -qE -- "$2" "$1" || { fail "$1 does not say: $2"; show; }; }
comes() { # FILE PATTERN
    for ((i = 0; i < 200 * slow; i++)); do
        grep -qE -- "$2" "$1" 2> /dev/null && return
        sleep 0.1
    done
    fail "$1 never says: $2"; show
}

"$mpirun" -np 1 "$program" sync 0 0 sync > measured 2>&1 # StarPU measures the machine once

# ---- well

with 0 --servers 2 --clients 2 -n 4 "$program" sync 2 2 sync add
[ "$(grep -c '^\[client [01]\] ok, closed: ok$' out)" = 4 ] || { fail "not four workers"; show; }
[ "$(grep -c '^\[servers\] ok, closed: ok$' out)" = 2 ] || { fail "not two servers"; show; }
for name in servers 'client 0' 'client 1'; do says err "^tutti-run: $name: done after"; done

# ---- deaths

export KV_STOP=$dir/stop
starts --servers 1 --clients 2 -n 2 --max-restarts 1 --pause 0 --output said ./ranked steps 1 2 bounded:3 100000
comes said/client.1.log stepping
kill -KILL "$(cat pid.client:1)"
comes err 'client 1: restart 1 of 1'
comes said/servers.log 'client 1 is back'
comes said/client.1.log 'stepping from [1-9]'
touch stop
ends 0
says err 'client 1: status 137 \(signal KILL\) after'
says err 'client 1: done after'
says said/servers.log 'client 1 has died: .*the others continue'
[ ! -s out ] || { fail "what was to be in files is here"; show; }
rm stop pid.*

# What would fail in the same way is not started again.
cat > lasting << 'DONE'
#!/bin/bash
case $TUTTI_KV_ROLE in
server*) while [ ! -e attempts ]; do sleep 0.1; done; exec sleep 4 ;; # a client is started again while it runs
client:0) exit 0 ;;
esac
echo >> attempts
echo "tutti: rank 0: warning: a restart would fail in the same way" >&2
sleep 0.2
exit 1
DONE
chmod +x lasting
with 1 --servers 1 --clients 2 -n 2 --max-restarts 2 --pause 0 ./lasting
[ "$(wc -l < attempts)" = 1 ] || { fail "client 1 is tried $(wc -l < attempts) times"; show; }

# A checkpoint of an earlier run is not this one's: a client continues from it once it has saved it. All its attempts are one run.
cat > saving << 'DONE'
#!/bin/bash
case $TUTTI_KV_ROLE in
server*) while [ ! -e ended ]; do sleep 0.1; done; exit 0 ;;
esac
echo "$TUTTI_RUN $*" >> attempted
case $(wc -l < attempted) in
1) exit 1 ;;
2) echo new > file.part && mv file.part file && exit 1 ;;
esac
touch ended
DONE
chmod +x saving
echo old > file
with 0 --servers 1 --clients 1 -n 1 --max-restarts 2 --pause 0 ./saving --checkpoint file
[ "$(cut -d ' ' -f 2- attempted)" = $'--checkpoint file\n--checkpoint file\n--checkpoint file --resume file' ] &&
    [ "$(cut -d ' ' -f 1 attempted | sort -u | grep -c '\.client0$')" = 1 ] || { fail "attempts"; cat attempted; show; }

# Servers that have ended well hurry no client, which may still evaluate and save; one that has failed does.
cat > later << 'DONE'
#!/bin/bash
case $TUTTI_KV_ROLE in
server*) exit "$1" ;;
esac
sleep "$2"
DONE
chmod +x later
with 0 --servers 1 --clients 1 -n 1 --linger 4 ./later 0 9
says err 'tutti-run: client 0: done after'
with 3 --servers 1 --clients 1 -n 1 --linger 1 ./later 3 60
says err 'tutti-run: client 0: still runs 1 s after it should have ended: ending it'

# tutti-run itself is killed: the next removes its folder, once its jobs are gone
starts --servers 1 --clients 1 -n 1 "$program" steps 1 1 async 100000
comes out stepping
left=$(sed -n 's/^tutti-run: servers and clients meet in //p' err)
kill -KILL "$job"
wait "$job" 2> /dev/null
[ -e "$left/run" ] || fail "no folder is left at '$left'"
touch stop
for ((i = 0; i < 200 * slow; i++)); do
    grep -qsF -- "$left/" /proc/[0-9]*/environ || break
    sleep 0.1
done
with 0 --servers 1 --clients 1 -n 1 "$program" steps 1 1 async 3
says err "^tutti-run: removing what a run that was killed has left: $left\$"
rm stop

starts --servers 1 --clients 2 -n 2 ./ranked steps 1 2 async 100000 # it does not return: the others go on
comes out 'client 1\] stepping'
comes out 'client 0\] stepping'
kill -KILL "$(cat pid.client:1)"
comes err 'tutti-run: client 1: status 137'
touch stop
ends 137
says err 'client 0: done'
says err 'servers: done'
rm stop pid.*

starts --servers 1 --clients 2 -n 2 ./ranked steps 1 2 sync 100000 # all end
comes out 'client 1\] stepping'
comes out 'client 0\] stepping'
kill -KILL "$(cat pid.client:1)"
ends 137
says err '^\[client 0\] .*client 1 \(worker 1\) has died: server 0 ends the run'
says err 'tutti-run: servers: status [1-9]'
says err 'tutti-run: client 0: status [1-9]'
rm pid.*

rm -f pid.*
starts --servers 2 --server-replicas 2 --clients 2 -n 2 ./ranked survive 2 2 sync 100 # a server, of two with the same keys
comes out 'client 1\] stepping'
comes out 'client 0\] stepping'
kill -KILL "$(cat pid.server:0)"
ends 0
says err 'tutti-run: server 0: status 137 \(signal KILL\) after'
says err '^\[server 1\] .*server 0 is lost: server 1, which has the same keys, continues'
says err 'tutti-run: server 1: done'
says err 'tutti-run: client 1: done'
rm pid.*

# ---- signals

starts --servers 1 --clients 2 -n 2 ./ranked steps 1 2 async 100000
comes out 'client 1\] stepping'
comes out 'client 0\] stepping'
kill -TERM $job
ends 143
for role in server:0 client:0 client:1; do
    [ -s pid.$role ] && ! kill -0 "$(cat pid.$role)" 2> /dev/null || fail "$role is left, or was never there"
done

# ---- launchers: what they are told

cat > srun << 'DONE'
#!/bin/bash
echo "$TUTTI_KV_ROLE of $TUTTI_KV_SERVERS and $TUTTI_KV_CLIENTS at $TUTTI_KV_LISTEN: $*"
DONE
cp srun mpirun
sed -i '2i [ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }' mpirun
chmod +x srun mpirun
PATH=$dir:$PATH SLURM_JOB_ID=7 with 0 --srun --servers 1 --clients 2 -n 6 program argument
says out '^\[servers\] server:0 of 1 and 2 at 0.0.0.0: --exact -n 1 program argument$'
says out '^\[client 1\] client:1 of 1 and 2 at 0.0.0.0: --exact -n 3 program argument$'
MPIRUN=$dir/mpirun with 0 --hosts a,b --servers 1 --clients 2 -n 6 program
says out '^\[servers\] server:0 .* at 0.0.0.0: -np 1 .*--host a:1 .*-x TUTTI_KV_ROLE'
says out '^\[client 0\] .*-np 3 .*--host b:3 .*-x TUTTI_KV_MEET'
says out '^\[client 1\] .*--host a:3 '

# ---- refused

run_refuses() { # SENTENCE OPTION...
    with 2 "${@:2}"
    says err "^tutti-run: $1"
}
run_refuses '--servers and --clients go together' --servers 1 -n 2 true
run_refuses '--servers 1: say with -n how many workers' --servers 1 --clients 1 true
run_refuses '-n 3: this many workers cannot form 2 clients' --servers 1 --clients 2 -n 3 true
run_refuses '--servers 0: must be a whole number, 1 to' --servers 0 --clients 1 -n 1 true
run_refuses '--server-replicas 2: each key is to lie on two servers' --servers 1 --server-replicas 2 --clients 1 -n 1 true
run_refuses '--server-replicas 3: must be 1 or 2' --servers 3 --server-replicas 3 --clients 1 -n 1 true
run_refuses '--server-replicas: with --servers' --server-replicas 2 -n 1 true
run_refuses '":": not with --servers' --servers 1 --clients 1 -n 1 true : -np 1 true
run_refuses '--continue: not with --servers' --continue --servers 1 --clients 1 -n 1 true
run_refuses '--output: with --servers' --output x -n 1 true
run_refuses '--hosts: must be followed by' --hosts
run_refuses '--srun and --hosts: say with -n' --hosts a true
SLURM_JOB_ID='' run_refuses '--srun: this is no job of Slurm' --srun -n 1 true
mkdir -p full/client.1.log # a job that cannot be started ends all, and the run has failed
with 1 --servers 1 --clients 2 -n 2 --output full "$program" steps 1 2 async 100000
says err '^tutti-run: full/client.1.log: cannot be written: Is a directory'
with 2 --servers 1 --clients 2 -n 2 "$program" # a mistake in the program's own options ends all
says err 'tutti-run: (servers|client [01]): status 2 after'
finish
