#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed README.md leads to installed files only, among them the guides and examples; and no file that tells a user's build what to link
names a folder of the machine that built it.

usage: documents_test.py STAGE DOC_DIR LIB_DIR    the folders relative to STAGE
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s#]+)")


def main():
    stage = Path(sys.argv[1])
    documents, libraries = stage / sys.argv[2], stage / sys.argv[3]
    problems = []
    links = [link for link in LINK.findall((documents / "README.md").read_text()) if ":" not in link]
    problems += [f"README.md leads to {link}, which is not installed" for link in links if not (documents / link).exists()]
    for needed in ("docs/dropin.md", "docs/howto/compiled_languages.md", "docs/python.md", "examples/01_gemm.cpp", "examples/enclosure/CMakeLists.txt"):
        if not (documents / needed).is_file():
            problems.append(f"{needed} is not installed")
    files = [*(libraries / "cmake/kizami").glob("*.cmake"), *(libraries / "pkgconfig").glob("*.pc")]
    for file in files:
        for path in re.findall(r"(?<![\w}.])/[\w.+-]+(?:/[\w.+-]+)+", re.sub(r"#.*", "", file.read_text())):
            if path not in ("/usr/local/cuda",):
                problems.append(f"{file.relative_to(stage)} names {path}")
    print("\n".join([*problems, f"{len(links)} links, {len(files)} files, {len(problems)} problems"]))
    return 1 if problems or len(links) < 10 or len(files) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
