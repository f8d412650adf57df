#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Fortran module names the same functions, with as many arguments, and the same constants as kizami.h.

usage: fortran_module_test.py SOURCE_DIR
"""
import re
import sys
from pathlib import Path


def c_facts(header):
    """Constants and functions (with their number of arguments) of kizami.h."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    functions = {}
    for name, arguments in re.findall(r"KIZAMI_API [\w *]*?\b(kizami_\w+)\(([^;]*)\);", code):
        functions[name] = 0 if arguments.strip() == "void" else arguments.count(",") + 1
    return dict(re.findall(r"\b(KIZAMI_\w+) = (-?\d+)", code)), functions


def fortran_facts(module):
    """The same of kizami.f90."""
    code = re.sub(r"\s*&\n\s*", " ", re.sub(r"!.*", "", module))
    functions = {}
    for arguments, name in re.findall(r'(?:function|subroutine) kizami_\w+\(([^)]*)\) bind\(C, name="(\w+)"\)', code):
        functions[name] = arguments.count(",") + 1 if arguments.strip() else 0
    return dict(re.findall(r"parameter, public :: (KIZAMI_\w+) = (-?\d+)", code)), functions


def problems(c, fortran):
    found = []
    for kind, in_c, in_fortran in zip(["constant", "function"], c, fortran):
        for name in sorted(in_c.keys() | in_fortran.keys()):
            if in_c.get(name) != in_fortran.get(name):
                found.append(f"{kind} {name}: {in_c.get(name)} in C, {in_fortran.get(name)} in Fortran")
    return found


def main():
    folder = Path(sys.argv[1]) / "include/kizami"
    c, fortran = c_facts((folder / "kizami.h").read_text()), fortran_facts((folder / "kizami.f90").read_text())
    found = problems(c, fortran)
    if not c[0] or not c[1]:
        found.append("nothing was read from kizami.h")
    for changed in [({"KIZAMI_X": "1"}, {}), ({}, {"kizami_x": 1})]:  # a difference must be seen
        if not problems(changed, ({}, {})) or not problems(({}, {}), changed):
            found.append("self-test: a difference was not seen")
    print("\n".join(found + [f"{len(c[0])} constants, {len(c[1])} functions, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
