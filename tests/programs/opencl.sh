#!/bin/bash
# A program whose tasks write and read on an OpenCL device: PoCL makes one of the processor, with a memory node of its own.
# Collectives have what was written there, and tasks there see what collectives made, with every design.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/opencl
if [ ! -x "$program" ]; then
    echo "SKIPPED: built without OpenCL (StarPU with it, and CL/cl.h: ocl-icd-opencl-dev)"
    exit 77
fi
unset OCL_ICD_VENDORS # of the guard
export STARPU_OPENCL_ON_CPUS=1 STARPU_OPENCL_ONLY_ON_CPUS=1 STARPU_WORKERS_NOBIND=1 POCL_CACHE_DIR=$dir/pocl
mkdir "$POCL_CACHE_DIR"

# runs P DESIGN: the program; output in $dir/out, exit status in $status.
runs() {
    status=0
    TUTTI_DESIGN=$2 "$mpirun" -np "$1" "$program" > "$dir/out" 2>&1 || status=$?
}

# Alone at first: StarPU measures the machine when it starts, and must not be met by another rank in that.
runs 1 funneled
if [ $status = 77 ]; then
    echo "SKIPPED: no OpenCL device here (pocl-opencl-icd makes one of the processor)"
    exit 77
fi
[ $status = 0 ] || { fail "alone: status $status"; cat "$dir/out"; }
for design in sequential $(names overlapping); do
    runs 2 $design
    [ $status = 0 ] || { fail "$design: status $status"; cat "$dir/out"; }
done
finish
