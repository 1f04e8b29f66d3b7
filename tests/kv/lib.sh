# Sourced by tests of servers and clients as jobs of their own, after tests/programs/lib.sh.
program=$TUTTI_BUILDDIR/tests/kv/kv
slow=${TUTTI_TEST_SLOWDOWN:-1}
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 TUTTI_KV_TIMEOUT=$((15 * slow))

# start ROLE RANKS MODE TYPE [OPTIMIZER]: a job; its words go to $dir/ROLE.
declare -A job
start() {
    local scratch=$dir/scratch.${1/:/}
    mkdir -p "$scratch" # launches at a time would be in each other's way in one folder
    rm -f "$dir/$1"     # what is waited for must not be an earlier life's
    OMPI_MCA_orte_tmpdir_base=$scratch PRTE_MCA_prte_tmpdir_base=$scratch TUTTI_KV_ROLE=$1 \
        "$mpirun" -np "$2" "$program" "$3" "$servers" "$clients" "${@:4}" > "$dir/$1" 2>&1 &
    job[$1]=$!
}
# run SERVERS CLIENTS RANKS MODE TYPE [OPTIMIZER]: starts all.
run() {
    servers=$1 clients=$2 job=()
    rm -f "$dir"/server:* "$dir"/client*
    export TUTTI_KV_SERVERS=$1 TUTTI_KV_CLIENTS=$2 TUTTI_KV_MEET=$dir/meet
    for ((i = 0; i < servers; i++)); do start "server:$i" 1 "${@:4}"; done
    for ((i = 0; i < clients; i++)); do start "client:$i" "$3" "${@:4}"; done
}
ends() { # ROLE well|badly
    local status=0
    wait "${job[$1]}" || status=$?
    case $2-$status in
    well-0 | badly-[1-9]*) ;;
    *) fail "$1 ended with status $status"; tail -n 15 "$dir"/server:* "$dir"/client* ;;
    esac
}
all_end() { for role in "${!job[@]}"; do ends "$role" "$1"; done; }
says() { grep -qE -- "$2" "$dir/$1" || { fail "$1 does not say: $2"; tail -n 15 "$dir/$1"; }; }
comes() { # FILE PATTERN
    for ((i = 0; i < 200 * slow; i++)); do
        grep -qE -- "$2" "$dir/$1" 2> /dev/null && return
        sleep 0.05
    done
    fail "$1 never says: $2"; tail -n 15 "$dir"/server:* "$dir"/client*
}
rank_of() { ps -o pid= --ppid "${job[$1]}" | head -1; } # ROLE: the process of its rank
dies() { kill -KILL "$(rank_of "$1")"; ends "$1" badly; }

"$mpirun" -np 1 "$program" sync 0 0 sync > "$dir/out" 2>&1 # StarPU measures the machine once
