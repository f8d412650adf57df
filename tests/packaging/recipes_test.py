#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of packaging/ have the version of CMakeLists.txt, ask for every library that cmake/dependencies.cmake looks for, and give no option
that cmake/options.cmake does not have.

usage: recipes_test.py SOURCE_DIR
"""
import json
import re
import sys
from pathlib import Path

# What CMake looks for, as each distribution calls it.
NAMES = {"fmt": "fmt fmt fmt", "hwy": "highway libhwy highway", "CLI11": "cli11 cli11 cli11", "nlohmann_json": "nlohmann-json nlohmann_json nlohmann-json",
         "BLAS": "blas libblas blas"}
OF_THE_SYSTEM = {"Threads", "GTest", "PkgConfig", "Python3"}


def main():
    root = Path(sys.argv[1])
    recipes = {name: (root / "packaging" / name).read_text() for name in ("spack/package.py", "conda-forge/recipe.yaml", "vcpkg/vcpkg.json", "vcpkg/portfile.cmake")}
    version = re.search(r"project\(kizami VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    problems = [f"{name} has not version {version}" for name, text in recipes.items() if name != "vcpkg/portfile.cmake" and f'"{version}"' not in text]
    json.loads(recipes["vcpkg/vcpkg.json"])
    compile(recipes["spack/package.py"], "package.py", "exec")

    sought = set(re.findall(r"^\s*find_package\((\w+)", (root / "cmake/dependencies.cmake").read_text(), re.M)) - OF_THE_SYSTEM
    problems += [f"recipes_test.py does not know {name}" for name in sorted(sought - NAMES.keys())]
    for name in sorted(sought & NAMES.keys()):
        for file, called in zip(("spack/package.py", "conda-forge/recipe.yaml", "vcpkg/vcpkg.json"), NAMES[name].split()):
            if not re.search(rf"[\"\s]{called}[\"\s,]", recipes[file]):
                problems.append(f"{file} does not ask for {called}")
    options = set(re.findall(r"^(?:option|set)\((KIZAMI_\w+)", (root / "cmake/options.cmake").read_text(), re.M))
    for file, text in recipes.items():
        given = set(re.findall(r"-D(KIZAMI_\w+)=|define\w*\(\"(KIZAMI_\w+)\"", text))
        problems += [f"{file} gives {name}, which is no option" for pair in given for name in pair if name and name not in options]
    headers = re.findall(r"kizami/[\w.]+\.(?:hpp|h|f90)", recipes["conda-forge/recipe.yaml"])
    problems += [f"there is no include/{header}" for header in headers if not (root / "include" / header).is_file()]
    print("\n".join([*problems, f"{len(sought)} libraries, {len(options)} options, {len(problems)} problems"]))
    return 1 if problems or len(sought) < 5 or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
