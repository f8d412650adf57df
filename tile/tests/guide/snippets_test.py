#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the C++ code in tile/docs/*.md is that of the sources which the tests build and run.

A block of code follows a line that says where it comes from: a function of a source, or a whole text file.
  <!-- from tile/tests/guide/guide_kernels.hpp: take_red -->
  <!-- from tile/tests/guide/faults.txt -->

usage: snippets_test.py                check the pages of this file's repository
       snippets_test.py --update       write the code of the sources into the pages
       snippets_test.py --self-test    check that differences are seen
"""
import re
import sys
import tempfile
from pathlib import Path

ORIGIN = re.compile(r"^<!-- from ([\w./-]+)(?:: (\w+))? -->$")
FENCE = re.compile(r"^```(\w*)$")


def function_of(text, name):
    """The definition of a function at the left margin, with its comment, or None."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(rf"[\w_].*\b{name}\(", line) and not line.endswith(";")]
    if len(starts) != 1 or "}" not in lines[starts[0]:]:
        return None
    first = starts[0]
    while first > 0 and re.match(r"///|template|\[\[", lines[first - 1]):
        first -= 1
    last = starts[0] + lines[starts[0]:].index("}")
    return "\n".join(lines[first:last + 1])


def source_of(root, path, name):
    """The text that an origin means, or None."""
    file = root / path
    if not file.is_file():
        return None
    text = file.read_text()
    return function_of(text, name) if name else text.rstrip("\n")


def read_page(root, page):
    """What is wrong with a page, as text; its text with the code of the sources; and the number of blocks."""
    problems, result, num_blocks = [], [], 0
    lines = (root / page).read_text().splitlines()
    i = 0
    while i < len(lines):
        result.append(lines[i])
        fence = FENCE.match(lines[i])
        if not fence:
            i += 1
            continue
        end = next((j for j in range(i + 1, len(lines)) if lines[j] == "```"), None)
        where = f"{page}:{i + 1}"
        if end is None:
            return problems + [f"{where}: the block has no end"], None, num_blocks
        code = "\n".join(lines[i + 1:end])
        origin = ORIGIN.match(lines[i - 1]) if i > 0 else None
        if origin:
            num_blocks += 1
            source = source_of(root, *origin.groups())
            if source is None:
                problems.append(f"{where}: {lines[i - 1]} names nothing, or more than one function")
            elif source != code:
                problems.append(f"{where}: differs from {origin.group(1)}; --update brings it over")
                code = source
        elif fence.group(1) in ("cpp", "c", ""):
            problems.append(f"{where}: code without `<!-- from FILE: FUNCTION -->` is not tested")
        result += code.splitlines() + ["```"]
        i = end + 1
    return problems, "\n".join(result) + "\n", num_blocks


def check(root, update=False):
    problems, num_blocks = [], 0
    for page in sorted(path.relative_to(root).as_posix() for path in (root / "tile" / "docs").glob("*.md")):
        found, text, count = read_page(root, page)
        num_blocks += count
        if update and text is not None and text != (root / page).read_text():
            (root / page).write_text(text)
            print(f"{page} updated")
        problems += found
    if num_blocks == 0:
        problems.append("no block of code was seen")
    return problems, num_blocks


def self_test():
    source = "/// Adds.\ntemplate <class T>\nT add(T a, T b) {\n  return a + b;\n}\n\nint twice(int a) {\n  return 2 * a;\n}\n"
    origin = "<!-- from src/a.hpp: {} -->\n```cpp\n{}\n```\n"
    add = "/// Adds.\ntemplate <class T>\nT add(T a, T b) {\n  return a + b;\n}"
    cases = [  # page, is it right?
        (origin.format("add", add), True), (origin.format("twice", "int twice(int a) {\n  return 2 * a;\n}"), True),
        ("<!-- from src/b.txt -->\n```text\none\ntwo\n```\n", True),
        (origin.format("add", add) + "```sh\nls\n```\n", True),
        (origin.format("add", add.replace("+", "-")), False), (origin.format("absent", add), False),
        (origin.format("add", add) + "```cpp\nint x;\n```\n", False), (origin.format("add", add) + "```\nint x;\n```\n", False),
        ("<!-- from src/b.txt -->\n```text\none\n```\n", False), ("<!-- from src/absent.txt -->\n```text\none\n```\n", False),
        (origin.format("add", add)[:-4], False), ("no code\n", False),
    ]
    wrong = []
    for page, is_right in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in [("src/a.hpp", source), ("src/b.txt", "one\ntwo\n"), ("tile/docs/page.md", page)]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            problems, _ = check(root)
            if (not problems) != is_right:
                wrong.append(f"{page!r}: {problems or 'nothing found'}")
            if is_right and (check(root, update=True)[0] or (root / "tile/docs/page.md").read_text() != page):
                wrong.append(f"{page!r}: --update changed what was right")
    return wrong, len(cases)


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[3]
    if "--self-test" in sys.argv:
        faults, count = self_test()
    else:
        faults, count = check(here, "--update" in sys.argv)
    for fault in faults:
        print(fault)
    print(f"{count} checked, {len(faults)} problems")
    sys.exit(1 if faults else 0)
