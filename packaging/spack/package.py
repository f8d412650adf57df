# SPDX-License-Identifier: MIT
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Kizami(CMakePackage, CudaPackage):
    """Matrix products with a proven error bound, and the same bits on every engine, thread count and machine."""

    license("MIT")
    # url and sha256 of a release: see packaging/README.md.
    version("0.1.0")

    variant("tests", default=False, description="Build the tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("highway")
    depends_on("blas")
    depends_on("fmt")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("googletest", when="+tests", type="build")
    depends_on("mpfr", when="+tests", type="build")
    depends_on("python@3.9:", when="+tests", type="build")
    depends_on("cuda@12.0:", when="+cuda")
    requires("cuda_arch=90", when="+cuda", msg="the code for compute capability 9.0 is what has been run")

    def cmake_args(self):
        return [
            self.define("KIZAMI_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("KIZAMI_PYTHON", "OFF"),
            self.define_from_variant("KIZAMI_TESTS", "tests"),
        ]
