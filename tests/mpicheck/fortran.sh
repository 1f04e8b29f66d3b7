#!/bin/bash
# libtutti-mpicheck and Fortran: right programs with mpif.h, use mpi, use mpi_f08, and a C program with a part in Fortran end with
# 0 and without an error.
set -u
. "${TUTTI_SRCDIR:?}/apps/tools/launch.sh"
mpirun=${MPIRUN:-mpirun}
kind=$(launch_kind "$mpirun")
launch_here "$kind" 1000
case $kind in
hydra) suffixes=(.mpich '') ;;
*) suffixes=(.openmpi '') ;;
esac
for suffix in "${suffixes[@]}"; do
    fortran=$(command -v "mpifort$suffix") && cc=$(command -v "mpicc$suffix") && break
done
[ -n "${fortran:-}" ] && [ -n "${cc:-}" ] || { echo "no mpifort: skipped"; exit 77; }
"$fortran" -show > /dev/null 2>&1 || { echo "skipped: there is no Fortran compiler of this MPI"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# main HEADER REQUEST STATUS: a program in Fortran.
main() {
    cat << END
program main
$1
implicit none
integer :: e, r, x
$2 :: q
$3
call MPI_Init(e)
call MPI_Comm_rank(MPI_COMM_WORLD, r, e)
x = r
call MPI_Bcast(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
if (r == 0) call MPI_Send(x, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, e)
if (r == 1) call MPI_Irecv(x, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, q, e)
if (r == 1) call MPI_Wait(q, s, e)
call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
call MPI_Finalize(e)
end program
END
}
main 'use mpi' integer 'integer :: s(MPI_STATUS_SIZE)' > mpi.f90
main 'use mpi_f08' 'type(MPI_Request)' 'type(MPI_Status) :: s' > f08.f90
main '' integer "include 'mpif.h'
integer :: s(MPI_STATUS_SIZE)" > mpif.f90
cat > part.f90 << 'END'
subroutine part(r, q)
implicit none
include 'mpif.h'
integer :: r, q, e, x
x = r
call MPI_Bcast(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
call MPI_Wait(q, MPI_STATUS_IGNORE, e)
end subroutine
END
# One rank begins in C and ends in Fortran what the other does in C alone.
cat > mixed.c << 'END'
#include <mpi.h>
void part_(MPI_Fint *, MPI_Fint *);
int main(int argc, char **argv)
{
    int r, x = 0;
    MPI_Request q;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0)
        MPI_Isend(&r, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q);
    else
        MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q);
    if (r == 0) {
        MPI_Fint rank = r, request = MPI_Request_c2f(q);
        part_(&rank, &request);
    } else {
        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
END

failed=0
check() { # NAME
    local status=0
    timeout -k 2 60 "$mpirun" -np 2 env LD_PRELOAD="${TUTTI_BUILDDIR:?}/.libs/libtutti-mpicheck.so" "./$1" \
        < /dev/null > "$1.out" 2>&1 || status=$?
    if [ $status != 0 ] || grep -aq 'tutti-mpicheck: error' "$1.out"; then
        echo "$1: status $status"
        cat "$1.out"
        failed=1
    fi
}
checked=0
for name in mpi f08 mpif; do
    # An MPI may come without the modules of this compiler.
    "$fortran" -fallow-argument-mismatch "$name.f90" -o "$name" > "$name.log" 2>&1 || continue
    check "$name"
    checked=$((checked + 1))
done
if "$cc" -c mixed.c && "$fortran" -c part.f90 > part.log 2>&1 && "$fortran" mixed.o part.o -o mixed; then
    check mixed
    checked=$((checked + 1))
fi
echo "$checked programs"
[ $checked -gt 0 ] || exit 77
exit $failed
