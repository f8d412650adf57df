#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The constants of kizami.h and kizami.f90 are what tools/write_faces.py writes; and it sees an enumerator that is new, one
without a name, and a face that was changed by hand.

usage: write_faces_test.py SOURCE_DIR
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FACES = ["kizami.h", "kizami.f90"]


def check(root, source):
    """@return exit status and output of write_faces.py --check on a tree of headers"""
    command = [sys.executable, source / "tools/write_faces.py", "--check", root]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def changed(source, file, old, new):
    """The answer for a copy of the headers in which one text is another."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(source / "include", root / "include")
        path = root / "include/kizami" / file
        text = path.read_text()
        assert old in text, f"{file} has no {old}"
        path.write_text(text.replace(old, new, 1))
        return check(root, source)


def main():
    source = Path(sys.argv[1])
    found = []
    status, output = check(source, source)
    if status != 0:
        found.append(f"{output}run tools/write_faces.py")
    for what, answer, wanted in [
        ("an enumerator without a name", changed(source, "policy.hpp", "  kTile, ", "  kNew,\n  kTile, "), "EngineName has 10"),
        ("an enum that no face has", changed(source, "policy.hpp", "enum class Gauge", "enum class Gouge"), "Gouge is not known"),
        ("another name", changed(source, "policy.hpp", '"hopper", "tc_model"', '"blackwell", "tc_model"'), "kizami.h"),
        *[(f"{face} by hand", changed(source, face, "KIZAMI_ENGINE_TILE = 7", "KIZAMI_ENGINE_TILE = 8"), face) for face in FACES],
    ]:
        if answer[0] == 0 or wanted not in answer[1]:
            found.append(f"not seen: {what}: {answer}")
    print("\n".join(found + [f"{len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
