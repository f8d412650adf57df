# SPDX-License-Identifier: MIT
"""``python -m kizami ARGUMENT...`` is ``kizami ARGUMENT...``: the command line that belongs to this package, else that of PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from kizami import _core


def find_program() -> str | None:
    """bin/kizami of the wheel, of the build tree, or of PATH."""
    package = Path(_core.__file__).resolve().parent
    for folder in (package / "bin", package.parents[1] / "bin"):
        if os.access(folder / "kizami", os.X_OK):
            return str(folder / "kizami")
    return shutil.which("kizami")


def main() -> None:
    program = find_program()
    if program is None:
        sys.exit("python -m kizami: error: there is no program kizami, neither with this package nor in PATH")
    os.execv(program, ["kizami", *sys.argv[1:]])


if __name__ == "__main__":
    main()
