# SPDX-FileCopyrightText: 2026 the Tutti authors
# SPDX-License-Identifier: BSD-3-Clause
#
# A recipe for Spack, for a checkout:   spack repo add install/spack && spack dev-build tutti@0.3.0
from spack.package import *


class Tutti(AutotoolsPackage):
    """Collectives as tasks of StarPU programs, and training of image classifiers on top of them."""

    license("BSD-3-Clause")
    version("0.3.0")

    variant("cuda", default=False, description="Kernels for NVIDIA's GPUs; needs a StarPU with CUDA")
    variant("faults", default=False, description="TUTTI_FAULT, with which tests make a rank misbehave")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("check", type="build")
    depends_on("mpi")
    depends_on("starpu@1.3:")
    depends_on("starpu+cuda", when="+cuda")
    depends_on("cuda", when="+cuda")
    depends_on("cudnn", when="+cuda")
    depends_on("onednn@2.6:")
    depends_on("elfutils")
    depends_on("jansson")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("libwebp")
    depends_on("protobuf-c")
    depends_on("xxhash")
    depends_on("zlib-api")

    def configure_args(self):
        args = ["MPICC=" + self.spec["mpi"].mpicc]
        args += self.enable_or_disable("faults")
        args += self.with_or_without("cuda", activation_value="prefix")
        return args
