#!/usr/bin/env python3
"""The demonstration: `./kz demo` builds Kizami and runs this.

Three products on which digits matter, each computed several ways, and each element compared with the exact product
(exact.py, independent of Kizami): (a) integrals of a real molecule, (b) matrices times their inverses, (c) a graded
product. Then a picture. The exit code is 1 if a bound is violated, if `kizami gemm --check` says otherwise than the
comparison here, or if the bits of a product depend on the engine or the number of threads.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import picture
from data.make_density_fitting import mp2_energy
from exact import Reference, exact
from methods import ENGINES, THREADS, Kizami, NaiveFp32

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "demo" / "data"

INTRODUCTION = f"""Kizami: matrix products on 8-bit integers, with a proven bound and the same bits everywhere.

error    largest |C - AB| / (|A||B|) of all elements, against the exact product in Python integers
bound    what was guaranteed for it; ratio = error / bound
--check  the error that kizami itself finds on up to 1024 elements
rounded  how many elements are the exact ones, correctly rounded to FP64
seconds  of the product alone, files left out. On a CPU Kizami is for proof and for identical bits, not for speed
bits     runs that gave the same file: engines {", ".join(ENGINES)}, each with {", ".join(map(str, THREADS))} threads"""


class Judge:
    """Compares answers with exact products, prints the rows of the tables and remembers what was wrong."""

    HEADER = (
        f"{'product':10s} {'method':15s} {'error':>8s} {'bound':>8s} {'ratio':>8s} {'--check':>8s} "
        f"{'rounded':>8s} {'seconds':>8s} {'bits':>7s}  how"
    )

    def __init__(self):
        self.failures, self.judged, self.runs = [], 0, 0

    def row(self, product, method, reference, answer, more=""):
        errors = reference.errors(answer.c)
        error, report = float(errors.max()), answer.report
        if report and report["gauge"] != "entry":  # it promises nothing that this table could compare
            more += f"; bound {report['bound']:.1e} in norms only"
            report = None
        bound = report and report["bound"]
        checked = "" if report is None else f"{report['error']:.1e}"
        bits = f"{answer.equal_runs} of {answer.runs}" if answer.runs else ""
        ratio = bound and error / bound
        figures = f"{number(error)} {number(bound)} {number(ratio)} {checked:>8s}"
        share = reference.share_correctly_rounded(answer.c)
        figures += f" {share:8.1%} {answer.seconds:8.4f} {bits:>7s}"
        print(f"{product:10s} {method.name:15s} {figures}  {answer.how}{more}", flush=True)
        name = f"{product}, {method.name}"
        self.runs += answer.runs
        if answer.equal_runs != answer.runs:
            self.failures.append(f"{name}: {answer.runs - answer.equal_runs} of {answer.runs} runs gave other bits")
        if report is not None:
            self.bound_holds(name, error, bound)
            self.check_agrees(name, error, report, errors.size)

    def bound_holds(self, name, error, bound):
        self.judged += 1
        if not error <= bound:
            self.failures.append(f"{name}: error {error:.3g} exceeds the bound {bound:.3g}")

    def check_agrees(self, name, error, report, elements):
        """--check sees up to 1024 elements, the comparison here all of them: equal if it saw all, no larger if not."""
        slack = 1e-6 * error
        is_equal = abs(report["error"] - error) <= slack
        if not is_equal and (report["checked_elements"] == elements or report["error"] > error + slack):
            said = f"--check says error {report['error']:.6g}, the exact product says {error:.6g}"
            self.failures.append(f"{name}: {said}")


def number(x):
    return f"{'none':>8s}" if x is None else f"{'overflow':>8s}" if math.isinf(x) else f"{x:8.1e}"


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def methods(kizami):
    """What the tables compare. kizami: Kizami with program and folder given."""
    return [
        NaiveFp32(),
        kizami("native FP64", "--scheme", "native"),
        kizami("Kizami native", "--accuracy", "native", compare=True),
        kizami("Kizami bits=52", "--accuracy", "bits=52", compare=True),
    ]


def molecule(judge, kizami):
    info = json.loads((DATA / "density_fitting.json").read_text(encoding="ascii"))
    v, j_inv, j_half, orbital_energies = (np.load(DATA / name) for name in info["files"])

    def energy(g):
        return mp2_energy(g, orbital_energies, info["n_occupied"])[0]

    title(f"(a) {info['molecule']}, {info['basis']}: density-fitting integrals, V {len(v)} x {len(j_inv)}")
    condition = f"cond J = {info['metric_condition_number']:.1e}"
    print(f"J^-1 has large entries of both signs ({condition}): its product with V cancels.")
    print(Judge.HEADER)
    first = {"V Jinv": Reference(v, j_inv), "V Jhalf": Reference(v, j_half)}
    energies = {}
    for method in methods(kizami):
        w = method.multiply(v, j_inv)
        judge.row("W=V Jinv", method, first["V Jinv"], w)
        g = method.multiply(w.c, v.T)
        judge.row("W V^T", method, Reference(w.c, v.T), g)
        b = method.multiply(v, j_half)
        judge.row("B=V Jhalf", method, first["V Jhalf"], b)
        g_half = method.multiply(b.c, b.c.T)
        judge.row("B B^T", method, Reference(b.c, b.c.T), g_half)
        energies[method.name] = energy(g.c), energy(g_half.c)

    def exact_energies(v, w, b):
        """By W V^T and B B^T, without any rounding in between."""
        return energy((w @ v.T).rounded()), energy((b @ b.T).rounded())

    def fp32(x):
        return exact(x.astype(np.float32))

    truth = exact_energies(exact(v), first["V Jinv"].exact(), first["V Jhalf"].exact())
    energies["exact products"] = truth
    energies["exact, of FP32"] = exact_energies(fp32(v), fp32(v) @ fp32(j_inv), fp32(v) @ fp32(j_half))
    reference = info["energies_hartree"]["mp2_correlation"]
    print(f"\nMP2 correlation energy E in hartree, less PySCF's {reference:.12f}, and less that of exact products:")
    columns = [f"{by:>18s} {'- PySCF':>9s} {'- exact':>9s}" for by in ("E by (V Jinv) V^T", "E by B B^T")]
    print(f"{'method':15s} {'   '.join(columns)}")
    for name, both in energies.items():
        columns = [f"{e:18.12f} {e - reference:9.1e} {e - t:9.1e}" for e, t in zip(both, truth)]
        print(f"{name:15s} {'   '.join(columns)}")
    scale = info["scale_hartree"]
    scale = info["scale_hartree"]
    accuracy = info["scale_hartree"]["chemical_accuracy"]
    print(f"Chemical accuracy is {accuracy:.1e} hartree. Last row: inputs rounded to FP32, then no error at all;")
    print("even so (V Jinv) V^T misses it. The exact products differ from PySCF by the rounding of its FP64")
    print("arithmetic, that of the stored matrices included.")
    return v, j_inv


def hilbert(n):
    """The Hilbert matrix times lcm(1 .. 2n - 1), its inverse, and that factor: all integers."""
    factor = math.lcm(*range(1, 2 * n))
    a = [[factor // (i + j + 1) for j in range(n)] for i in range(n)]

    def inverse(i, j):
        binomials = math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2
        return (-1) ** (i + j) * (i + j + 1) * binomials

    return a, [[inverse(i, j) for j in range(n)] for i in range(n)], factor


def pascal(n):
    """The triangle of binomials and its inverse, the same with alternating signs."""
    a = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    return a, [[(-1) ** (i + j) * x for j, x in enumerate(row)] for i, row in enumerate(a)], 1


def as_float64(rows):
    x = np.array(rows, dtype=np.float64)
    if any(int(f) != i for f, i in zip(x.ravel().tolist(), sum(rows, []))):
        raise ValueError("an integer of the example is no FP64 number")
    return x


def inverses(judge, kizami):
    title("(b) matrices times their inverses, all integers that FP64 holds: the exact product is the identity")
    print(Judge.HEADER)
    for name, (a, inverse, factor) in {"Hilbert12": hilbert(12), "Pascal57": pascal(57)}.items():
        a, inverse = as_float64(a), as_float64(inverse)
        reference, identity = Reference(a, inverse), np.eye(len(a))
        if not np.array_equal(reference.rounded, factor * identity):
            raise ValueError(f"{name}: the exact product is not the identity")
        for method in methods(kizami):
            answer = method.multiply(a, inverse)
            distance = np.abs(np.asarray(answer.c, dtype=np.float64) / factor - identity).max()
            more = f"; C - I: {distance:.1e}" if distance else "; C = I exactly"
            judge.row(name, method, reference, answer, more)
    print("The bounds are relative to |A||B|, which is huge here. Kizami's identity is exact because its moduli hold")
    print("these integers without rounding: the sum is exact, whatever cancels, and is rounded once.")


def graded_pair(m, k, n, spread, seed=7):
    """A = X D and B = D^-1 Y with D = diag(2^d), d uniform in [-spread, spread]: AB = XY, by scaling that is exact."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    d = np.rint(rng.uniform(-1, 1, k) * spread).astype(int)
    return np.ldexp(x, d), np.ldexp(y, -d[:, None])


def graded(judge, kizami):
    title("(c) graded: A = X D, B = D^-1 Y, normal X and Y, D = powers of two from 2^-200 to 2^200, so that A B = X Y")
    print("Fixed point with one exponent a row of A and column of B loses the terms that make up C; Kizami rescales.")
    print(Judge.HEADER)
    a, b = graded_pair(96, 192, 96, 200)
    reference = Reference(a, b)
    for method in [*methods(kizami), kizami("15 moduli fixed", "--moduli", "15")]:
        judge.row("X D D^-1 Y", method, reference, method.multiply(a, b))


def norm_ratio(a, b):
    """|A||B| / (||row of A|| ||column of B||): turns errors of one gauge into the other."""
    return (np.abs(a) @ np.abs(b)) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=0))


def study_moduli(judge, kizami, sets):
    """Error relative to norms against the number of moduli. sets: {name: (A, B)} of one k."""
    counts = list(range(4, 21))
    study = {"moduli": counts, "bound": [], "errors": {}, "levels": {}}
    for name, (a, b) in sets.items():
        reference, ratio = Reference(a, b), norm_ratio(a, b)

        def error(c, reference=reference, ratio=ratio):
            return float((reference.errors(c) * ratio).max())

        answers = [kizami(name, "--moduli", str(count)).multiply(a, b) for count in counts]
        study["errors"][name] = [error(answer.c) for answer in answers]
        study["bound"] = [answer.report["bound"] for answer in answers]
        for count, e, bound in zip(counts, study["errors"][name], study["bound"]):
            judge.bound_holds(f"{name}, {count} moduli", e, bound)
        native = kizami("native FP64", "--scheme", "native")
        study["levels"][name] = error(native.multiply(a, b).c), error(NaiveFp32().multiply(a, b).c)
    return study


def study_grading(judge, kizami):
    """Error in |A||B| against the spread of the inner scaling."""
    spreads = [0, 5, 10, 15, 20, 25, 30, 40, 60, 80, 100, 120, 140, 160, 180, 200]
    compared = {
        "naive FP32": NaiveFp32(),
        "native FP64": kizami("native FP64", "--scheme", "native"),
        "fixed point": kizami("fixed point", "--moduli", "15"),
        "Kizami": kizami("Kizami bits=52", "--accuracy", "bits=52"),
    }
    study = {"spreads": spreads, "errors": {name: [] for name in compared}, "bound": [], "how": []}
    reference = Reference(*graded_pair(48, 128, 48, 0))  # D changes neither AB nor |A||B|
    for spread in spreads:
        a, b = graded_pair(48, 128, 48, spread)
        answers = {name: method.multiply(a, b) for name, method in compared.items()}
        for name, answer in answers.items():
            study["errors"][name].append(float(reference.errors(answer.c).max()))
        study["bound"].append(answers["Kizami"].report["bound"])
        study["how"].append(answers["Kizami"].how)
        judge.bound_holds(f"graded by 2^+-{spread}", study["errors"]["Kizami"][-1], study["bound"][-1])
    return study


def demonstrate(judge, kizami, output):
    print(INTRODUCTION)
    v, j_inv = molecule(judge, kizami)
    inverses(judge, kizami)
    graded(judge, kizami)
    rng = np.random.default_rng(3)
    normal = rng.standard_normal((200, v.shape[1])), rng.standard_normal((v.shape[1], 200))
    sets = {"normal data": normal, "V J⁻¹ of H₂O₂": (v[::2], j_inv)}
    picture.draw(study_moduli(judge, kizami, sets), study_grading(judge, kizami), output)
    print(f"\npicture: {os.path.relpath(output)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program, output = ROOT / "build/bin/kizami", ROOT / "build/demo/kizami_demo.png"
    parser.add_argument("--kizami", type=Path, default=program, metavar="PROGRAM", help="[build/bin/kizami]")
    parser.add_argument("--output", type=Path, default=output, metavar="PNG", help="[build/demo/kizami_demo.png]")
    args = parser.parse_args()
    if not args.kizami.is_file():
        sys.exit(f"{args.kizami} is missing: build it by ./kz build")
    start, judge = time.perf_counter(), Judge()
    with tempfile.TemporaryDirectory(prefix="kizami_demo_") as folder:
        try:
            demonstrate(judge, partial(Kizami, args.kizami.resolve(), folder), args.output)
        except RuntimeError as error:
            judge.failures.append(str(error))

    for failure in judge.failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    if judge.failures:
        sys.exit(1)
    seconds = time.perf_counter() - start
    print(f"All {judge.judged} bounds hold, and all {judge.runs} repeated runs gave the same bits. ({seconds:.0f} s)")


if __name__ == "__main__":
    main()
