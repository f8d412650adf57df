# SPDX-License-Identifier: MIT
"""The types: mypy --strict accepts the package with the stub that nanobind made, and a user's program; and sees errors."""

import subprocess
import sys
from pathlib import Path

import kizami
import pytest

pytest.importorskip("mypy", reason="needs mypy")
PACKAGE = Path(kizami.__file__).parent
CONFIG = Path(__file__).resolve().parents[2] / "python" / "pyproject.toml"
# An installed package is found by its py.typed.
ENVIRONMENT = {"PATH": ""} if "site-packages" in PACKAGE.parts else {"PATH": "", "MYPYPATH": str(PACKAGE.parent)}

PROGRAM = """
import numpy as np
import kizami

a = np.eye(3)
with kizami.precision("bits=40") as policy:
    accuracy: str = policy.accuracy
c, outcome = kizami.matmul(a, a, return_outcome=True)
bound: float = outcome.bound
plan: kizami.Plan = kizami.plan(3, 3, 3, "float64", policy=kizami.Policy("correct", threads=2))
prepared: kizami.Prepared = kizami.prepare(plan, "a", a)
chain, outcome = kizami.multi_dot([a, a, a], tolerance=kizami.Tolerance(1e-9, "norm"), return_outcome=True)
wide: kizami.DoubleDouble = kizami.matmul_dd(a, a, policy="bits=100")
trace = kizami.einsum("ii", a, slices=7)
d = plan.run(prepared, a, alpha=2.0, trans_b="t", progress=lambda done, total: print(done, total))
"""


def mypy(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(CONFIG), "--cache-dir", str(cwd / "cache"),
                           *arguments], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)


def test_mypy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    result = mypy("-p", "kizami", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    result = mypy(str(program), cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    program.write_text(PROGRAM + 'text: str = outcome.bound\nkizami.gemm(1, a, a, trans_a="x")\n')
    result = mypy(str(program), cwd=tmp_path)
    assert result.returncode == 1 and result.stdout.count("error:") == 2, result.stdout + result.stderr


def test_the_stub_names_every_function():
    stub = (PACKAGE / "_core.pyi").read_text()
    names = [name for name in vars(kizami._core) if not name.startswith("_")]
    assert len(names) > 10
    for name in names:
        assert f"def {name}(" in stub or f"class {name}" in stub, name
    assert (PACKAGE / "py.typed").exists()
