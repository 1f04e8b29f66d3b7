#!/bin/bash
# libtutti-mpicheck and programs whose calls could pass by it: those that load MPI at run time are checked (dlsym in MPI's handle, a
# module with RTLD_DEEPBIND); of those that it cannot see (MPI's functions in the executable, another library before it) one
# line says so.
set -u
. "${TUTTI_SRCDIR:?}/apps/tools/launch.sh"
mpirun=${MPIRUN:-mpirun}
kind=$(launch_kind "$mpirun")
launch_here "$kind" 1000
case $kind in
hydra) suffix=.mpich soname=libmpich.so.12 ;;
*) suffix=.openmpi soname=libmpi.so.40 ;;
esac
cc=$(command -v "mpicc$suffix" || command -v mpicc) || { echo "no mpicc: skipped"; exit 77; }
library=$(readlink -f "${TUTTI_BUILDDIR:?}/.libs/libtutti-mpicheck.so")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# Rank 1 calls MPI_Barrier where the others call MPI_Bcast, if it is asked to.
cat > body.h << 'END'
#include <string.h>
static int body(int argc, char **argv)
{
    int r, v = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(WORLD, &r);
    if (argc > 1 && strcmp(argv[1], "wrong") == 0 && r == 1)
        CALL(MPI_Barrier)(WORLD);
    else
        CALL(MPI_Bcast)(&v, 1, INT, 0, WORLD);
    CALL(MPI_Finalize)();
    return 0;
}
END
cat > byname.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
static void *h;
#define CALL(name) ((__typeof__(&name))dlsym(h, #name))
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)dlsym(h, "ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)dlsym(h, "ompi_mpi_int"))
#else
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#endif
#include "body.h"
int main(int argc, char **argv) { return (h = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL)) ? body(argc, argv) : 9; }
END
cat > module.c << 'END'
#include <mpi.h>
#define CALL(name) name
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#include "body.h"
int run(int argc, char **argv) { return body(argc, argv); }
END
cat > deep.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *h = dlopen("./module.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return h ? ((int (*)(int, char **))dlsym(h, "run"))(argc, argv) : 9;
}
END
cat > init.c << 'END'
#include <mpi.h>
int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }
END
cat > plain.c << 'END'
int run(int argc, char **argv);
int main(int argc, char **argv) { return run(argc, argv); }
END
gcc=${CC:-cc}
{ "$cc" -DSONAME="\"$soname\"" -c byname.c && $gcc byname.o -o byname -ldl && "$cc" -fPIC -shared module.c -o module.so &&
    $gcc deep.c -o deep -ldl && "$cc" plain.c module.c init.c -o inside && "$cc" -fPIC -shared init.c -o other.so &&
    "$cc" plain.c module.c -o plain; } || { echo "this compiler cannot build the programs"; exit 1; }

failed=0
# expect STATUS WORDS PRELOADED PROGRAM ARGUMENT
expect() {
    local status=0
    TUTTI_MPICHECK_VERBOSE=1 timeout -k 2 60 "$mpirun" -np 2 env LD_PRELOAD="$3" "./$4" "$5" \
        < /dev/null > "$4.out" 2>&1 || status=$?
    [ $status = "$1" ] && [ "$(grep -acF -- "$2" "$4.out")" = 1 ] && return
    echo "$4 $5: status $status, expected $1 and one line with: $2"
    cat "$4.out"
    failed=1
}
checked='no error in 1 collectives of 2 ranks' wrong='error: collectives do not match'
expect 0 "$checked" "$library" byname right
expect 86 "$wrong" "$library" byname wrong
if ! grep -q libasan.so <(ldd "$library"); then # which refuses RTLD_DEEPBIND
    expect 0 "$checked" "$library" deep right
    expect 86 "$wrong" "$library" deep wrong
fi
expect 0 'nothing is checked' "$library" inside right
expect 0 'nothing is checked' "$dir/other.so:$library" plain right
expect 0 "$checked" "$library" plain right
exit $failed
