#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libkizami_cublas.so shows to a program: functions of cuBLAS that its headers declare, as the table in docs/dropin.md
has them, each with its twin for 64-bit integers; factorizations of cuSOLVER; and no library that the program did not have.

usage: library_test.py NM READELF LIBRARY DOCUMENT ENTRY_POINTS CUSOLVER_HEADER            compare
       library_test.py NM READELF LIBRARY DOCUMENT ENTRY_POINTS CUSOLVER_HEADER --write    write the table into the document
CUSOLVER_HEADER: or NOTFOUND, where the library has nothing of cuSOLVER's
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dropin_policy"))
from exports import exported_by, foreign, needed_by, table_problems

NAME = re.compile(r"cublas(Lt|Xt)?((?:[SDCZ](?!e))?)(\w+?)(_v2)?(_64)?", re.ASCII)


OUR_OWN = {"kizami_use_native", "kizami_workspaces",
           *(f"kizami_dropin_{verb}" for verb in ("set", "get", "reset", "error", "name_operand", "unname_operands", "forget_operand", "kept"))}


# Of cuSOLVER's factorizations those of FP64 whose updates are products (dropin/cusolver).
SOLVERS = re.compile(r"cusolverDn[DX](potrf|getrf)", re.ASCII)


def solvers_of(header):
    """The functions that the library should have before cuSOLVER's."""
    if not header or header.endswith("NOTFOUND"):
        return set()
    return {name for name in re.findall(r"\b(cusolverDn\w+)\s*\(", Path(header).read_text()) if SOLVERS.fullmatch(name)}


def problems_of(exported, declared, needed):
    found = [f"exported, but no product of the headers: {name}" for name in sorted(exported - declared)]
    found += [f"of the headers, but not exported: {name}" for name in sorted(declared - exported)]
    return found + foreign(needed)


def table(exported):
    rows = {}
    for name in exported:
        library, letter, stem, version, wide = NAME.fullmatch(name).groups()
        form = f"cublas{library or ''}{'<t>' if letter else ''}{stem}{version or ''}"
        row = rows.setdefault(form, (set(), set()))
        row[0].add(letter.lower())
        row[1].add(wide or "")
    lines = ["| function | types | `_64` |", "|---|---|---|"]
    for form in sorted(rows):
        letters, widths = rows[form]
        types = " ".join(letter for letter in "sdcz" if letter in letters) or "by its arguments"
        lines.append(f"| `{form}` | {types} | {'yes' if '_64' in widths else 'no'} |")
    return "\n".join(lines) + "\n"


def self_test():
    good = {"cublasSgemm_v2", "cublasSgemm_v2_64"}
    bad = [(good | {"cublasHgemm"}, []), (good - {"cublasSgemm_v2"}, []), (good, ["libcublas.so.13"]),
           (good, ["libstdc++.so.6"]), (good, ["libcuda.so.1"]), (good, ["libopenblas.so.0"])]
    return (not problems_of(good, good, ["libc.so.6", "ld-linux-x86-64.so.2"]) and
            all(problems_of(names, good, needed) for names, needed in bad) and
            table(good).endswith("| `cublas<t>gemm_v2` | s | yes |\n"))


def main():
    nm, readelf, library, document, entry_points, cusolver_header = sys.argv[1:7]
    exported, needed = exported_by(nm, library), needed_by(readelf, library)
    exported -= OUR_OWN
    declared = set(re.findall(r"^ENTRY_POINT\((\w+),", Path(entry_points).read_text(), flags=re.M))
    solvers = solvers_of(cusolver_header)
    problems = problems_of(exported, declared | solvers, needed)
    problems += [f"not named in {document}: {name}" for name in sorted(solvers) if f"`{name}`" not in Path(document).read_text()]
    problems += table_problems(document, "cublas", table(exported - solvers), sys.argv[7:] == ["--write"])
    if not self_test():
        problems.append("self-test: a violation was not seen, or a clean library was refused")
    print("\n".join(problems + [f"{len(exported)} functions, needs {' '.join(needed)}: {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
