# SPDX-License-Identifier: MIT
"""kizami.dropin in a Python that runs under libkizami_blas.so, and kizami.dropin where there is none."""
import json
import os
import subprocess
import sys
from pathlib import Path

import kizami
import numpy as np
import pytest
from kizami import dropin

PROGRAM = os.environ.get("KIZAMI_PROGRAM", "")
LIBRARY = Path(PROGRAM).resolve().parents[1] / "lib/libkizami_blas.so"

SCRIPT = """
import threading
import numpy as np
from kizami import dropin
a = np.arange(10000.0).reshape(100, 100)
assert dropin.is_loaded()
assert dropin.get("accuracy") == "native", dropin.get("accuracy")
with dropin.policy(scheme="ozaki2", accuracy="bits=30", min_size=0):
    assert (dropin.get("scheme"), dropin.get("accuracy"), dropin.get("min_size")) == ("ozaki2", "bits=30", "0")
    a @ a.copy()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(dropin.get("scheme")))
    thread.start(); thread.join()
    assert seen == ["auto"], seen
    with dropin.policy(accuracy="bits=20"):
        a @ a.copy()
    assert dropin.get("accuracy") == "bits=30"
a @ a.copy()
dropin.set_process(scheme="ozaki2", min_size=0)
a @ a.copy()
dropin.reset()
for wishes in ({"accuracy": "bits=99"}, {"acuracy": "bits=9"}):
    try:
        dropin.set_process(**wishes)
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(wishes)
"""


@pytest.mark.skipif(not LIBRARY.exists(), reason="no libkizami_blas.so beside the program")
def test_policies_of_threads_and_of_the_process(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("KIZAMI_", "LD_"))}
    environment |= {"LD_PRELOAD": str(LIBRARY), "KIZAMI_SUMMARY": str(tmp_path / "s.jsonl"), "KIZAMI_SCHEME": "auto"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.splitlines()[0] == "accuracy = 'bits=99', must be native or bits=N with N of 1..52"
    assert "the setting 'acuracy' is unknown" in done.stdout and "; did you mean accuracy?" in done.stdout
    calls = [x for x in map(json.loads, (tmp_path / "s.jsonl").read_text().splitlines())
             if x["event"] == "calls" and "gemm" in x["routine"] and x["m"] == 100]
    bounds = sorted(x["bound"] for x in calls if x["answer"] == "ozaki2" for _ in range(x["calls"]))
    assert len(bounds) >= 1 and max(bounds) <= 2**-20
    assert sum(x["calls"] for x in calls if x["answer"] == "ozaki2") == 3
    assert sum(x["calls"] for x in calls if x["answer"] == "native") == 1


def test_without_a_library():
    if dropin.is_loaded():
        pytest.skip("these tests run under a drop-in library themselves")
    with pytest.raises(kizami.UnsupportedError, match="no drop-in library is loaded"):
        dropin.get("accuracy")


@pytest.mark.skipif(not PROGRAM, reason="no command line")
def test_python_m_kizami_is_the_command_line():
    done = subprocess.run([sys.executable, "-m", "kizami", "run", "--", "sh", "-c", "exit 5"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert done.stderr.startswith("kizami run: 0 calls seen, because ")


def test_calls_are_logged(caplog):
    a = np.ones((3, 4))
    with caplog.at_level("DEBUG", logger="kizami"):
        kizami.matmul(a, a.T)
    record, = [r for r in caplog.records if r.name == "kizami"]
    plan = kizami.plan(3, 3, 4)
    assert record.getMessage() == f"1 x (3 x 4) by (4 x 3) of float64 on cpu: scheme {plan.scheme} by {plan.engine}, bound {plan.bound:.3g} (entry)"
    caplog.clear()
    kizami.matmul(a, a.T)
    assert not caplog.records


def test_what_is_no_array_is_named():
    a = np.ones((2, 2))
    with pytest.raises(kizami.DTypeError, match="b is None, must be an array"):
        kizami.matmul(a, None)
    with pytest.raises(kizami.DTypeError, match=r"a is of type int64, must be one of .*; use a.astype\('float64'\)"):
        kizami.matmul(np.ones((2, 2), np.int64), a)
    with pytest.raises(kizami.DTypeError, match=r"b is of type int64, .*; use numpy.asarray\(b, 'float64'\)"):
        kizami.matmul(a, [[1, 2], [3, 4]])
    with pytest.raises(kizami.DTypeError, match=r"a is of type >f8, .*; use a.astype\('float64'\)"):
        kizami.matmul(a.astype(">f8"), a)
    with pytest.raises(kizami.DTypeError, match=r"a is of type >c16, .*; use a.astype\('complex128'\)"):
        kizami.matmul(a.astype(">c16"), a)
    with pytest.raises(kizami.DTypeError, match=r"a is of type object, must be one of [^;]*$"):
        kizami.matmul(a.astype(object), a)
    with pytest.raises(kizami.InvalidArgumentError, match="a is no array of numbers: setting an array element"):
        kizami.matmul([[1.0, 2.0], [3.0]], a)
    with pytest.raises(kizami.DTypeError, match="operand 1 is None, must be an array"):
        kizami.einsum("ij,jk->ik", a, None)
    with pytest.raises(kizami.DTypeError, match=r"operand 0 is of type int64, .*; use astype\('float64'\)"):
        kizami.einsum("ij,jk->ik", np.ones((2, 2), np.int64), a)
    sparse = type("csr_matrix", (), {"__module__": "scipy.sparse._csr", "shape": (2, 2)})()
    with pytest.raises(kizami.DTypeError, match=r"b is a sparse matrix \(scipy.sparse._csr.csr_matrix\), must be dense: use b.toarray\(\)"):
        kizami.matmul(a, sparse)
    with pytest.raises(kizami.DTypeError, match=r"operand 0 is a sparse matrix .*, must be dense: use toarray\(\)"):
        kizami.einsum("ij,jk->ik", sparse, a)
