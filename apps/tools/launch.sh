# All that the launcher of an MPI (mpirun) must be told to start ranks on one machine, for Open MPI 4.1, Open MPI 5 and MPICH
# (hydra). Nothing else sets these variables. tutti-run and tutti-box contain this file once they are built; quickstart and
# the tests source it. A variable that the user has set stays as it is.

# Which launcher it is: openmpi4, openmpi5, hydra (MPICH and what is made of it) or unknown. The names and the meaning of its
# settings depend on that.
launch_kind() { # MPIRUN
    local said
    said=$("$1" --version 2> /dev/null < /dev/null) || true
    case $said in
    *'(Open MPI) '[1-4].*) echo openmpi4 ;;
    *'(Open MPI) '*) echo openmpi5 ;;
    *HYDRA* | *'Intel(R) MPI'*) echo hydra ;;
    *) echo unknown ;;
    esac
}

launch_default() { # NAME VALUE: exports a variable that is not set
    [ -n "${!1+set}" ] || export "$1=$2"
}

# Whether ranks may read each other's memory, which Open MPI and UCX do for large messages (CMA) and do not do without in
# every container: not where system calls are filtered and the process lacks CAP_SYS_PTRACE, nor where Yama forbids it.
launch_has_cma() {
    local name value filtered=0 capable=0 scope=0
    while read -r name value; do
        case $name in
        Seccomp:) filtered=$value ;;
        CapEff:) capable=$((16#$value >> 19 & 1)) ;;
        esac
    done < /proc/self/status
    [ ! -r /proc/sys/kernel/yama/ptrace_scope ] || read -r scope < /proc/sys/kernel/yama/ptrace_scope
    [ "$scope" -lt 2 ] && { [ "$filtered" = 0 ] || [ "$capable" = 1 ]; }
}

# What every launch needs, on one host or several.
launch_everywhere() { # KIND
    # Open MPI 4 crashes where HOME is not set and the user has no name.
    [ -n "${HOME+set}" ] || getent passwd "$(id -u)" > /dev/null || export HOME=/
    # Open MPI refuses to start as root unless it is told twice.
    if [ "$(id -u)" = 0 ] && [[ $1 != hydra ]]; then
        launch_default OMPI_ALLOW_RUN_AS_ROOT 1
        launch_default OMPI_ALLOW_RUN_AS_ROOT_CONFIRM 1
    fi
    # Where ranks cannot read each other's memory, nothing moves any more once 512 messages of more than 4 KiB (the default)
    # are under way: the answers that would let them go on find no room.
    case $1 in openmpi5) launch_default OMPI_MCA_btl_sm_free_list_max -1 ;; esac
    # MPI_Iallreduce, for --algorithm mpi: by itself it sends log2(P) times the bytes in place or on fewer than 4 ranks.
    case $1 in openmpi*) launch_default OMPI_MCA_coll_libnbc_iallreduce_algorithm 3 ;; esac
}

# No copies from one rank's memory to another's by the kernel.
launch_without_cma() { # KIND
    case $1 in
    openmpi4) launch_default OMPI_MCA_btl_vader_single_copy_mechanism none ;;
    openmpi5) launch_default OMPI_MCA_smsc '^cma,knem,xpmem' ;;
    hydra) launch_default UCX_TLS self,posix ;;
    esac
}

# Ranks that wait inside MPI give their core to those that compute. MPICH has no such setting.
launch_yielding() { # KIND
    case $1 in openmpi*) launch_default OMPI_MCA_mpi_yield_when_idle 1 ;; esac
}

# For ranks on this machine alone.
launch_here() { # KIND RANKS
    launch_everywhere "$1"
    case $1 in
    openmpi4)
        launch_default OMPI_MCA_rmaps_base_oversubscribe 1          # more ranks than cores
        launch_default OMPI_MCA_hwloc_base_binding_policy none      # a rank has several threads: one core is not enough
        # Shared memory, without a search for other networks. TCP is for those that shared memory does not reach: what a rank
        # starts by MPI_Comm_spawn. Between the others Open MPI prefers shared memory.
        launch_default OMPI_MCA_btl self,vader,tcp
        launch_default OMPI_MCA_osc '^ucx' ;;                       # it may be chosen without a network, and makes no windows
    openmpi5)
        launch_default PRTE_MCA_rmaps_default_mapping_policy :oversubscribe
        launch_default PRTE_MCA_hwloc_default_binding_policy none
        launch_default OMPI_MCA_btl self,sm,tcp
        # Asked the kernel for a route, Open MPI 5.0 finds none to this host's own IPv6 addresses: ranks that one has started by
        # MPI_Comm_spawn would wait for it for ever.
        launch_default OMPI_MCA_reachable weighted ;;
    hydra) # it counts no cores and binds no rank
        launch_default HYDRA_LAUNCHER fork
        # With TCP among what UCX may use, MPI_Finalize of 4.0 sometimes hangs: a rank waits for the answer of one that has left.
        launch_default UCX_TLS self,posix ;;
    esac
    launch_has_cma || launch_without_cma "$1"
    # Each rank has a worker and a thread that communicates, at least.
    [ $((2 * $2)) -le "$(nproc)" ] || launch_yielding "$1"
}

# Says why shared memory has no room for these ranks of this machine; nothing if it has. Without it Open MPI would go on over
# TCP, many times slower.
launch_lacks_room() { # KIND RANKS
    local free needed=$((4096 * $2)) # KiB: a segment for each rank
    case $1:${OMPI_MCA_btl:-} in openmpi*:*vader* | openmpi*:*sm*) ;; *) return ;; esac
    [ "$2" -gt 1 ] && [ -z "${OMPI_MCA_btl_vader_backing_directory:-}${OMPI_MCA_btl_sm_backing_directory:-}" ] || return 0
    free=$(df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 { print $4 }')
    [ -z "$free" ] || [ "$free" -ge $needed ] || echo "/dev/shm has $((free / 1024)) MB free, but the shared memory of $2 ranks takes" \
        "$((needed / 1024)) MB: make it larger (docker run --shm-size), or set OMPI_MCA_btl=self,tcp to go without"
}

# Whether the user or a batch system has named the hosts to use.
launch_has_hosts() {
    [ -n "${SLURM_JOB_ID:-}${PBS_JOBID:-}${LSB_JOBID:-}${PE_HOSTFILE:-}${FLUX_JOB_ID:-}${HYDRA_HOST_FILE:-}" ] ||
        [ -n "${OMPI_MCA_orte_default_hostfile:-}${PRTE_MCA_prte_default_hostfile:-}" ]
}

# For MPIRUN -np RANKS, wherever these go.
launch_settings() { # KIND RANKS
    if launch_has_hosts; then launch_everywhere "$1"; else launch_here "$1" "$2"; fi
}

# Where the launcher and the ranks keep their files, on this machine; for launches at a time, which are otherwise in each
# other's way.
launch_scratch() { # KIND FOLDER
    case $1 in
    openmpi4) # of two launchers that begin at once, one fails to make this folder; each removes it when it is empty
        mkdir -p "$2/ompi.${HOSTNAME%%.*}.$(id -u)/kept"
        export OMPI_MCA_orte_tmpdir_base=$2
        ;;
    openmpi5) export PRTE_MCA_prte_tmpdir_base=$2 ;;
    esac
}

# Where Open MPI's ranks keep the memory that they share. MPICH's has no name as soon as all have it.
launch_segments() { # KIND FOLDER
    case $1 in
    openmpi4) export OMPI_MCA_btl_vader_backing_directory=$2 ;;
    openmpi5) export OMPI_MCA_btl_sm_backing_directory=$2 ;;
    esac
}

# For several programs in one launch (MPIRUN -np 1 A : -np 1 B). The launcher of Open MPI 5.0 with PMIx 5.0 crashes in
# PMIx_server_setup_fork, where the plug-in that makes the variables OMPI_COMM_WORLD_* of several programs takes the text of a
# number for a pointer. Ranks learn who they are from PMIx; they do without these variables.
launch_several_programs() { # KIND
    case $1 in openmpi5) launch_default PMIX_MCA_pmdl '^ompi' ;; esac
}

# For ranks on hosts of a network that the launcher, at ADDRESS, reaches by AGENT HOST COMMAND...; launch_words: the options of
# mpirun. Ranks are assigned to HOST,... in turns, or in blocks of SLOTS; SLOTS a host at most.
launch_on_hosts() { # KIND AGENT NETWORK ADDRESS FOLDER HOST,... SLOTS [turns | blocks]
    local by=node ppn=1
    [ "${8:-turns}" = turns ] || by=slot ppn=$7
    launch_everywhere "$1"
    launch_without_cma "$1"
    case $1 in
    openmpi4)
        launch_words=(--mca plm_rsh_agent "$2" --mca oob_tcp_if_include "$3" --mca btl_tcp_if_include "$3" --mca pml ob1
            --mca btl self,vader,tcp --mca orte_tmpdir_base "$5" --bind-to none --map-by $by --host "${6//,/:$7,}:$7") ;;
    openmpi5)
        launch_words=(--prtemca plm_ssh_agent "$2" --prtemca oob_tcp_if_include "$3" --mca btl_tcp_if_include "$3" --mca pml ob1
            --mca btl self,sm,tcp --prtemca prte_tmpdir_base "$5" --bind-to none --map-by $by --host "${6//,/:$7,}:$7") ;;
    hydra) launch_words=(-genv UCX_TLS '^cma' -launcher rsh -launcher-exec "$2" -localhost "$4" -ppn "$ppn" -hosts "$6") ;;
    esac
}

# For ranks on hosts that the launcher reaches in its own way, assigned in turns; launch_words: the options of mpirun. Open MPI must be
# told what of the environment goes there.
launch_dealt() { # KIND HOST,... RANKS
    local name
    case $1 in
    hydra) launch_words=(-ppn 1 -hosts "$2") ;;
    *)
        launch_words=(--map-by node --bind-to none --host "${2//,/:$3,}:$3" -x TUTTI_RUN)
        for name in ${!TUTTI_@} ${!STARPU_@} ${!OMP_@} ${!DNNL_@} ${!ONEDNN_@} LD_LIBRARY_PATH; do
            [ "$name" = TUTTI_RUN ] || [ -z "${!name+set}" ] || launch_words+=(-x "$name")
        done ;;
    esac
}

# Where one rank has ended with an error, the launcher kills the others at once. By itself it asks them to end after a second, and kills
# them after another, which is all that a launch takes whose ranks refuse their options. Not where others have to say or write
# something after the first of them has ended.
launch_killing_at_once() { # KIND
    case $1 in openmpi4) export OMPI_MCA_odls_base_sigkill_timeout=0 ;; esac
}

# The option with which the launcher lets ranks go on when one has died. Hydra has none that does.
launch_keep_going() { # KIND
    case $1 in openmpi*) echo --enable-recovery ;; esac
}
