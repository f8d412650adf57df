#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation site: OUT/VERSION is the site of this tree's version; OUT/index.html leads to the newest of all versions there, and
OUT/versions.js lists them. A warning of Doxygen or Sphinx is an error. The pages are those of the repository, at their paths, and what is written
here from sources: reference, benchmarks. Everything works from a file system.

usage: build.py --program build/bin/kizami --python-path build/python --out build/docs/site [--work build/docs/work]
"""
import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import api_pages
import benchmark_pages
import doxygen
import stage
import table_pages


def version_of(root):
    return re.search(r"project\(kizami VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]


def python_reference(python_path):
    """All public names, by what they are; a name of `__all__` that is new comes in by itself."""
    sys.path.insert(0, str(python_path))
    import inspect

    import kizami
    lines = ["# Python: package kizami", "", "Written from the docstrings. The guide is [Python](../docs/python.md).", "", "```{eval-rst}", ".. currentmodule:: kizami", ""]
    kinds = {"autofunction": [], "autoclass": [], "autoexception": []}
    for name in kizami.__all__:
        value = getattr(kizami, name)
        if inspect.isclass(value):
            kinds["autoexception" if issubclass(value, BaseException) else "autoclass"].append(name)
        elif callable(value):
            kinds["autofunction"].append(name)
    for title, kind in [("Functions", "autofunction"), ("Classes", "autoclass"), ("Errors", "autoexception")]:
        lines += ["```", "", f"## {title}", "", "```{eval-rst}", ".. currentmodule:: kizami", ""]
        for name in kinds[kind]:
            lines += [f".. {kind}:: {name}", *(["   :members:"] if kind == "autoclass" else []), ""]
    return "\n".join([*lines, "```", "", torch_reference(ROOT / "python/kizami")])


def torch_reference(folder):
    """The public functions of kizami.torch, read from the sources: PyTorch need not be there."""
    from sphinx.ext.napoleon import Config, NumpyDocstring
    trees = [ast.parse((folder / name).read_text()) for name in ("torch.py", "_torch_global.py")]
    functions = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}
    names = next(ast.literal_eval(node.value) for node in trees[0].body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    lines = ["## kizami.torch", "", "```{eval-rst}", ".. currentmodule:: kizami.torch", ""]
    for name in names:
        text = str(NumpyDocstring(ast.get_docstring(functions[name]).replace("|", "\\|"), Config()))
        lines += [f".. function:: {name}({ast.unparse(functions[name].args)})", "", textwrap.indent(text, "   "), ""]
    return "\n".join([*lines, "```", ""])


def toctree(caption, entries, extra=()):
    return ["```{toctree}", ":hidden:", f":caption: {caption}", *extra, "", *entries, "```", ""]


def write_index(source, pages):
    """The front page: index.md of this folder, and the tree of all pages. What no section names is not lost: Sphinx then fails."""
    names = {str(page.with_suffix("")) for page in pages}
    adrs = sorted(name for name in names if name.startswith("docs/adr/0"))
    (source / "adr.md").write_text("# Decisions\n\n" + (source / "docs/adr/README.md").read_text().split("\n", 1)[1] + "\n```{toctree}\n:titlesonly:\n\n" + "\n".join(adrs) + "\n```\n")
    (source / "docs/adr/README.md").write_text("---\norphan: true\n---\n" + (source / "docs/adr/README.md").read_text())
    sections = {
        "Tutorials": ["docs/tutorials/first_product", "docs/python", "docs/tutorials/pyscf", "docs/tutorials/gpu_program", "docs/tutorials/cluster", "docs/tutorials/"],
        "How to": ["docs/howto/", "docs/dropin", "docs/convolution", "tile/docs/README", "tile/docs/guide", "tile/docs/from-python", "tile/docs/debug", "tile/README",
                   "tile/examples/", "examples/"],
        "Reference": ["reference/cpp", "reference/c", "reference/fortran", "reference/python", "reference/command_line", "reference/wishes", "reference/variables"],
        "Explanation": ["docs/accuracy", "docs/reproducibility", "docs/accuracy/", "docs/flow", "docs/architecture", "docs/device_concurrency", "docs/multi", "docs/limits", "docs/abi", "adr",
                        "tile/docs/"],
        "Measurements": ["docs/benchmarks", "docs/perf/", "docs/study/", "lab/"],
        "Project": ["docs/faq", "README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "packaging/", "tests/", "docs/"],
    }
    written = {str(page.relative_to(source).with_suffix("")) for page in source.rglob("*.md")}
    left = written - set(adrs) - {"docs/adr/README", "index"} - {name for name in written if name.startswith("reference/cpp/")}
    chosen = {}
    # First names, then folders: a page goes to the section that names it.
    named = {entry for entries in sections.values() for entry in entries if not entry.endswith("/")}
    for title, entries in sections.items():
        chosen[title] = []
        for entry in entries:
            found = sorted(name for name in left if name.startswith(entry) and name not in named) if entry.endswith("/") else [entry] if entry in left else []
            chosen[title] += found
            left -= set(found)
    if left:
        raise SystemExit(f"tools/site/build.py: no section has {', '.join(sorted(left))}")
    lines = [(HERE / "index.md").read_text(), ""]
    for title, entries in chosen.items():
        lines += toctree(title, entries, [":titlesonly:"])
    (source / "index.md").write_text("\n".join(lines))


def write_reference(source, options):
    reference = source / "reference"
    (reference / "cpp").mkdir(parents=True)
    include = ROOT / "include"
    headers = sorted((include / "kizami").glob("*.h")) + sorted((include / "kizami").glob("*.hpp"))
    xml = doxygen.run(ROOT, headers, options.work / "doxygen", options.doxygen)
    pages = api_pages.cpp_pages(xml, include, [header for header in headers if header.suffix == ".hpp"])
    order = [name for name in ("gemm", "plan", "policy", "outcome", "types", "status") if name in pages]
    order += sorted(pages.keys() - set(order))
    for name, text in pages.items():
        (reference / "cpp" / f"{name}.md").write_text(text)
    (reference / "cpp.md").write_text("# C++: the headers\n\nWritten from the headers by way of Doxygen. `#include <kizami/kizami.hpp>` has all that needs no device.\n\n"
                                      "```{toctree}\n:titlesonly:\n\n" + "\n".join(f"cpp/{name}" for name in order) + "\n```\n")
    (reference / "c.md").write_text(api_pages.c_page(xml, include / "kizami/kizami.h"))
    (reference / "fortran.md").write_text(table_pages.fortran_page(include / "kizami/kizami.f90"))
    (reference / "python.md").write_text(python_reference(options.python_path))
    (reference / "command_line.md").write_text(table_pages.commands_page(options.program))
    (reference / "wishes.md").write_text(table_pages.wishes_page(options.program))
    (reference / "variables.md").write_text(table_pages.variables_page(ROOT, options.program))
    benchmark_pages.illustrate(ROOT, source / "docs/benchmarks.md")


def write_versions(out):
    """versions.js and index.html beside the folders of all versions, the newest first."""
    versions = sorted((folder.name for folder in out.iterdir() if (folder / "index.html").is_file() and re.fullmatch(r"\d+(\.\d+)*", folder.name)),
                      key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    (out / "versions.js").write_text(f"window.KIZAMI_VERSIONS = {versions!r};\n".replace("'", '"'))
    (out / "index.html").write_text(f'<!doctype html>\n<meta charset="utf-8">\n<title>Kizami</title>\n<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n'
                                    f'<a href="{versions[0]}/index.html">Kizami {versions[0]}</a>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=Path, help="the command line, which says what its commands and wishes are")
    parser.add_argument("--python-path", required=True, type=Path, help="the folder that has the built package kizami")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--work", type=Path, help="what is made on the way; default: OUT.work")
    parser.add_argument("--doxygen", default="doxygen")
    options = parser.parse_args()
    options.program, options.python_path, options.out = (path.resolve() for path in (options.program, options.python_path, options.out))
    options.work = (options.work or options.out.with_name(options.out.name + ".work")).resolve()
    shutil.rmtree(options.work, ignore_errors=True)
    source = options.work / "source"
    source.mkdir(parents=True)
    pages = stage.stage(ROOT, source)
    write_reference(source, options)
    write_index(source, pages)
    shutil.copyfile(HERE / "conf.py", source / "conf.py")
    shutil.copytree(HERE / "static", source / "_static")
    shutil.copytree(HERE / "templates", source / "_templates")

    version = version_of(ROOT)
    site = options.work / "html"
    environment = os.environ | {"KIZAMI_VERSION": version, "PYTHONPATH": str(options.python_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html", str(source), str(site)], env=environment)
    if done.returncode:
        return done.returncode
    shutil.rmtree(site / ".doctrees", ignore_errors=True)
    shutil.rmtree(options.out / version, ignore_errors=True)
    shutil.copytree(site, options.out / version)
    write_versions(options.out)
    print(options.out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
