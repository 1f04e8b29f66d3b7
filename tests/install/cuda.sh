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

configures() { # with|without OPTION...: where StarPU has CUDA, or has not
    local kind=$1 status=0
    shift
    mkdir "$dir/build"
    (cd "$dir/build" && PATH=$path STARPU_CFLAGS="-I$dir/$kind $flags" STARPU_LIBS="$starpu" "$TUTTI_SRCDIR/configure" --quiet "$@") || status=$?
    rm -rf "$dir/build"
    return $status
}

refuses 1 '--with-cuda=toolkit: it is yes, no, auto, or the folder of a CUDA toolkit, which begins with /' configures with --with-cuda=toolkit
refuses 1 '--with-cuda needs a StarPU that was built with CUDA' configures without --with-cuda
refuses 1 '--with-cuda needs a StarPU that was built with CUDA' configures without "--with-cuda=$dir/empty"
refuses 1 "there is no nvcc in $dir/empty/bin, and StarPU was built with CUDA" configures with "--with-cuda=$dir/empty"
refuses 1 '--with-nccl needs CUDA (--with-cuda), which this build does not use' configures with --without-cuda --with-nccl
refuses 1 '--with-cudnn needs CUDA (--with-cuda), which this build does not use' configures without "--with-cudnn=$dir/empty"
refuses 1 '--with-nccl=nccl: it is yes, no, auto, or the folder of NCCL' configures without --with-nccl=nccl
# What nvcc says is told.
mkdir "$dir/empty/bin"
printf '#!/bin/sh\necho this machine has no compiler\nexit 1\n' > "$dir/empty/bin/nvcc"
chmod +x "$dir/empty/bin/nvcc"
refuses 1 "$dir/empty/bin/nvcc fails: this machine has no compiler" configures with "--with-cuda=$dir/empty"
# One that compiles for 7.5.
printf '#!/bin/sh\nexec "${CC:-cc}" -x c++ -D__global__= -D__CUDA_ARCH__=750 -fsyntax-only conftest.cu\n' > "$dir/empty/bin/nvcc"
refuses 1 'kernels need compute capability 8.0 or higher: see CUDA_GENCODE' configures with "--with-cuda=$dir/empty"
finish
