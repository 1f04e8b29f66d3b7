#!/bin/bash
# The kernels as lesser processors compute them: DNNL_MAX_CPU_ISA takes the instructions for bf16 away, then all of AVX-512;
# TUTTI_MAX_ISA takes clones of our own loops away, whose bits must be the same with each.
# Each clone must also keep its vectors in registers (test_rates). How often and how much they compute is test_kernels' own business: fewer rounds and no large cases here.
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
for pair in avx512:AVX512_CORE avx2:AVX2 default:AVX2; do
    isa=${pair%:*}
    TUTTI_TEST_FEWER=1 TUTTI_TEST_BITS=$scratch/$isa TUTTI_MAX_ISA=$isa DNNL_MAX_CPU_ISA=${pair#*:} \
        "${TUTTI_BUILDDIR:?}/tests/kernels/test_kernels" || { echo "with $pair: status $?"; exit 1; }
    TUTTI_MAX_ISA=$isa "$TUTTI_BUILDDIR/tests/kernels/test_rates" || exit 1
    test -s "$scratch/$isa" || { echo "with $pair: no bits"; exit 1; }
    cmp -s "$scratch/avx512" "$scratch/$isa" && continue
    echo "the widest clone < and $isa > have other bits:"
    diff "$scratch/avx512" "$scratch/$isa" | head -20
    exit 1
done
