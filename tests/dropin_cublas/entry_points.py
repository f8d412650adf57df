#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the entry points of matrix products in the headers of cuBLAS as lines ENTRY_POINT(name, (parameters), (arguments)).

usage: entry_points.py HEADER...
"""
import re
import sys
from pathlib import Path

PROTOTYPE = re.compile(r"cublasStatus_t\s+(?:CUBLASWINAPI\s+)?(cublas\w+)\s*\(([^(){};]*)\)\s*;")
PRODUCT = re.compile(r"cublas(Xt)?([SDCZ](?!e)|Gemm|Lt).*", re.ASCII)
ROUTINE = re.compile(r"gemm|Gemm|Matmul$|syrk|herk|syr2k|her2k|symm|hemm|trmm|trsm")
# Of half precision and integers; batches of triangles; of cublasXt all but products.
NOT_TAKEN = re.compile(r"Hgemm|Uint8|trsmBatched|Xt.(?!gemm$)")
# Which devices a handle of cublasXt is for.
BESIDE = {"cublasXtDeviceSelect", "cublasXtDestroy"}


def entry_points(text):
    """[(name, parameters, arguments)] of the products, by name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    found = {}
    for name, parameters in PROTOTYPE.findall(text):
        is_product = PRODUCT.fullmatch(name) and ROUTINE.search(name) and not NOT_TAKEN.search(name)
        if is_product or name in BESIDE:
            parameters = " ".join(parameters.split())
            arguments = [re.search(r"(\w+)(?:\[\])?$", part.strip()).group(1) for part in parameters.split(",")]
            found[name] = (name, parameters, ", ".join(arguments))
    return [found[name] for name in sorted(found)]


def main():
    text = "\n".join(Path(path).read_text() for path in sys.argv[1:])
    for name, parameters, arguments in entry_points(text):
        print(f"ENTRY_POINT({name}, ({parameters}), ({arguments}))")


if __name__ == "__main__":
    main()
