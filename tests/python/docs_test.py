# SPDX-License-Identifier: MIT
"""The docstrings and the guide are run: every example prints what it says. Every public name has a docstring."""

import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import kizami
import pytest

NOT_HERE = ("kizami._core", "kizami._jax_calls", "kizami.jax", "kizami.torch", "kizami._torch_global",
            "kizami._torch_ranks")  # jax_test.py, torch_test.py, torch_global_test.py, torch_ranks_test.py
MODULES = [name for _, name, _ in pkgutil.iter_modules(kizami.__path__, "kizami.") if name not in NOT_HERE]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
PAGES = [GUIDE, GUIDE.parent / "howto" / "contractions.md"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_docstrings():
    results = {name: doctest.testmod(importlib.import_module(name), optionflags=FLAGS) for name in ("kizami", *MODULES)}
    assert not [name for name, result in results.items() if result.failed]
    assert sum(result.attempted for result in results.values()) > 30


@pytest.mark.parametrize("name", kizami.__all__)
def test_public_names_are_documented(name):
    value = getattr(kizami, name)
    if name == "__version__":
        return
    text = inspect.getdoc(value)
    assert text
    if inspect.isfunction(value) and name not in ("current_policy", "machine_report"):
        for parameter in inspect.signature(value).parameters:
            assert parameter in text, f"{name}: {parameter} is not documented"


def test_the_version_is_that_of_the_project():
    project = (GUIDE.parents[1] / "CMakeLists.txt").read_text()
    assert f"project(kizami VERSION {kizami.__version__} " in project


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0 and result.attempted > 10


def test_the_example():
    example = GUIDE.parents[1] / "examples" / "07_python.py"
    environment = os.environ | {"PYTHONPATH": str(Path(kizami.__file__).parents[1])}
    result = subprocess.run([sys.executable, str(example)], env=environment, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.count("largest relative error") == 3, result.stdout + result.stderr


def test_it_is_this_package_that_is_tested():
    folder = os.environ.get("KIZAMI_PACKAGE_DIR")
    assert folder is None or Path(kizami.__file__).parent.samefile(folder)
