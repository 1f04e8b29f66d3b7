#!/bin/bash
# The script for Slurm (apps/example/slurm.sh, doc/operating.md) in a real cluster: munged, slurmctld and two slurmd of its own on this
# machine, with their own configuration, folders and ports. A job whose time is over saves, queues again and continues; the
# ranks of a step start by PMIx, and have the job's processors per task.
# Skipped with the reason without root, without Slurm (apt-get install slurmctld slurmd slurm-client munge), or where it cannot start.
set -u
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
for program in munged slurmctld slurmd srun sbatch scontrol; do
    PATH=$PATH:/usr/sbin:/sbin command -v $program > /dev/null || skip "no $program (packages slurmctld, slurmd, slurm-client, munge)"
done
PATH=$PATH:/usr/sbin:/sbin
build=$(readlink -f "${TUTTI_BUILDDIR:-build}")
script=$(readlink -f "${TUTTI_SRCDIR:-.}/apps/example/slurm.sh")
. "$(dirname "$script")/../tools/launch.sh"
kind=$(launch_kind "${MPIRUN:-mpirun}")
[[ $kind = openmpi* ]] || skip "srun --mpi=pmix starts ranks of Open MPI; this is $kind"

unset "${!SLURM_@}" "${!SRUN_@}" "${!SBATCH_@}"
dir=$(mktemp -d)
export SLURM_CONF=$dir/slurm.conf
daemons=() job=
# within SECONDS COMMAND...: waits until it succeeds, or the job has ended.
within() {
    local last=$((SECONDS + $1))
    until "${@:2}"; do
        [ $SECONDS -lt $last ] || return 1
        [ -z "$job" ] || ! scontrol show job "$job" | grep -qE 'JobState=(FAILED|COMPLETED|TIMEOUT)' || return 1
        sleep 0.2
    done
}
idle() { [ -z "$(squeue --noheader 2> /dev/null)" ]; }
gone() { ! kill -0 "${daemons[@]}" 2> /dev/null; }
# The job first, whose processes are no children of this one; then what is left of it, and the daemons.
end() {
    local cancelled=$job process
    job=
    [ -z "$cancelled" ] || { scancel "$cancelled" && within 10 idle; } > /dev/null 2>&1
    for process in /proc/[0-9]*; do
        process=${process#/proc/}
        [ "$process" = $$ ] || ! grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$process/environ" 2> /dev/null || kill "$process" 2> /dev/null
    done
    [ ${#daemons[@]} = 0 ] || within 5 gone || kill -KILL "${daemons[@]}" 2> /dev/null
    rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

mkdir "$dir"/{state,spool,log,work} "$dir"/{spool,tmp-}node{0,1}
host=$(hostname -s) port=$((20000 + RANDOM % 20000 / 4 * 4))
cat > "$dir/slurm.conf" << END
ClusterName=tutti
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthInfo=socket=$dir/munge.socket,cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
KillWait=5
SchedulerParameters=sched_interval=1,bf_interval=1
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
NodeName=node[0-1] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=8
PartitionName=all Nodes=ALL Default=YES
END
head -c 1024 /dev/urandom > "$dir/key"
chmod 400 "$dir/key"
begin() { # NAME COMMAND...
    "${@:2}" > "$dir/log/$1" 2>&1 &
    daemons+=($!)
}
logs() { tail -n 20 "$dir"/log/*; }
begin munged munged --foreground --force --key-file="$dir/key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/seed"
within 10 test -S "$dir/munge.socket" || { logs; skip "munged does not start"; }
begin slurmctld slurmctld -D
for node in node0 node1; do begin $node slurmd -D -N $node; done
ready() { [ "$(sinfo --noheader --states=idle --format=%D 2> /dev/null)" = 2 ]; }
within 20 ready || { logs; skip "Slurm does not start"; }
srun --mpi=list 2>&1 | grep -qw pmix || skip "this Slurm has no plugin for PMIx"

# ---- the job ----

cd "$dir/work" || exit 1
fail() { logs; cat "$dir"/work/*.out; echo "$*"; exit 1; }
# In front of tutti-cifar: what its rank was given.
mkdir "$dir/bin"
cat > "$dir/bin/tutti-cifar" << END
#!/bin/bash
echo "rank \$SLURM_PROCID of \$SLURM_NTASKS on \$SLURMD_NODENAME: \$SRUN_CPUS_PER_TASK processors"
exec "$build/apps/tutti-cifar" "\$@"
END
chmod +x "$dir/bin/tutti-cifar"
launch_everywhere "$kind"
export PATH=$dir/bin:$build/apps:$PATH STARPU_HOME=$dir
# A minute; Slurm looks every half minute which jobs are near their end.
job=$(sbatch --parsable --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --time=1 --signal=TERM@50 "$script" \
    --data synthetic --model mlp --batch 16 --steps 10000000 --eval-every never) || fail "sbatch fails"
out=slurm-$job.out
grows() { grep -q "$1" "$out" 2> /dev/null; }
within 30 grows ' of 2 on node1: 2 processors' || fail "the ranks of the job do not start, or have other processors"
within 60 grows 'SIGTERM' || fail "the signal before the end of the job's time does not arrive"
within 20 test -s "$job.safetensors" || fail "the job saves nothing"
restarted() { scontrol show job "$job" | grep -q 'Restarts=1 '; }
within 20 restarted || fail "the job does not queue again"
# The first step that the second start tells of comes after the one that the first has saved.
continues() {
    awk '/^step [0-9]+: saved/ { saved = $2 + 0 }
        /^rank 1 of 2/ && saved { again = 1 }
        again && match($0, /^epoch .* step [0-9]+\//) { first = $4 + 0; exit }
        END { exit !(saved > 0 && first > saved && first < saved + 50) }' "$out"
}
within 30 continues || fail "the job does not continue where it was"
grep -aE '^rank|saved|^epoch|REQUEUE' "$out"
