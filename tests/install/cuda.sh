#!/bin/bash
# configure: what it says of CUDA, NCCL and cuDNN. StarPU with CUDA is here a header that says that it is.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
starpu=$(sed -n 's/^STARPU_LIBS = //p' "$TUTTI_BUILDDIR/Makefile")
flags=$(sed -n 's/^STARPU_CFLAGS = //p' "$TUTTI_BUILDDIR/Makefile")
mkdir "$dir/with" "$dir/without" "$dir/empty"
echo '#define STARPU_USE_CUDA 1' > "$dir/with/starpu_config.h"
: > "$dir/without/starpu_config.h"
# The system's programs without nvcc.
path=
while IFS= read -r -d : folder; do [ -x "$folder/nvcc" ] || path+=$folder:; done <<< "$PATH:"

# refuses SENTENCE with|without OPTION...
refuses() {
    local sentence=$1 kind=$2
    shift 2
    mkdir "$dir/build"
    (cd "$dir/build" && PATH=$path STARPU_CFLAGS="-I$dir/$kind $flags" STARPU_LIBS="$starpu" "$TUTTI_SRCDIR/configure" --quiet "$@") > "$dir/out" 2>&1 &&
        fail "accepted, $kind CUDA in StarPU: $*"
    grep -qF -e "$sentence" "$dir/out" || { fail "no \"$sentence\": $kind CUDA in StarPU: $*"; tail -n 5 "$dir/out"; }
    rm -rf "$dir/build"
}

refuses '--with-cuda=toolkit: it is yes, no, auto, or the folder of a CUDA toolkit, which begins with /' with --with-cuda=toolkit
refuses '--with-cuda needs a StarPU that was built with CUDA' without --with-cuda
refuses '--with-cuda needs a StarPU that was built with CUDA' without "--with-cuda=$dir/empty"
refuses "there is no nvcc in $dir/empty/bin, and StarPU was built with CUDA" with "--with-cuda=$dir/empty"
refuses '--with-nccl needs CUDA (--with-cuda), which this build does not use' with --without-cuda --with-nccl
refuses '--with-cudnn needs CUDA (--with-cuda), which this build does not use' without "--with-cudnn=$dir/empty"
refuses '--with-nccl=nccl: it is yes, no, auto, or the folder of NCCL' without --with-nccl=nccl
# What nvcc says is told.
mkdir "$dir/empty/bin"
printf '#!/bin/sh\necho this machine has no compiler\nexit 1\n' > "$dir/empty/bin/nvcc"
chmod +x "$dir/empty/bin/nvcc"
refuses "$dir/empty/bin/nvcc fails: this machine has no compiler" with "--with-cuda=$dir/empty"
finish
