#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the proofs of this folder by Coq: writes moduli.v from src/num/moduli.hpp, so that what is proven is what is compiled, compiles all
files, and fails where a theorem rests on an axiom other than those of Coq's real numbers.

usage: prove.py WORK_DIR [--self-test]    --self-test: a false modulus and a false theorem must be seen
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ["moduli.v", "modular.v", "scaling.v", "block_sum.v"]
# Of the standard library's construction of the reals, and excluded middle as Flocq uses it.
AXIOMS = {"ClassicalDedekindReals.sig_not_dec", "ClassicalDedekindReals.sig_forall_dec", "FunctionalExtensionality.functional_extensionality_dep",
          "Classical_Prop.classic"}


def moduli_text(header):
    """The two lists of moduli.hpp as definitions."""
    lines = ["(* Written by prove.py from src/num/moduli.hpp. *)", "From Coq Require Import ZArith List.", "Import ListNotations.", "Open Scope Z_scope."]
    for name, constant in (("real_moduli", "kRealModuli"), ("complex_moduli", "kComplexModuli")):
        found = re.search(rf"std::array<std::int16_t, (\d+)> {constant} = \{{(.*?)\}};", header, re.S)
        values = re.findall(r"\d+", found[2])
        if len(values) != int(found[1]):
            raise SystemExit(f"{constant} was not read")
        lines.append(f"Definition {name} : list Z := [{'; '.join(values)}].")
    return "\n".join(lines) + "\n"


def problems_of(work, header, change=lambda name, text: text):
    """What Coq refuses, and axioms that no theorem may rest on."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in FILES:
        text = moduli_text(header) if name == "moduli.v" else (HERE / name).read_text()
        text = change(name, text)
        text += "".join(f"Print Assumptions {theorem}.\n" for theorem in re.findall(r"^Theorem (\w+)", text, re.M))
        (work / name).write_text(text)
        if re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", (work / name).read_text()):
            return [f"{name}: something is taken for granted"], 0
        done = subprocess.run(["coqc", "-q", "-R", ".", "", name], cwd=work, capture_output=True, text=True)
        if done.returncode:
            return [f"{name}:\n{done.stderr}"], 0
        used = set(re.findall(r"^([\w.]+)\s*:", done.stdout.replace("Axioms:", ""), re.M))
        if used - AXIOMS:
            return [f"{name} rests on {', '.join(sorted(used - AXIOMS))}"], 0
    return [], sum(len(re.findall(r"^Theorem", (work / name).read_text(), re.M)) for name in FILES)


def self_test(work, header):
    cases = [("a modulus that shares a factor", lambda name, text: text.replace("[256; 255; 253;", "[256; 255; 254;")),
             ("a sum beyond its limit", lambda name, text: text.replace("Z.abs (dot xs ys) <= limit.", "Z.abs (dot xs ys) < limit.")),
             ("a truncation that is too small", lambda name, text: text.replace("/ 2 + INR (length xs) / 4.", "/ 2 + INR (length xs) / 5.")),
             ("a gamma that is too small", lambda name, text: text.replace("2 * INR n * u", "INR n * u"))]
    plain = "".join(moduli_text(header) if name == "moduli.v" else (HERE / name).read_text() for name in FILES)
    wrong = [what for what, change in cases if change("", plain) == plain or not problems_of(work, header, change)[0]]
    print("\n".join([f"not seen: {what}" for what in wrong] + [f"self-test: {len(cases)} cases, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    header = (HERE.parents[2] / "src/num/moduli.hpp").read_text()
    if "--self-test" in sys.argv:
        return self_test(Path(sys.argv[1]), header)
    problems, count = problems_of(Path(sys.argv[1]), header)
    print("\n".join([*problems, f"{count} theorems, {len(problems)} problems"]))
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
