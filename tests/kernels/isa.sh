#!/bin/bash
# The kernels as lesser processors compute them: DNNL_MAX_CPU_ISA takes the instructions for bf16 away, then all of AVX-512.
# How often and how much they compute is test_kernels' own business: fewer rounds and no large cases here.
set -u
for isa in AVX512_CORE AVX2; do
    TUTTI_TEST_FEWER=1 DNNL_MAX_CPU_ISA=$isa "${TUTTI_BUILDDIR:?}/tests/kernels/test_kernels" || { echo "with $isa: status $?"; exit 1; }
done
