#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs what README.md and the pages of docs/tutorials and docs/howto show: blocks whose first lines name a file become that file, and the commands of ```console
blocks are run in order, one folder for each page. Lines below a command must be what it prints, with ... for anything, over lines too. Blocks of sh are not run:
they build, install, or need what not every machine has. The commands of README.md find the files of a clone; those within its sentences are run, too.

usage: tutorials_test.py SOURCE_DIR PREFIX [NAME=VALUE...]    PREFIX: an installed Kizami, whose bin is on the PATH of the commands
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```([\w+]*)\n(.*?)^```$", re.M | re.S)
NAMED = re.compile(r"\A(?:%%[^\n]*\n)?(?://|#|!|/\*|%) ([\w-]+\.\w+)\b")


IN_SENTENCES = re.compile(r"`(kizami (?:bench|help|predict)\b[^`]*)`")  # the others are named there without their arguments
BRIEFLY = {"bench": " --dtype f64 --rounds 1"}


def matches(wanted, printed):
    pattern = ".*".join(re.escape(part) for part in wanted.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.S) is not None


def steps_of(block):
    """[(command, wanted)]"""
    return [(command, wanted) for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def run_page(page, environment, clone=()):
    """Problems, and how many commands were run, in a folder that leads to what `clone` names."""
    found, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in clone:
            (Path(folder) / path.name).symlink_to(path)
        for language, block in BLOCK.findall(page.read_text()):
            name = NAMED.match(block)
            if name and language != "console":
                (Path(folder) / name[1]).write_text(block)
            for command, wanted in steps_of(block) if language == "console" else []:
                if "gfortran" in command and not environment["HAS_FORTRAN"]:
                    break
                if "python3" in command and not environment["HAS_NUMPY"]:
                    break
                count += 1
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                is_refusal = "...bits..." in wanted
                if (done.returncode != 0) != is_refusal:
                    found.append(f"{page}: {command}: status {done.returncode}\n{done.stdout}")
                elif not matches(wanted, done.stdout):
                    found.append(f"{page}: {command} printed\n{done.stdout}\nand should print\n{wanted}")
    return found, count


def run_sentences(page, environment):
    """Problems, and how many commands of a page's sentences were run."""
    commands = IN_SENTENCES.findall(BLOCK.sub("", page.read_text()))
    found = []
    for command in commands:
        done = subprocess.run(["bash", "-c", command + BRIEFLY.get(command.split()[1], "")], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            found.append(f"{page}: {command}: status {done.returncode}\n{done.stdout}")
    return found, len(commands)


def main():
    root, prefix = Path(sys.argv[1]), Path(sys.argv[2])
    environment = os.environ | dict(setting.split("=", 1) for setting in sys.argv[3:])
    if "PYTHON" in environment:  # which has NumPy, where the Python package is built
        environment["PATH"] = f"{Path(environment['PYTHON']).parent}:{environment['PATH']}"
    environment["PATH"] = f"{prefix}/bin:{environment['PATH']}"
    environment["PREFIX"] = str(prefix)
    environment["HAS_FORTRAN"] = "1" if subprocess.run(["sh", "-c", "command -v gfortran"], stdout=subprocess.DEVNULL).returncode == 0 else ""
    numpy = ["python3", "-c", "import numpy"]
    environment["HAS_NUMPY"] = "1" if subprocess.run(numpy, env=environment, stderr=subprocess.DEVNULL).returncode == 0 else ""
    problems, total = run_page(root / "README.md", environment, [root / "demo", root / "examples"])
    found, count = run_sentences(root / "README.md", environment)
    problems += found
    if total == 0 or count == 0:
        problems.append("README.md: no command was run")
    total += count
    for page in sorted([*(root / "docs/tutorials").glob("*.md"), *(root / "docs/howto").glob("*.md")]):
        found, count = run_page(page, environment)
        problems += found
        total += count
    print("\n".join([*problems, f"{total} commands, {len(problems)} problems"]))
    return 1 if problems or total < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
