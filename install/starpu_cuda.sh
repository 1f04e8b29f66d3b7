#!/bin/bash
# Builds StarPU with CUDA from Debian's source package:   starpu_cuda.sh PREFIX CUDA [SOURCE]
#
# PREFIX: where it is installed; what is there already, from this script with this CUDA, is left as it is. CUDA: the toolkit's
# folder. SOURCE: the source's archive, where apt cannot get it. The source comes from the servers that this machine's apt
# knows, whose settings do not change. The work is done in PREFIX.work, where the logs are if it fails, and which is then
# continued. Needs gcc, g++, make, pkg-config and hwloc. STARPU_CUDA_CFLAGS: the compiler's options (-O2 -g1).
set -euo pipefail
release=1.3.10+dfsg-2 archive=starpu_1.3.10+dfsg.orig.tar.gz
checksum=682f3b7454f30493c116c8dcfa76daa014a8983923f904fafddf179d947664d4

die() { printf 'starpu_cuda.sh: %s\n' "$*" >&2; exit 1; }
[ $# -ge 2 ] && [ $# -le 3 ] || die "usage: starpu_cuda.sh PREFIX CUDA [SOURCE]"
[ -x "$2/bin/nvcc" ] || die "there is no $2/bin/nvcc: $2 is not the folder of a CUDA toolkit"
[ -z "${3:-}" ] || [ -f "$3" ] || die "$3: there is no such file"
prefix=$(realpath -m "$1") cuda=$(realpath -s "$2") source=${3:+$(realpath "$3")}
work=$prefix.work flags=${STARPU_CUDA_CFLAGS:--O2 -g1}

# What was built, by which steps: another script, another CUDA or other options build again.
built="$(sha256sum < "$0" | cut -c 1-16) $cuda $("$cuda/bin/nvcc" --version | sed -n 's/.*release //p') $flags"
if [ "$(cat "$prefix/built-by-tutti" 2> /dev/null)" = "$built" ]; then
    echo "StarPU with CUDA is in $prefix"
    exit 0
fi
mkdir -p "$work" || die "$work cannot be made"
exec 9> "$work/lock"
flock -n 9 || die "another build is at work in $work"

# step WHAT COMMAND...: tells the seconds; the output is in $work/WHAT.log.
step() {
    local what=$1 start=$SECONDS
    shift
    printf '  %-10s ' "$what"
    "$@" > "$work/$what.log" 2>&1 || {
        echo failed
        tail -n 15 "$work/$what.log" >&2
        die "$what failed; all of what it said is in $work/$what.log"
    }
    echo "$((SECONDS - start)) s"
}

is_whole() { [ -f "$1" ] && echo "$checksum  $1" | sha256sum -c --quiet 2> /dev/null; } # FILE

# A copy of apt's entries for Debian, made entries for sources, with lists of its own.
apt_settings() {
    local file
    mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" > apt/parts/"${file##*/}"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || sed -n 's/^deb /deb-src /p' "$file" > apt/parts/"${file##*/}"
    done
    find apt/parts -type f ! -exec grep -q debian {} \; -delete
    apt=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" -o Dir::State::Lists="$work/apt/lists"
        -o Dir::Cache="$work/apt/cache")
    [ "$(id -u)" != 0 ] || apt+=(-o APT::Sandbox::User=root)
}

download() {
    command -v apt-get > /dev/null || { echo "there is no apt-get: name the archive $archive"; return 1; }
    apt_settings
    ls apt/parts/* > /dev/null 2>&1 || { echo "apt has no entries for Debian in /etc/apt: name the archive $archive"; return 1; }
    apt-get "${apt[@]}" -qq update || return 1
    apt-get "${apt[@]}" -qq source --download-only "starpu=$release" && return
    echo "apt's servers have no source of starpu $release, which is Debian 12's: name the archive $archive"
    return 1
}

# What CUDA 13 took away: cublas.h beside cublas_v2.h, and computeMode of a device's properties.
unpack() {
    rm -rf src objects
    mkdir src objects
    tar -C src --strip-components=1 -xzf "$work/$archive" || return 1
    local in=src/src/drivers/cuda
    sed -i 's|^#include <cublas.h>$|#include <cublas_v2.h>|' $in/driver_cuda.h
    sed -i -e 's|^#include <cublas.h>$|#include <cublas_v2.h>\nunsigned cublasInit(void);\nunsigned cublasShutdown(void);\nunsigned cublasSetKernelStream(cudaStream_t stream);|' \
        -e 's|cublasStatus cublasst =|unsigned cublasst =|' $in/starpu_cublas.c
    sed -i 's|if (props\[devid\]\.computeMode == cudaComputeModeExclusive)|int compute_mode = 0;\n\tcudaDeviceGetAttribute(\&compute_mode, cudaDevAttrComputeMode, devid);\n\tif (compute_mode == cudaComputeModeExclusive)|' $in/driver_cuda.c
}

configure() {
    cd objects || return 1
    ../src/configure --prefix="$prefix" --enable-cuda --with-cuda-dir="$cuda" NVCC="$cuda/bin/nvcc" \
        --enable-maxcpus=64 --enable-maxcudadev=8 --enable-maxnodes=16 --disable-opencl --disable-mic --disable-mpi --disable-starpufft \
        --disable-socl --disable-fortran --disable-glpk --disable-build-doc --disable-build-examples --disable-build-tests \
        --disable-static ac_cv_lib_cusparse_cusparseCreate=no \
        CFLAGS="$flags -DDISABLE_CUSPARSE_DEPRECATED" CXXFLAGS="$flags" || return 1
    cd ..
    grep -q '#define STARPU_USE_CUDA 1' objects/include/starpu_config.h || { echo "StarPU's configure has not found CUDA in $cuda"; return 1; }
}

cd "$work"
echo "StarPU 1.3.10 with CUDA of $cuda, into $prefix: about 2 minutes on 2 cores"
if [ -n "$source" ]; then
    is_whole "$source" || die "$source: its SHA-256 is not that of $archive ($checksum)"
    [ "$source" -ef "$archive" ] || cp "$source" "$archive"
elif ! is_whole "$archive"; then
    rm -f "$archive"
    step download download
    is_whole "$archive" || die "$work/$archive, which was downloaded: its SHA-256 is not $checksum"
fi
if [ "$(cat configured 2> /dev/null)" != "$built" ]; then
    rm -f configured
    step unpack unpack
    step configure configure
    echo "$built" > configured
fi
step make make -C objects -j"$(nproc)"
step install make -C objects install
echo "$built" > "$prefix/built-by-tutti"
rm -rf "$work"
