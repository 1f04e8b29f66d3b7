#!/bin/bash
# Mutants of what runs on a GPU: steps, NCCL's collectives and those of --cuda-aware on the fake device are seen to fail.  mutants.sh [PATCH...]; without arguments, all
#
# Each *.patch here breaks one rule. It is applied to a copy of its source, the one object is compiled and linked before the
# library's, and test_steps has to fail in some order of streams; or test_nccl, where the patch is called nccl_*,
# test_gpu_fake, where it is called gpu_*, aware_ranks on two ranks, where it is called aware_*, and engine_ranks on three, where it is called
# engines_*. A patch that does not apply any more is a failure, too.
# Objects, compiler and flags are the build's (TUTTI_BUILDDIR).
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=${TUTTI_SRCDIR:?}
build=${TUTTI_BUILDDIR:?}
limit=$((60 * ${TUTTI_TEST_SLOWDOWN:-1})) # a mutant may loop for ever; the right program takes seconds
[ -x "$build/tests/device/test_steps" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=$build/tests/deadlock/mutants/flags fake=$build/tests/device/fake
CC=$(sed -n 1p "$flags") compile=$(sed -n 2p "$flags") libraries=$(sed -n 3p "$flags")
export STARPU_HOME=$scratch STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=256 TUTTI_TEST_ROUNDS=15
export LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ulimit -c 0
cd "$build" || exit 1

# link PROGRAM OBJECT...: it with these objects before the library's.
shopt -s nullglob
link() {
    # shellcheck disable=SC2086
    $CC -o "$scratch/test" tests/device/*"$1"-*.o tests/kernels/*"$1"-*.o "${@:2}" "$fake"/*_fake.o .libs/libsession.a .libs/libmodels.a .libs/libtesting.a .libs/libcore.a \
        "$fake"/lib*.so.* $libraries
}

# Whether PROGRAM fails in some order.
fails() {
    local order command=("$scratch/test")
    if [ "$1" = engine_ranks ]; then command=("${MPIRUN:-mpirun}" -np 3 "$scratch/test"); fi
    if [ "$1" = aware_ranks ]; then command=("${MPIRUN:-mpirun}" -np 2 env LD_PRELOAD="$fake/libaware.so" "$scratch/test"); fi
    for order in late random eager; do
        { TUTTI_FAKE_ORDER=$order timeout "$limit" "${command[@]}" > "$scratch/log" 2>&1; } 2> /dev/null || return 0
    done
    return 1
}

program_of() { # PATCH
    case ${1##*/} in nccl_*) echo test_nccl ;; aware_*) echo aware_ranks ;; engines_*) echo engine_ranks ;; gpu_*) echo test_gpu_fake ;; *) echo test_steps ;; esac
}

# judge PATCH: prints a line; returns whether it was caught.
judge() {
    local patch=$1 name file object=$scratch/mutant.o
    name=$(basename "$patch" .patch)
    file=$(sed -n 's#^+++ b/##p' "$patch")
    mkdir -p "$scratch/$(dirname "$file")"
    install -m 644 "$source/$file" "$scratch/$file"
    if ! patch --silent --fuzz=0 -d "$scratch" -p1 < "$patch" > "$scratch/log" 2>&1; then
        echo "FAILED: $name does not apply: $(head -n 3 "$scratch/log")"
        return 1
    fi
    # shellcheck disable=SC2086
    if ! $CC $compile -w -c -o "$object" "$scratch/$file" > "$scratch/log" 2>&1 || ! link "$(program_of "$patch")" "$object" > "$scratch/log" 2>&1; then
        echo "FAILED: $name does not compile: $(head -n 3 "$scratch/log")"
        return 1
    fi
    if fails "$(program_of "$patch")"; then
        echo "caught: $name: $(head -n 1 "$patch")"
    else
        echo "FAILED: $name was not caught: $(head -n 1 "$patch")"
        return 1
    fi
}

[ $# -gt 0 ] || set -- "$here"/*.patch
[ -x "$build/tests/device/test_nccl" ] || for patch; do # a build without NCCL
    shift
    [ "$(program_of "$patch")" = test_nccl ] || set -- "$@" "$patch"
done
for program in $(for patch; do program_of "$patch"; done | sort -u); do
    if ! link "$program" > "$scratch/log" 2>&1 || fails "$program"; then
        echo "FAILED: $program does not pass without a mutant"
        tail -n 20 "$scratch/log"
        exit 1
    fi
done
caught=0
for patch; do judge "$patch" && caught=$((caught + 1)); done
echo "$caught of $# mutants caught"
[ $caught = $# ]
