#!/bin/bash
# A program whose last rank does something else: every rank is told what, within seconds, ends with a failure, and no sum is
# wrong; a program that is right is left alone. With every design, each way to compare, and the MPI library's own collectives.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/mismatch
wrong=(swap swap-sizes kind op type count root extra missing fewer-steps more-steps)

# runs P DESIGN CHECK ALGORITHM CASE...: output in $dir/out, messages in $dir/err, exit status in $status.
runs() {
    local ranks=$1
    shift
    status=0
    "$mpirun" -np "$ranks" "$program" "$@" > "$dir/out" 2> "$dir/err" || status=$?
}

# tells SENTENCE: some rank has said so, and $dir/err has it.
tells() {
    grep -qF -e "$1" "$dir/err" || { fail "nobody says: $1"; grep '^tutti' "$dir/err"; }
}

# no_rank_is_slow: every wait of $dir/out ended within 10 s (a deadline of 20 s would end it, too).
no_rank_is_slow() {
    awk '{ for (i = 1; i < NF; i++) if ($i == "after" && $(i + 1) > 10) exit 1 }' "$dir/out" || { fail "slow: $*"; cat "$dir/out"; }
}

# all_wrong P DESIGN CHECK ALGORITHM: the wrong cases in one run, and a right one before and after.
all_wrong() {
    runs "$@" same "${wrong[@]}" same
    [ $status = 1 ] || { fail "status $status: $*"; cat "$dir/out" "$dir/err"; }
    local ranks=$1 case told
    for case in "${wrong[@]}"; do
        told=$(grep -c "^$case: rank .: mismatch" "$dir/out") # who has come to its end, by tutti_detach
        [ "$told" = "$ranks" ] || { fail "$case: $told ranks are told: $*"; grep "^$case" "$dir/out"; }
    done
    [ "$(grep -c '^same: rank .: ok' "$dir/out")" = $((2 * ranks)) ] || { fail "a false alarm: $*"; cat "$dir/out" "$dir/err"; }
    no_rank_is_slow "$@"
}

all_wrong 2 funneled on auto
tells "rank 0: #5 'a', allreduce of 16 F32 (sum); rank 1: #5 'b', allreduce of 16 F32 (sum)"     # swap
tells "rank 0: #6 'b', allreduce of 16 F32 (sum); rank 1: #6 'c', allreduce of 20000 F32 (sum)"  # swap-sizes, missing
tells "rank 1: #6 'b', reduce of 16 F32 (sum) to rank 0"                                         # kind
tells "rank 1: #6 'b', allreduce of 16 F32 (max)"                                                # op
tells "rank 1: #6 'b', allreduce of 16 I32 (sum)"                                                # type
tells "rank 1: #6 'd', allreduce of 8 F32 (sum)"                                                 # count
tells "rank 1: #8 'd', broadcast of 8 F32 from rank 1"                                           # root
tells "rank 1: #5 'd', allreduce of 8 F32 (sum)"                                                 # extra
tells "rank 1 has ended after 9 collectives on lane 0, but rank 0 starts one more: #9 'a'"       # fewer-steps
tells "rank 0 has ended after 13 collectives on lane 0, but rank 1 starts one more: #13 'a'"     # more-steps
wrong=(priority-differs priority-none priority-fewer-steps priority-more-steps)
all_wrong 2 funneled on auto
tells "rank 0: #7 'c', allreduce of 20000 F32 (sum), priority 2"                                 # priority-differs
tells "rank 1: #7 'c', allreduce of 20000 F32 (sum), priority -2"
tells "rank 0 gives them from collective #5 on, rank 1 has inserted #5 \"a\" without one"        # priority-none
tells "rank 1 has ended after 9 collectives on lane 0, but rank 0 starts one more: #"            # priority-fewer-steps: any of a step's
tells "rank 0 has ended after 13 collectives on lane 0, but rank 1 starts one more: #1"          # priority-more-steps: likewise
all_wrong 4 concurrent on auto
runs 3 funneled off auto priority-none # which is seen without any comparison
[ $status = 1 ] || { fail "priority-none, --verify off: status $status"; cat "$dir/err"; }
for design in $(names designs); do
    runs 3 $design full auto same priority same
    [ $status = 0 ] || { fail "priority, $design: status $status"; cat "$dir/err"; }
done
runs 2 chained on auto priority
tells "tutti_priority: the design chained starts collectives in program order, whatever their priority"
wrong=(swap count extra fewer-steps) # the tests of designs have all cases with every design
all_wrong 3 concurrent on ring
all_wrong 2 chained full auto
all_wrong 2 sequential on auto
all_wrong 3 chained on mpi

# One case is one program that ends: every rank with a failure and a sentence.
runs 3 funneled on auto swap
[ $status = 1 ] || fail "swap alone: status $status"
for rank in 0 1 2; do
    grep -q "^tutti: rank $rank: error: .*the ranks' collectives differ" "$dir/err" || fail "swap alone: rank $rank says nothing"
done
runs 2 funneled off auto same
[ $status = 0 ] || { fail "--verify off: status $status"; cat "$dir/err"; }
runs 2 funneled maybe auto same
tells "verify 'maybe' is not known; known: off, on, full"
TUTTI_VERIFY=maybe "$mpirun" -np 2 "$apps/sgd_parallel" > "$dir/out" 2> "$dir/err" && fail "TUTTI_VERIFY=maybe is accepted"
tells "tutti_attach: TUTTI_VERIFY='maybe': unknown verify; known: off, on, full"
TUTTI_STALL_DUMP=3 "$mpirun" -np 2 "$apps/sgd_parallel" > "$dir/out" 2> "$dir/err" && fail "TUTTI_STALL_DUMP=3 is accepted"
tells "TUTTI_STALL_DUMP is 3 s: must be more than the default of stall_warn_s, which is 5 s"
finish
