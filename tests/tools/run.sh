#!/bin/bash
# tutti-run -n: ranks start on any machine, whatever it is told about MPI (nothing), however few cores it has; what is passed
# on to them and back; numbers are decimal.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
run=$apps/tutti-run
cd "$dir" || exit 1
# Nothing of the guard's settings, and one core.
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
bare() { taskset -c "$cpu" env -i PATH="$PATH" HOME="$dir" TMPDIR="$dir" MPIRUN="$mpirun" \
    ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} "$@" < /dev/null; }
with() { # WANTED-STATUS COMMAND...
    local wanted=$1 status=0
    shift
    bare "$@" > out 2> err || status=$?
    [ $status = "$wanted" ] || { fail "status $status instead of $wanted: $*"; cat out err; }
}

with 2 "$run" -n 4 "$apps/tutti-doctor" --json --timeout 60 # four ranks on a core are bad, as it says
grep -q '"summary","ranks":4,' out || { fail "the ranks of one launch are not one world"; cat out err; }

# Arguments stay whole, the status is a rank's, several programs are one launch.
with 0 "$run" -n 2 sh -c 'echo "<$1>" "<$2>"' - 'a  b' '"c"'
[ "$(sort -u out)" = '<a  b> <"c">' ] && [ "$(wc -l < out)" = 2 ] || { fail "arguments are not passed on as they are"; cat out; }
[ ! -s err ] || { fail "something was said where all is well"; cat err; }
with 3 "$run" --ranks=2 sh -c 'exit 3'
with 127 env MPIRUN=no-such-mpirun "$run" -n 2 true
grep -q 'no-such-mpirun, which starts the ranks, was not found' err || { fail "a launcher that is not there"; cat err; }
with 2 timeout 20 env MPIRUN="$run" "$run" -n 2 true
grep -q 'MPIRUN is this program itself' err || { fail "a launcher that would start itself for ever"; cat err; }
with 2 "$run" -n 1 "$apps/tutti-doctor" --json : -np 2 "$apps/tutti-doctor" --json
grep -q '"summary","ranks":3,' out || { fail "several programs are not one world"; cat out err; }

# What the user has set stays.
with 0 env OMPI_MCA_btl=self,tcp UCX_TLS=self,tcp "$run" -n 1 sh -c 'echo $OMPI_MCA_btl $UCX_TLS'
[ "$(cat out)" = 'self,tcp self,tcp' ] || { fail "a setting of the user's is changed"; cat out; }

# Ranks may start others.
with 0 timeout $((60 * ${TUTTI_TEST_SLOWDOWN:-1})) "$run" -n 2 "$TUTTI_BUILDDIR/tests/programs/spawn"
grep -qx 'spawned: 41' out || { fail "no ranks are spawned"; cat out err; }
# A small container.
case $(launch_kind "${MPIRUN:-mpirun}") in
openmpi*)
    small() { # STATUS COMMAND...
        with "$1" unshare -m bash -c 'mount -t tmpfs -o size=5m none /dev/shm && exec "$@"' - "${@:2}"
    }
    if unshare -m mount -t tmpfs -o size=5m none /dev/shm 2> /dev/null; then
        small 1 "$run" -n 2 true
        grep -q '/dev/shm has 5 MB free, but the shared memory of 2 ranks takes 8 MB' err || { fail "a small /dev/shm"; cat out err; }
        small 0 env OMPI_MCA_btl=self,tcp "$run" -n 2 true
        small 0 "$run" -n 1 true
    else
        left_out "a small /dev/shm" "this user cannot mount one"
    fi ;;
esac

# Restarts go with -n, too.
cat > program << 'DONE'
#!/bin/bash
case $* in *--resume*) exit 0 ;; esac
echo > saved
exit 1
DONE
chmod +x program
with 0 "$run" -n 1 --pause 0 ./program --checkpoint saved
grep -q 'restart 1 of 3, from saved' err || { fail "no restart from the checkpoint"; cat err; }

# What a restart cannot cure is not tried again: a mistake in the options, or a file that is damaged or not there.
cat > program << 'DONE'
#!/bin/bash
echo >> attempts
echo "tutti: rank 0: warning: a restart would fail in the same way" >&2
sleep 0.2
exit 1
DONE
for how in '-n 1' ''; do
    rm -f attempts
    # shellcheck disable=SC2086 # one word, or none
    with 1 "$run" $how --pause 0 ./program --checkpoint saved
    [ "$(wc -l < attempts)" = 1 ] || { fail "what would fail again is tried $(wc -l < attempts) times"; cat err; }
    grep -q 'not tried again (it would fail in the same way)' err || { fail "no reason"; cat err; }
done
mkdir -p photos/train/a photos/val/a
: > photos/train/a/1.jpg
: > photos/val/a/1.jpg
for data in photos nothing; do
    with 1 "$run" -n 2 --pause 0 "$apps/tutti-imagenet" --data $data --model resnet18 --size 32 --batch 1 --checkpoint c
    grep -q 'not tried again (it would fail in the same way)' err || { fail "$data is tried again"; cat err; }
done

cat > program << 'DONE'
#!/bin/bash
case $* in *--resume*) exit 0 ;; esac
echo > saved
exit 1
DONE

# Numbers are decimal, and what is none is refused by name.
with 0 "$run" -n 02 --pause 08 --grace 09 --linger 010 --max-restarts 00 true
rm saved
with 0 "$run" --pause 00 --max-restarts 08 ./program --checkpoint saved
grep -q 'restart 1 of 8,' err || { fail "--max-restarts 08"; cat err; }
for wrong in '-n 0' '-n two' '-n 0x2' '--pause 1.5' '--pause -1' '--grace' '--linger 1000000' '--max-restarts 1e3'; do
    # shellcheck disable=SC2086 # two words
    with 2 "$run" $wrong
    grep -q -- "^tutti-run: ${wrong%% *} .*must be a whole number" err || { fail "$wrong"; cat err; }
done
with 2 env TUTTI_KV_SERVER_REPLICAS=3 "$run" --servers 2 --clients 1 -n 1 true
grep -q "^tutti-run: TUTTI_KV_SERVER_REPLICAS='3': must be 1 or 2" err || { fail "a variable under an option's name"; cat err; }
with 2 "$run" -n 2
grep -q 'there is no command to run' err || { fail "-n without a program"; cat err; }
with 2 "$run" -n 2 --max-restarts 1 true
grep -q 'no --checkpoint' err || { fail "restarts without a checkpoint"; cat err; }
with 2 "$run" -n 2 --continue true
grep -q 'no --checkpoint FILE in the command, so there is nothing to continue' err || { fail "--continue without a checkpoint"; cat err; }
with 2 "$run" --elastic 1:2 -n 2 --linger 5 true
grep -q -e '--linger: not with --elastic' err || { fail "--linger with --elastic"; cat err; }
finish
