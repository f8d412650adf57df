#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what the text points to exists: citation keys in docs/references.bib, relative links and paths in Markdown files, and kernels.

A citation is `@cite Key, place`, `@cite [Key, place]; [Key, place]`, or `[Key2020, place]` in any comment.

A path is `src/...`, in backticks, of any folder at the root; records and changelogs of what was are left out (ADRs, CHANGELOG.md).

docs/device_concurrency.md names every `__global__` kernel of src/, and every file of `__tile_global__` kernels; and the first cells of its
tables between "What kernels of one call share" and "How it is tested" name no other.

usage: check_docs.py [ROOT]         check the tree at ROOT (default: this file's repository)
       check_docs.py --self-test    check that violations are seen
"""
import re
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".py"}
SOURCE_FOLDERS = ["include", "src", "tile", "dropin", "apps", "python", "lab", "examples", "demo", "tests"]
DOCUMENT_FOLDERS = ["docs", "tile", "examples", "demo", "lab", "tests", "python", "dropin"]
BIB_ENTRY = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)
CITE = re.compile(r"@cite\s+(.*)")
KEY = r"[A-Z][A-Za-z]*\d{4}[a-z]?"
BRACKETED = re.compile(rf"\[({KEY})[,\];]")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
KERNEL_PAGE = "docs/device_concurrency.md"
KERNEL = re.compile(r"\b__global__\s+void\s+(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\(")
FENCE = re.compile(r"^\s*(```|~~~)")


def cited_keys(text):
    """The keys that the text after `@cite` names; the first piece is always one, later ones when they look like one."""
    text = text.split(" @")[0]
    pieces = [piece.strip() for piece in text.split(";")]
    keys = []
    for i, piece in enumerate(pieces):
        word = re.match(r"\[?([A-Za-z][\w+-]*)", piece)
        if word and (i == 0 or piece.startswith("[") or re.fullmatch(KEY, word.group(1))):
            keys.append(word.group(1))
    return keys


def slug(heading):
    """The anchor that a Markdown heading gets."""
    heading = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def without_code(text):
    """The lines of a Markdown text, with fenced blocks and inline code made empty."""
    lines, fenced = [], False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
            lines.append("")
        else:
            lines.append("" if fenced else re.sub(r"`[^`]*`", "", line))
    return lines


def check_citations(root):
    problems, num_citations = [], 0
    bib = root / "docs" / "references.bib"
    keys = BIB_ENTRY.findall(bib.read_text()) if bib.is_file() else []
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        problems.append(f"docs/references.bib: {key} is there twice")
    files = [f for folder in SOURCE_FOLDERS for f in sorted((root / folder).rglob("*")) if f.suffix in SOURCE_SUFFIXES]
    files += [f for folder in ["docs", "tile"] for f in sorted((root / folder).rglob("*.md"))]
    for file in files:
        lines = file.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            found = set(BRACKETED.findall(line))
            for text in CITE.findall(line) if file.suffix != ".py" else []:
                named = cited_keys(text)
                found.update(named)
                if not named:
                    problems.append(f"{file.relative_to(root)}:{number}: @cite without a key")
            num_citations += len(found)
            for key in sorted(found - set(keys)):
                problems.append(f"{file.relative_to(root)}:{number}: [{key}] is not in docs/references.bib")
    return problems, num_citations


def check_links(root):
    problems, num_links = [], 0
    files = sorted(root.glob("*.md")) + [f for d in DOCUMENT_FOLDERS for f in sorted((root / d).rglob("*.md"))]
    for file in files:
        for number, line in enumerate(without_code(file.read_text()), 1):
            for link in LINK.findall(line):
                if re.match(r"[a-z][a-z0-9+.-]*:", link):
                    continue
                num_links += 1
                path, _, anchor = unquote(link).partition("#")
                target = (file.parent / path) if path else file
                where = f"{file.relative_to(root)}:{number}"
                if path.startswith("/") or not target.resolve().is_relative_to(root):
                    problems.append(f"{where}: {link} leaves the repository")
                elif not target.exists():
                    problems.append(f"{where}: {link} does not exist")
                elif anchor and target.suffix == ".md":
                    headings = [slug(h.lstrip("#")) for h in without_headings_in_code(target)]
                    if anchor not in headings:
                        problems.append(f"{where}: {link}: no such heading")
    return problems, num_links


def check_paths(root):
    """Paths in backticks. One with a * or {a,b} stands for several, and is not looked for."""
    problems, num_paths = [], 0
    folders = [d.name for d in root.iterdir() if d.is_dir() and not d.name.startswith(".") and d.name != "build"]
    path = re.compile(rf"`((?:{'|'.join(map(re.escape, folders))})/[\w./-]+)`") if folders else re.compile("(?!)()")
    files = sorted(root.glob("*.md")) + [f for d in DOCUMENT_FOLDERS for f in sorted((root / d).rglob("*.md"))]
    for file in files:
        if file.name == "CHANGELOG.md" or file.parent.name == "adr":
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for named in path.findall(line):
                num_paths += 1
                if not (root / named.rstrip("/")).exists():
                    problems.append(f"{file.relative_to(root)}:{number}: there is no {named}")
    return problems, num_paths


def without_headings_in_code(file):
    """The heading lines of a Markdown file, those of fenced blocks left out."""
    headings, fenced = [], False
    for line in file.read_text().splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and re.match(r"#{1,6}\s", line):
            headings.append(line)
    return headings


def kernels_of(root):
    """Names of kernels by their files, and files of tile kernels, whose names macros make; and a problem for each that cannot be read."""
    names, problems = {}, []
    for file in sorted((root / "src").rglob("*.cu*")):
        text, path = re.sub(r"//.*", "", file.read_text()), str(file.relative_to(root))
        found = KERNEL.findall(text)
        if len(found) != len(re.findall(r"\b__global__\b", text)):
            problems.append(f"{path}: a __global__ function whose name check_docs.py cannot read")
        names.update({name: path for name in found})
        if re.search(r"\b__tile_global__\b", text):
            names[path] = path
    return names, problems


def check_kernels(root):
    names, problems = kernels_of(root)
    page = root / KERNEL_PAGE
    if not names and not page.is_file():
        return problems, 0
    text = page.read_text() if page.is_file() else ""
    spans = set(re.findall(r"`([^`\n]+)`", text))
    problems += [f"{path}: kernel {name} is not in {KERNEL_PAGE}" for name, path in sorted(names.items()) if name not in spans]
    tables = text.partition("## What kernels of one call share")[2].partition("## How it is tested")[0]
    for row in re.findall(r"^\|([^|]*)\|", tables, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", row):
            if re.fullmatch(r"[a-z0-9_]+|src/.*", name) and name not in names:
                problems.append(f"{KERNEL_PAGE}: there is no kernel {name}")
    return problems, len(names)


def check(root):
    root = Path(root).resolve()
    citation_problems, num_citations = check_citations(root)
    link_problems, num_links = check_links(root)
    path_problems, num_paths = check_paths(root)
    kernel_problems, num_kernels = check_kernels(root)
    return (citation_problems + link_problems + path_problems + kernel_problems,
            f"{num_citations} citations, {num_links} relative links, {num_paths} paths, {num_kernels} kernels or files of them")


KERNEL_CASES = [  # a source, the page's tables, is it legal?
    ("template <class T>\n__global__ void one(T* x) {}", "| `one` | x |", True),
    ("__global__ void __launch_bounds__(kThreads, 4 - f(2))\n    one(int x) {}", "| `one`, epilogue `kTwo` | `any_word` |", True),
    ("__global__ void one(int x) {}", "| `two` | x |", False), ("__global__ void one(int x) {}", "none", False),
    ("__global__ void one(int x) {}", "| `one_more` | x |", False), ("__global__ void one(int x) {}", "| `one`, `two` | x |", False),
    ("__global__ void DECORATED one(int x) {}", "| `one` | x |", False), ("// of a __global__ function\n", "", True),
    ('extern "C" __tile_global__ void name(int x) {}', "| `src/x.cu` | x |", True),
    ('extern "C" __tile_global__ void name(int x) {}', "| `name` | x |", False), ("int x;", "| `src/y.cu` | x |", False),
]


def self_test():
    bib = "@book{Good2002,\n  year = {2002}\n}\n@misc{GradingKey,\n}\n"
    cases = [  # file, content, is it legal?
        ("src/x.hpp", "/// @cite Good2002, section 3 (see; there)", True), ("src/x.hpp", "/// @cite [Good2002]; GradingKey", True),
        ("src/x.hpp", "/// @cite GradingKey (test 4; more)   @alias none", True), ("src/x.hpp", "int a[N20];", True),
        ("README.md", "[a](docs/references.bib) [b](https://x.invalid/) ![c](#a-title)\n\n# A `title`", True),
        ("docs/x.md", "```\n[a](absent.md)\n```\n`[b](absent.md)`", True), ("docs/x.md", "[a](../docs/x.md)", True),
        ("src/x.hpp", "/// @cite Bad2002", False), ("src/x.hpp", "/// @cite Good2002; Bad2002, eq. (1)", False),
        ("src/x.hpp", "/// @cite [Good2002]; [BadKey, 2]", False), ("src/x.hpp", "// by [Bad2002, sec. 3]", False),
        ("src/x.hpp", "/// @cite ", False), ("README.md", "[a](absent.md)", False), ("README.md", "[a](#absent)", False),
        ("docs/x.md", "`docs/x.md` `docs/references.bib` `docs/*.md` `absent/x` `x.md`", True), ("docs/x.md", "`docs/absent.md`", False),
        ("docs/adr/x.md", "`docs/absent.md`", True), ("README.md", "[a](../outside.md)", False), ("docs/x.md", "see ![a](absent.png)", False),
    ]
    wrong = []
    for file, content, legal in cases:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for path, text in [("docs/references.bib", bib), (file, content + "\n")]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            problems, _ = check(root)
            if bool(problems) == legal:
                wrong.append(f"{file} with {content!r}: expected {'no problem' if legal else 'a problem'}, got {problems}")
    for source, table, legal in KERNEL_CASES:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "src").mkdir()
            (root / "docs").mkdir()
            (root / "src" / "x.cu").write_text(source)
            (root / KERNEL_PAGE).write_text(f"## What kernels of one call share\n{table}\n## How it is tested\n")
            problems, _ = check_kernels(root)
            if bool(problems) == legal:
                wrong.append(f"{source!r} with {table!r}: expected {'no problem' if legal else 'a problem'}, got {problems}")
    print("\n".join(wrong + [f"self-test: {len(cases) + len(KERNEL_CASES)} cases, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    problems, summary = check(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    print("\n".join(problems + [f"{summary}, {len(problems)} broken"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
