# Servers and clients as jobs of their own (tutti-kv(3)) from one command: the servers' job, or one for each where keys lie on
# several, and one for each client, each of which is a tutti-run -n by itself, with a session, a grace and a sweep of its own. Built
# into tutti-run.

# Per job, by its name ("servers", "server 0", "client 0"): its process; what it still may be started again; when that is due; what
# passes its output on.
declare -A jobs_process=() jobs_restarts=() jobs_due=() jobs_labels=()
jobs_failed=()    # "NAME STATUS" of those that ended badly, in that order; one that was started again is not among them
jobs_until=       # when what is left is ended
jobs_folder=      # where servers tell where they are

jobs_check() { # COMMAND...
    [ -n "$servers" ] && [ -n "$clients" ] || refuse "--servers and --clients go together: say how many there are of each"
    [ -n "$ranks" ] || refuse "--servers $servers: say with -n how many workers there are, of all clients together"
    [ $((ranks % clients)) = 0 ] ||
        refuse "-n $ranks: so many workers cannot form $clients clients of equal size: take a multiple of $clients"
    local origin="--server-replicas $replicas"
    if [ -z "$replicas" ] && [ -n "${TUTTI_KV_SERVER_REPLICAS:-}" ]; then
        replicas=$TUTTI_KV_SERVER_REPLICAS origin="TUTTI_KV_SERVER_REPLICAS='$TUTTI_KV_SERVER_REPLICAS'"
    fi
    : "${replicas:=1}"
    [ "$replicas" = 1 ] || [ "$replicas" = 2 ] || refuse "$origin: must be 1 or 2"
    [ "$replicas" -le "$servers" ] ||
        refuse "$origin: each key is to lie on two servers, but there is one: take --servers 2 or more"
    [ $continue = no ] || refuse "--continue: not with --servers: a client that returns gets the values from the servers"
    case " $* " in *' : '*) refuse "\":\": not with --servers: all jobs run the same program" ;; esac
}

jobs_host() { # NAME: the host of a job; empty: this one
    local host number=0
    [ -n "$hosts" ] || return
    IFS=, read -ra host <<< "$hosts"
    case $1 in
    server\ *) number=${1#server } ;;
    client\ *) if [ "$replicas" = 1 ]; then number=1; else number=$servers; fi; number=$((number + ${1#client })) ;;
    esac
    echo "${host[number % ${#host[@]}]}"
}

# Where a process is, and when it began; nothing: it is gone. Numbers of processes are given again, and are a host's, or a container's.
jobs_life() { # PROCESS
    local stat
    stat=$(cat "/proc/$1/stat" 2> /dev/null) || return
    echo "$1 $(cut -d ' ' -f 20 <<< "${stat##*) }")"
}
jobs_place() { echo "$(uname -n) $(readlink /proc/self/ns/pid)"; }

# A tutti-run that was killed has left its folder, which is removed once no job of it runs: a job's environment names it.
jobs_clear() { # FOLDER: where these folders are
    local folder place life boot
    for folder in "$1"/tutti-run.??????; do
        [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ] && [ -f "$folder/run" ] || continue
        { read -r place && read -r boot && read -r life; } < "$folder/run" || continue
        [ "$place" = "$(jobs_place)" ] || continue
        [ "$boot" != "$(cat /proc/sys/kernel/random/boot_id)" ] || [ "$life" != "$(jobs_life "${life% *}")" ] || continue
        ! grep -qsF -- "$folder/" /proc/[0-9]*/environ || continue
        say "removing what a run that was killed has left: $folder"
        rm -rf -- "$folder"
    done
}

# Where hosts are several, the folder must be one that all see; then servers are reached by their hosts' names.
jobs_open() {
    local parent=${TMPDIR:-/tmp}
    if [ -n "$hosts" ] || [ $srun = yes ]; then
        parent=$PWD
        export TUTTI_KV_LISTEN=${TUTTI_KV_LISTEN:-0.0.0.0}
    fi
    jobs_clear "$parent"
    jobs_folder=$(mktemp -d -- "$parent/tutti-run.XXXXXX") || exit 1
    trap 'rm -rf -- "$jobs_folder"; jobs_clear "${jobs_folder%/*}"' EXIT
    { jobs_place && cat /proc/sys/kernel/random/boot_id && jobs_life $$; } > "$jobs_folder/run" || exit 1
    say "servers and clients meet in $jobs_folder"
    export TUTTI_KV_SERVERS=$servers TUTTI_KV_CLIENTS=$clients TUTTI_KV_SERVER_REPLICAS=$replicas
    export TUTTI_KV_MEET=${TUTTI_KV_MEET:-$jobs_folder/meet}
    if [ -n "$output" ]; then mkdir -p -- "$output" || exit 1; fi
}

# Passes output on, with the job's name before each line.
jobs_label() { # NAME
    trap '' HUP INT TERM USR1 USR2
    exec sed -u "s/^/[$1] /"
}

jobs_start() { # NAME COMMAND...
    local name=$1 role=server:0 n=$servers host out err words
    shift
    case $name in
    server\ *) role=server:${name#server } n=1 ;;
    client\ *) role=client:${name#client } n=$((ranks / clients)) ;;
    esac
    host=$(jobs_host "$name")
    words=(-n "$n" --max-restarts 0 --grace "$grace" --linger "$linger")
    [ -z "$host" ] || words+=(--hosts "$host")
    # weights come from the servers, but where it goes on is in the checkpoint
    [ -z "$checkpoint" ] || [ "${jobs_restarts[$name]:-0}" = 0 ] || words+=(--continue)
    [ $srun = no ] || words+=(--srun)
    if [ -n "$output" ]; then
        exec {out}>> "$output/${name/ /.}.log"
        exec {err}>&"$out"
        jobs_labels[$name]=
    else
        exec {out}> >(jobs_label "$name")
        jobs_labels[$name]=$!
        exec {err}> >(jobs_label "$name" >&2)
        jobs_labels[$name]+=" $!"
    fi
    (
        export TUTTI_KV_ROLE=$role TUTTI_RUN_LASTING="$jobs_folder/${name/ /}.lasting"
        # launches at a time would be in each other's way
        mkdir -p "$jobs_folder/${name/ /}"
        [ -n "$host" ] || [ $srun = yes ] || launch_scratch "$kind" "$jobs_folder/${name/ /}"
        exec "${die_with_parent[@]}" "$BASH" "$0" "${words[@]}" -- "$@"
    ) < /dev/null >&"$out" 2>&"$err" {out}>&- {err}>&- &
    jobs_process[$name]=$!
    exec {out}>&- {err}>&-
}

jobs_tell() { # SIGNAL
    [ ${#jobs_process[@]} = 0 ] || kill -s "$1" "${jobs_process[@]}" 2> /dev/null
}

jobs_stop() { # SIGNAL'S NUMBER
    signal=$1
    jobs_due=()
    jobs_tell TERM
}

jobs_say_end() { # NAME STATUS
    local how="status $2"
    [ "$2" != 0 ] || how="done"
    [ "$2" -le 128 ] || how="status $2 (signal $(kill -l "$2" 2> /dev/null || echo $(($2 - 128))))"
    say "$1: $how after $SECONDS s"
}

jobs_serve() { # whether a server's job runs
    case " ${!jobs_process[*]} " in *' server'*) return 0 ;; esac
    return 1
}

# A client that has died may come back while the servers go on: what they do without it depends on the type (sync: they end).
jobs_ended() { # NAME STATUS
    local name=$1 label
    unset "jobs_process[$name]"
    for label in ${jobs_labels[$name]}; do is_gone_within 2 "$label"; done
    jobs_say_end "$name" "$2"
    [ -z "$signal" ] || return
    case $name in server*) [ "$2" != 0 ] && [ "$replicas" != 1 ] && jobs_serve || jobs_until=$((SECONDS + linger)) ;; esac
    [ "$2" != 0 ] || return
    jobs_failed+=("$name $2")
    case $2 in
    2 | 126 | 127) jobs_tell TERM ;; # so it will be in every job
    130 | 143) ;;                    # somebody wanted that
    *)
        [ ! -e "$jobs_folder/${name/ /}.lasting" ] || return # a restart would fail in the same way
        [[ $name != server* ]] && [ "${jobs_restarts[$name]:-0}" -lt "$max_restarts" ] || return
        jobs_restarts[$name]=$((${jobs_restarts[$name]:-0} + 1))
        jobs_due[$name]=$((SECONDS + pause + 1)) ;;
    esac
}

jobs_return() { # COMMAND...: those that are due
    local name kept failed
    for name in "${!jobs_due[@]}"; do
        [ $SECONDS -ge "${jobs_due[$name]}" ] || continue
        unset "jobs_due[$name]"
        jobs_serve || continue
        kept=()
        for failed in "${jobs_failed[@]}"; do [ "${failed% *}" = "$name" ] || kept+=("$failed"); done
        jobs_failed=("${kept[@]}")
        say "$name: restart ${jobs_restarts[$name]} of $max_restarts"
        jobs_start "$name" "$@"
    done
}

# Servers end by themselves when no client is left, at the latest when none has returned within their time-out; clients when their
# servers have ended.
jobs_hurry() {
    local name wait_s
    if [ ${#jobs_process[@]} != 0 ] && [[ " ${!jobs_process[*]}" != *' client'* ]] && [ ${#jobs_due[@]} = 0 ]; then
        printf -v wait_s %.0f "${TUTTI_KV_TIMEOUT:-30}" 2> /dev/null
        : "${jobs_until:=$((SECONDS + linger + wait_s))}"
    fi
    [ -n "$jobs_until" ] && [ $SECONDS -ge "$jobs_until" ] || return
    for name in "${!jobs_process[@]}"; do say "$name: still runs $linger s after it should have ended: ending it"; done
    jobs_until=$((SECONDS + grace + linger))
    jobs_tell TERM
}

# That of the first job that died of a signal (but for those that ask it to end), or else of the first that failed: what others
# report may be of its making, and their launchers may end before its own. A run that has survived the death of servers is well.
jobs_status() {
    local failed
    [ "$replicas" = 1 ] || [[ " ${jobs_failed[*]}" = *' client '* ]] || jobs_failed=()
    for failed in "${jobs_failed[@]}"; do
        case ${failed##* } in
        130 | 143) ;;
        129 | 1[3-9]? | 2??) echo "${failed##* }"; return ;;
        esac
    done
    failed=${jobs_failed[0]:-0}
    echo "${failed##* }"
}

jobs_run() { # COMMAND...
    local name status
    jobs_check "$@"
    jobs_open
    trap 'jobs_stop 1' HUP
    trap 'jobs_stop 2' INT
    trap 'jobs_stop 15' TERM
    trap 'jobs_tell USR1' USR1
    trap 'jobs_tell USR2' USR2
    if [ "$replicas" = 1 ]; then
        jobs_start servers "$@"
    else
        for ((name = 0; name < servers; name++)); do [ -n "$signal" ] || jobs_start "server $name" "$@"; done
    fi
    for ((name = 0; name < clients; name++)); do [ -n "$signal" ] || jobs_start "client $name" "$@"; done
    while [ ${#jobs_process[@]} != 0 ] || [ ${#jobs_due[@]} != 0 ]; do
        for name in "${!jobs_process[@]}"; do
            kill -0 "${jobs_process[$name]}" 2> /dev/null && continue
            wait "${jobs_process[$name]}"
            status=$?
            jobs_ended "$name" $status
        done
        jobs_return "$@"
        jobs_hurry
        sleep 0.1
    done
    [ -z "$signal" ] || exit $((128 + signal))
    exit "$(jobs_status)"
}
