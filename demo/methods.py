"""The ways to multiply that the demo compares: a plain FP32 loop, and the kizami command line."""

import itertools
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

ENGINES = ("cpu_ref", "cpu_simd")
THREADS = (1, 2, 3)


@dataclass
class Answer:
    """One computed product and what is known about it."""

    c: np.ndarray
    how: str
    seconds: float
    report: Optional[dict] = None  # of kizami; None: nobody guarantees anything
    runs: int = 0  # on other engines and numbers of threads
    equal_runs: int = 0  # those of them that gave the same file, byte for byte


class NaiveFp32:
    """The textbook triple loop in FP32: the terms of every element are added one after another, in order."""

    name = "naive FP32"

    def multiply(self, a, b):
        start = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):
            a32, b32 = a.astype(np.float32), b.astype(np.float32)
            c = np.zeros((a.shape[0], b.shape[1]), dtype=np.float32)
            for column, row in zip(a32.T, b32):
                c += column[:, None] * row
        return Answer(c, "FP32 inputs", time.perf_counter() - start)


class Kizami:
    """`kizami gemm` with some options, through .npy files in a folder."""

    def __init__(self, program, folder, name, *options, compare=False):
        self.program, self.folder, self.name, self.options = program, Path(folder), name, options
        self.compare = compare  # over ENGINES and THREADS

    def multiply(self, a, b):
        np.save(self.folder / "A.npy", a)
        np.save(self.folder / "B.npy", b)
        report = self._run("C.npy", "--check")
        answer = Answer(np.load(self.folder / "C.npy"), describe(report), report["seconds"], report)
        if self.compare:
            bits = (self.folder / "C.npy").read_bytes()
            for engine, threads in itertools.product(ENGINES, THREADS):
                answer.runs += 1
                answer.equal_runs += self._bits_of(engine, threads) == bits
        return answer

    def _bits_of(self, engine, threads):
        report = self._run("D.npy", "--engine", engine, "--threads", str(threads))
        if report["engine"] != engine or report["threads"] != threads:
            got = f"{report['engine']}, {report['threads']}"
            raise RuntimeError(f"asked for engine {engine} with {threads} threads, got {got}")
        return (self.folder / "D.npy").read_bytes()

    def _run(self, output, *more):
        files = [str(self.folder / name) for name in ("A.npy", "B.npy", output)]
        command = [str(self.program), "gemm", files[0], files[1], "-o", files[2], "--json", *self.options, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            said = f"exit code {done.returncode}\n{done.stderr}"
            raise RuntimeError(f"kizami gemm {' '.join(self.options + more)}: {said}")
        return json.loads(done.stdout)


def describe(report):
    """The rung that was taken, in a few words."""
    if report["scheme"] == "native":
        return "platform BLAS"
    words = [f"{report['moduli']} moduli" if report["moduli"] else "FP64 arithmetic"]
    if report["equilibrated"]:
        words.append("equilibrated")
    if report["repaired"]:
        words.append(f"{report['repaired']} repaired")
    return ", ".join(words)
