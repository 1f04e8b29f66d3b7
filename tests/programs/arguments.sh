#!/bin/bash
# Wrong arguments of the public calls: each is an error with the call's name, on every rank, and nothing else changes.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/arguments

runs() { # DESIGN
    local status=0
    "$mpirun" -np 2 "$program" "$1" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 0 ] || { fail "$1: status $status"; cat "$dir/out" "$dir/err"; }
}
says() { # SENTENCE: on both ranks
    [ "$(grep -F -e "$1" "$dir/err" | sort -u | wc -l)" -ge "${2:-2}" ] || { fail "no two ranks say: $1"; cat "$dir/err"; }
}

"$mpirun" -np 1 "$program" stays > "$dir/out" 2>&1 # StarPU measures the machine once; two at a time meet in its files
for design in $(names designs); do runs $design; done
runs funneled
says 'tutti_attach: session is NULL' 1 # before the ranks have numbers
says "tutti_attach: design 'best' is not known"
says 'tutti_attach: lanes is -1: must be from 1 to 1024'
says 'tutti_attach: stall_warn_s is nan'
says 'stall_dump_s of tutti_attach_options is 8 s: must be more than stall_warn_s of tutti_attach_options, which is 9 s'
says 'tutti_allreduce: the session is NULL'
says 'tutti_allreduce: the session was detached'
says 'tutti_detach: the session does not come from tutti_attach'
says 'tutti_allreduce: the handle is NULL'
says 'tutti_allreduce: elements of the vector have 8 bytes, but TUTTI_F32 has 4'
says 'tutti_allreduce: unknown element type 17'
says 'tutti_reduce: unknown operator -1'
says 'tutti_broadcast: root 2 of 2 ranks'
says 'tutti_allreduce: the data have no value'
says 'tutti_allreduce: the data are partitioned'
says 'tutti_allgather: recv has 12 elements, not 24'
says 'tutti_wait: timeout_s is nan'
says 'tutti_wait: called inside a task'
grep -e '--[a-z]' "$dir/err" && fail 'a message of the library speaks of an option of programs'

runs stays
says 'tutti_detach: not called before MPI_Finalize, which now closes this session'
runs refused
says "options is \"accepted\" on rank 0 and \"refused\" on rank 1" 1
finish
