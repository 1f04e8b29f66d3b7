#!/bin/bash
# The program that attaches stays in control: whatever happens, the library does not end its process unless it was
# allowed to, writes nothing to stderr when the program has a log of its own, and every error can be read as text.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/host
slowdown=${TUTTI_TEST_SLOWDOWN:-1}

runs() { # STATUS CASE DESIGN [abort]: output in $dir/out, stderr in $dir/err
    local wanted=$1 status=0
    shift
    env TUTTI_STALL_WARN=0.5 TUTTI_STALL_DUMP=1 TUTTI_STALL_ABORT=$abort "TUTTI_STALL_DIR=$dir" \
        timeout $((60 * slowdown)) "$mpirun" -np 2 "$program" "$1" "$2" $((abort + 3)) "${@:3}" > "$dir/out" 2> "$dir/err" || status=$?
    case $wanted in
    0) [ $status = 0 ] || fail "$*: status $status" ;;
    *) [ $status != 0 ] && [ $status != 124 ] || fail "$*: status $status" ;;
    esac
    ! grep -q '^tutti' "$dir/err" || { fail "$*: stderr is written to"; cat "$dir/err"; }
}
says() { # PATTERN
    grep -qE -e "$1" "$dir/out" || { fail "nobody says: $1"; cat "$dir/out" "$dir/err"; }
}
says_not() { # PATTERN
    ! grep -qE -e "$1" "$dir/out" || { fail "somebody says: $1"; cat "$dir/out" "$dir/err"; }
}

# StarPU measures the machine once; two at a time meet in its files.
"$mpirun" -np 1 "$program" nothing funneled 0 > "$dir/out" 2>&1
abort=$((6 * slowdown)) # seconds of a stall
for design in funneled sequential; do # with a thread, and without
    runs 0 stands "$design"
    says "rank 0: tutti_wait: timeout: no rank has been able to continue for $abort s, the stall limit"
    says 'log: rank 0: error: no rank has been able to continue'
    says 'rank 0: is still here'
    for rank in 0 1; do says "rank $rank: has ended MPI"; done
    TUTTI_SETUP_TIMEOUT=2 runs 0 absent "$design"
    says "rank 0: tutti_attach: timeout: the communication layer was not set up within 2 s: .*(this rank is in MPI_Comm_dup)"
    says "rank 1: tutti_attach: timeout: "
    says_not "different options"
    for rank in 0 1; do says "rank $rank: has ended MPI"; done
done
runs 1 stands funneled abort
says_not 'rank 0: is still here'

for design in funneled sequential; do # MPI_Finalize would wait for the rank that is missing
    runs 1 leaves "$design" abort
    says_not 'rank 0: has ended MPI'
done

# Ranks that live, and wait for each other: what was in flight has ended, in its own session and without MPI_Abort.
abort=$((2 * slowdown))
for design in funneled sequential; do
    runs 0 crossed "$design" abort
    for rank in 0 1; do
        says "rank $rank: tutti_wait: timeout: .*no rank has been able to continue for $abort s, the stall limit"
        says "rank $rank: tutti_detach: timeout: "
        says "rank $rank: is still here"
        says "rank $rank: has ended MPI"
        grep -q "\"event\":\"stall\",\"rank\":$((1 - rank))," "$dir/tutti-stall.$rank.2.json" ||
            fail "$design: no file of rank $rank: $(ls "$dir")"
    done
    rm -f "$dir"/tutti-stall.*
done

runs 0 differs funneled
for rank in 0 1; do
    says "rank $rank: nothing: inval: tutti_allreduce: elements of the vector have 4 bytes, but TUTTI_U8 has 1"
    says "rank $rank: tutti_wait: mismatch: .*the ranks' collectives differ"
    says "rank $rank: tutti_detach: mismatch: .*the ranks' collectives differ"
    says "log: rank $rank: error: .*the ranks' collectives differ"
done
finish
