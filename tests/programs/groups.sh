#!/bin/bash
# Groups and messages of the public header, in every design; and what a difference between ranks ends with.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/groups

runs() { # RANKS MODE
    local status=0
    "$mpirun" -np "$1" "$program" "$2" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 0 ] || { fail "$*, ${TUTTI_DESIGN:-} ${TUTTI_VERIFY:-}: status $status"; head -20 "$dir/out" "$dir/err"; }
}

# says FILE TEXT: it is there, word by word.
says() { grep -qF -- "$2" "$dir/$1" || { fail "$1 does not say: $2"; head -20 "$dir/$1"; }; }

export STARPU_NCPU=2 STARPU_WORKERS_NOBIND=1 TUTTI_STALL_WARN=0.5
runs 1 works # first: StarPU measures the machine once; two at a time meet in its files
for design in $(names designs); do
    for ranks in 2 5; do TUTTI_DESIGN=$design runs $ranks works; done
    TUTTI_DESIGN=$design TUTTI_VERIFY=full runs 3 works
done
TUTTI_VERIFY=off runs 4 works
TUTTI_DESIGN=concurrent TUTTI_LANES=3 TUTTI_CHUNK_MB=0.003 runs 4 works
runs 3 refusals

runs 3 differ
for rank in 0 1 2; do says out "rank $rank: mismatch"; says out "rank $rank: inval"; done
says err "tutti_group: ranks 0 and 1 make different groups. Unlike with MPI_Comm_split, all ranks must make all groups"
says err "tutti_group: rank 0 is listed twice"

runs 3 swapped
for rank in 0 1 2; do says out "rank $rank: mismatch, then mismatch"; done
says err "the ranks' collectives differ (number 0 on lane 0 of group 1 {2, 0, 1})"
says err "rank 1: #0 'b'"

runs 3 lengths
for rank in 0 1 2; do grep -q "rank $rank: .*then mismatch" "$dir/out" || fail "rank $rank does not end with MISMATCH"; done
says err "the ranks' messages differ (number 0 on edge 9 from rank 0 to rank 1)"
says err "message of 2990 F64"

runs 3 lonely
says out "rank 2: mismatch, then mismatch"
says err "rank 0 has ended after 0 messages on edge 4 from rank 0 to rank 2, but rank 2 starts one more"
says err "Rank 0 lacks a call of tutti_send, or rank 2 has one of tutti_recv too many"

# A message without its receive, and one without its send: the report names the edge, and what its other end has not done.
"$mpirun" -np 3 "$program" unheard > "$dir/out" 2> "$dir/err" && fail "a message that is never received ends with status 0"
says err 'message #0 "a" of edge 7 from rank 0 to rank 2: rank 2 has not called tutti_recv for it'
says err '1 operation is unfinished after 3 s; the first: tutti_send #0 to rank 2 on edge 7'
"$mpirun" -np 3 "$program" unsent > "$dir/out" 2> "$dir/err" && fail "a message that is never sent ends with status 0"
says err 'message #0 "a" of edge 8 from rank 0 to rank 2: rank 0 has not called tutti_send for it'
says err '1 operation is unfinished after 3 s; the first: tutti_recv #0 from rank 0 on edge 8'
# All ranks stand still: each names the first message that is missing, and its call.
"$mpirun" -np 2 "$program" ahead > "$dir/out" 2> "$dir/err" && fail "messages that are never sent end with status 0"
for rank in 0 1; do
    grep -q "rank $rank: warning: has waited .* for message #0 of edge 5 from rank 0 to rank 1: rank 0 has not called tutti_send for it" \
        "$dir/err" || { fail "rank $rank does not name the message"; cat "$dir/err"; }
done
says out "rank 1: 21 operations are unfinished after 3 s; the first: tutti_recv #0 from rank 0 on edge 5, tutti_recv #1 from"

# Groups and messages are Tutti's own beside MPI's collectives of all ranks.
TUTTI_ALGORITHM=mpi TUTTI_DESIGN=concurrent runs 4 works
finish
