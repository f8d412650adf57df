#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libkizami_blas.so shows to a program: the routines of the table in docs/dropin.md, each under all names, and no library
that the program did not have.

usage: library_test.py NM READELF LIBRARY DOCUMENT            compare
       library_test.py NM READELF LIBRARY DOCUMENT --write    write the table into the document
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dropin_policy"))
from exports import exported_by, foreign, needed_by, table_problems

FORMS = ("{}_", "{}_64_", "scipy_{}_", "scipy_{}_64_", "cblas_{}", "cblas_{}64_", "cblas_{}_64", "scipy_cblas_{}",
         "scipy_cblas_{}64_")
STEM = re.compile(r"(?:scipy_)?(?:cblas_)?([sdcz])(gemm3m|gemmt|gemm|symm|hemm|syr2k|syrk|her2k|herk|trmm|trsm)"
                  r"(?:_|_64_|64_|_64)?")


OWN = {f"kizami_dropin_{verb}" for verb in ("set", "get", "reset", "error", "name_operand", "unname_operands", "forget_operand", "kept")}  # kizami/dropin.h


def routines(exported):
    """{routine: letters}, and what is exported that is none, or lacks a name."""
    found, problems = {}, []
    for name in sorted(exported - OWN):
        match = STEM.fullmatch(name)
        if match is None:
            problems.append(f"exported, but no routine: {name}")
        else:
            found.setdefault(match.group(2), set()).add(match.group(1))
    for routine, letters in found.items():
        for letter in letters:
            problems += [f"not exported: {form.format(letter + routine)}" for form in FORMS
                         if form.format(letter + routine) not in exported]
    return found, problems


def table(found):
    order = ["gemm", "gemm3m", "gemmt", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm"]
    lines = ["| routine | types | Fortran | C |", "|---|---|---|---|"]
    for routine in order:
        letters = [letter for letter in "sdcz" if letter in found.get(routine, ())]
        if letters:
            stem = letters[-1] + routine
            lines.append(f"| {routine} | {' '.join(letters)} | `{stem}_`, `{stem}_64_` | `cblas_{stem}`, `cblas_{stem}_64`, "
                         f"`cblas_{stem}64_` |")
    return "\n".join(lines) + "\n"


def self_test():
    all_names = {form.format("dgemm") for form in FORMS}
    found, clean = routines(all_names)
    return (found == {"gemm": {"d"}} and not clean and routines(all_names - {"cblas_dgemm_64"})[1] and
            routines(all_names | {"ddot_"})[1] and len(foreign(["libstdc++.so.6", "libopenblas.so.0", "libc.so.6"])) == 2)


def main():
    nm, readelf, library, document = sys.argv[1:5]
    exported, needed = exported_by(nm, library), needed_by(readelf, library)
    found, problems = routines(exported)
    problems += [f"not exported: {name}" for name in sorted(OWN - exported)]
    problems += foreign(needed)
    problems += table_problems(document, "routines", table(found), sys.argv[5:] == ["--write"])
    if not self_test():
        problems.append("self-test: a violation was not seen, or a clean library was refused")
    print("\n".join(problems + [f"{len(exported)} functions, needs {' '.join(needed)}: {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
