#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the public headers by Doxygen. Run by Doxygen with the name of a header it is the filter that Doxygen reads headers through:
comments of C become documentation, and the house's tags (@shape, @range, ...) paragraphs that begin with their names.

usage: doxygen.py HEADER    prints the header as Doxygen is to read it
"""
import re
import subprocess
import sys
from pathlib import Path

TAGS = {"shape": "Shape", "range": "Range", "exact": "Exact", "bound": "Bound", "alias": "Overlap", "queue": "Blocking", "units": "Units",
        "status": "Status", "cite": "Source"}
TAG = re.compile(r"@(%s)((?:, @(?:%s))*)\s*" % ("|".join(TAGS), "|".join(TAGS)))
DOXYFILE = """
PROJECT_NAME = kizami
INPUT = {inputs}
FILTER_PATTERNS = *.h={filter} *.hpp={filter}
OUTPUT_DIRECTORY = {out}
STRIP_FROM_PATH = {root}/include {root}/tile/include
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
HIDE_FRIEND_COMPOUNDS = YES
SORT_MEMBER_DOCS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = KIZAMI_API= KIZAMI_HOST_DEVICE= __cplusplus
EXCLUDE_SYMBOLS = *::detail* std::* kizami::plan* kizami::schemes*
AUTOLINK_SUPPORT = NO
QUIET = YES
WARN_IF_DOC_ERROR = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
"""


def named(match):
    words = [match[1], *re.findall(r"@(\w+)", match[2])]
    text = ", ".join(TAGS[word] for word in words)
    return f"**{text[0]}{text[1:].lower() if len(words) > 1 else text[1:]}:** "


def paragraphs(line):
    """A line of a /// comment, its tags at the beginning of paragraphs."""
    indent, mark, text = re.match(r"(.*?)(///<|///)(.*)", line).groups()
    # What Doxygen would read as a command of its own, or as HTML.
    text = re.sub(r"\\(?=\w)", r"\\\\", text)
    text = re.sub(r"<(?=[\w/])", r"\\<", text)
    text = re.sub(r"#(?=\w)", r"\\#", text)
    if mark == "///<":
        return indent + mark + TAG.sub(named, text)
    return indent + mark + TAG.sub(lambda match: f"\n{indent}///\n{indent}/// {named(match)}", text)


def filtered(path):
    text = path.read_text()
    if path.suffix == ".h":
        text = re.sub(r"(?<=[,;\d]) */\* (.*?)\*/$", r" /**< \1*/", text, flags=re.M)     # behind a member: of that member
        text = re.sub(r"^(\s*)/\* (?!-|clang-format|begin |end |SPDX)", r"\1/** ", text, flags=re.M)
        return text
    out = []
    for line in text.splitlines():
        out.append(paragraphs(line) if re.search(r"(^|\s)///", line) else line)
    return "\n".join(out) + "\n"


def run(root, headers, out, doxygen="doxygen"):
    """Makes out/xml. Raises where Doxygen warns."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "Doxyfile").write_text(DOXYFILE.format(inputs=" ".join(map(str, headers)), filter=f'"{sys.executable} {__file__}"', out=out, root=root))
    done = subprocess.run([doxygen, "Doxyfile"], cwd=out, capture_output=True, text=True)
    if done.returncode or done.stderr.strip():
        raise SystemExit(f"Doxygen, by {out}/Doxyfile:\n{done.stderr}")
    return out / "xml"


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1])))
