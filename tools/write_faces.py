#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what other languages call the enumerators of include/kizami: the constants of kizami.h and kizami.f90, between their
marks. Numbers, names and comments are those of the C++ enums and of the list of names beside each (names.hpp). With a built
command line also the manual page: its commands with their options, exit codes, wishes and variables are those of `kizami help`.

usage: write_faces.py [--check] [--wishes PROGRAM] [SOURCE_DIR]
       --check: writes nothing, fails where a face is not what it should be
"""
import argparse
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HEADERS = ["status.hpp", "types.hpp", "policy.hpp"]
# In the order of kizami.h. C++ enum: type in C, prefix of its constants, and whether these are the names of to_string() or, where
# that says letters, the words of the enumerators.
ENUMS = {
    "StatusCode": ("kizami_status", "", "names"),
    "Scalar": ("kizami_scalar", "", "names"),
    "Op": ("kizami_op", "", "words"),
    "Layout": ("kizami_layout", "", "words"),
    "Side": ("kizami_side", "SIDE_", "names"),
    "Gauge": ("kizami_gauge", "GAUGE_", "names"),
    "Accuracy::Kind": ("kizami_accuracy", "ACCURACY_", "names"),
    "Scheme": ("kizami_scheme", "SCHEME_", "names"),
    "EngineName": ("kizami_engine", "ENGINE_", "names"),
    "EcVariant": ("kizami_variant", "VARIANT_", "names"),
    "SliceFormat": ("kizami_slice_format", "SLICE_FORMAT_", "names"),
    "SliceSplit": ("kizami_slice_split", "SLICE_SPLIT_", "names"),
    "SliceSums": ("kizami_slice_sums", "SLICE_SUMS_", "names"),
    "ComplexForm": ("kizami_complex_form", "COMPLEX_FORM_", "names"),
    "Reproducibility": ("kizami_reproducibility", "REPRODUCIBILITY_", "names"),
}
ABSENT = {"TensorCoreModel"}          # no function of C takes its numbers; kizami_policy_set() takes its names
ABSENT_ENUMERATORS = {"Scalar::kDD"}  # double-double: C++ only
WIDTH = 120


def enums_of(code):
    """{enum: (comment, [(enumerator, comment)])}; a nested enum as Outer::Name."""
    found = {}
    for match in re.finditer(r"((?:^ *///[^\n]*\n)*)^( *)enum class (\w+)[^{;]*\{(.*?)\};", code, re.M | re.S):
        above, indent, name, body = match.groups()
        if indent:
            outer = re.findall(r"^struct (\w+) \{", code[:match.start()], re.M)[-1]
            name = f"{outer}::{name}"
        if re.search(r"\bk[A-Z]\w*\s*,[^/\n]*\bk[A-Z]", body):  # one line, no comments
            members = [(word, "") for word in re.findall(r"\bk\w+", body)]
        else:
            members = re.findall(r"^\s*(k\w+)(?: = 0)?,[ \t]*(?:///< ([^\n]*))?$", body, re.M)
        found[name] = (" ".join(re.findall(r"///\s*(.*)", above)), members)
    return found


def names_of(code):
    """{enum: [names]}"""
    lists = re.findall(r"struct Names<([\w:]+)> \{\s*static constexpr std::string_view kAll\[\] = \{(.*?)\};", code, re.S)
    return {enum: re.findall(r'"(\w+)"', text) for enum, text in lists}


def words(enumerator):
    """kConjTranspose: CONJ_TRANSPOSE."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enumerator[1:]).upper()


def spoken_of(enum, members, names):
    """What a comment in C calls the enumerators."""
    _, prefix, kind = ENUMS[enum]
    return {member: name if kind == "names" else "KIZAMI_" + prefix + words(member) for (member, _), name in zip(members, names)}


def said(comment, spoken):
    return re.sub(r"\bk[A-Z]\w*", lambda found: spoken.get(found[0], found[0]), comment)


def constants_of(enum, members, names):
    """[(constant, number, comment)]"""
    _, prefix, kind = ENUMS[enum]
    spoken = spoken_of(enum, members, names)
    out = []
    for number, (member, comment) in enumerate(members):
        if f"{enum}::{member}" in ABSENT_ENUMERATORS:
            continue
        constant = "KIZAMI_" + prefix + (names[number].upper() if kind == "names" else words(member))
        out.append((constant, number, said(comment, spoken)))
    return out


def in_c(enum, comment, constants):
    kind = ENUMS[enum][0]
    lines = ["/* " + "\n * ".join(textwrap.wrap(comment, WIDTH - 6)) + " */"] if comment else []
    lines += [f"typedef int {kind};", "enum {"]
    entries = [f"  {name} = {number}" + ("," if i + 1 < len(constants) else "") for i, (name, number, _) in enumerate(constants)]
    width = max(map(len, entries))
    for entry, (_, _, remark) in zip(entries, constants):
        lines.append(f"{entry:{width}} /* {remark} */" if remark else entry)
    return "\n".join(lines + ["};"])


def in_fortran(constants):
    return "\n".join(f"  integer(c_int), parameter, public :: {name} = {number}" for name, number, _ in constants)


def replaced(text, mark, block):
    """`text` with `block` between the lines that hold "begin MARK" and "end MARK"."""
    pattern = re.compile(rf"(^[^\n]*begin {mark}[^\n]*\n)(.*?)(^[^\n]*end {mark}[^\n]*$)", re.M | re.S)
    out, count = pattern.subn(lambda found: found[1] + block + "\n" + found[3], text)
    if count != 1:
        raise SystemExit(f"{count} places for {mark}, must be one")
    return out


def problems_of(enums, names):
    found = [f"{enum} is not known to write_faces.py" for enum in enums.keys() - ENUMS.keys() - ABSENT]
    found += [f"{enum} was not read" for enum in ENUMS.keys() - enums.keys()]
    for enum, (_, members) in enums.items():
        if len(names.get(enum, [])) != len(members):
            found.append(f"{enum} has {len(members)} enumerators and {len(names.get(enum, []))} names")
    return found


def faces(root):
    """{file: text as it should be}"""
    folder = root / "include/kizami"
    code = "".join((folder / name).read_text() for name in HEADERS)
    enums, names = enums_of(code), names_of(code)
    problems = problems_of(enums, names)
    if problems:
        raise SystemExit("\n".join(problems))
    constants = {enum: constants_of(enum, enums[enum][1], names[enum]) for enum in ENUMS}
    c = "\n\n".join(in_c(enum, said(enums[enum][0], spoken_of(enum, enums[enum][1], names[enum])), constants[enum])
                    for enum in ENUMS)
    fortran = "\n".join(in_fortran(constants[enum]) for enum in ENUMS)
    return {path: replaced(path.read_text(), "constants", block)
            for path, block in [(folder / "kizami.h", c), (folder / "kizami.f90", fortran)]}


def wishes_of(program):
    """[(word, values, default, meaning)] of `kizami help policy`."""
    text = help_of(program, "policy")
    return re.findall(r"^  (\w+) = (.*) \[(.*)\]\n      (.*)$", text, re.M)


def help_of(program, *topic):
    return subprocess.run([program, *(["help", *topic] if topic else ["--help"])], check=True, capture_output=True, text=True).stdout


HELP_COLUMN = 34  # where the help has what an option does


def entries_of(text, section):
    """[(option with its value, what it does)] of a section of a help."""
    found = re.search(rf"^{section}:\n((?:  .*\n)*)", text, re.M)
    out = []
    for line in found[1].splitlines() if found else []:
        is_new = line[2] != " "
        if is_new:
            out.append([line.rstrip(), ""])
        else:
            out[-1][1] = line.strip()
    return [(name.strip(), meaning) if meaning else (name[:HELP_COLUMN].strip(), name[HELP_COLUMN:]) for name, meaning in out]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def paragraph(text):
    return [escaped(line) for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def commands_in_man(program):
    lines = []
    for name, meaning in entries_of(help_of(program), "Subcommands"):
        text = help_of(program, name)
        usage = re.search(r"^Usage: (.*)$", text, re.M)[1]
        lines += [f'.SS "{escaped(usage)}"', *paragraph(meaning)]
        for entry, does in entries_of(text, "Positionals") + entries_of(text, "Options"):
            if not entry.startswith("-h,"):
                lines += [".TP", f"\\fB{escaped(entry.replace('{N}', ' [N]'))}\\fR", *paragraph(does)]
        if "\nPolicy:\n" in text:
            lines += [".PP", "and the wishes below"]
    return "\n".join(lines)


def exit_codes_in_man(program):
    codes = re.search(r"^Exit codes:\n((?:  .*\n)*)", help_of(program), re.M)[1]
    lines = []
    for code, meaning in re.findall(r"^  (\d+(?: \+ S)?) +(.*)$", codes, re.M):
        lines += [".TP", f"\\fB{code}\\fR", *paragraph(meaning)]
    return "\n".join(lines)


def in_man(wishes):
    lines = []
    for key, values, default, meaning in wishes:
        option = "--" + key.replace("_", "-")
        for line in [".TP", f"\\fB{option}\\fR = {values} [{default}]", *textwrap.wrap(meaning, WIDTH)]:
            lines.append(line if line == ".TP" else line.replace("-", "\\-"))
    return "\n".join(lines)


def variables_of(program):
    """[(name, values, default, meaning)] of `kizami help variables`."""
    text = help_of(program, "variables")
    return re.findall(r"^  (KIZAMI_\w+) = (.*) \[(.*)\]\n      (.*)$", text, re.M)


def variables_in_man(variables):
    lines = []
    for name, values, default, meaning in variables:
        for line in [".TP", f"\\fB{name}\\fR = {values} [{default}]", *textwrap.wrap(meaning, WIDTH)]:
            lines.append(line if line == ".TP" else line.replace("-", "\\-"))
    return "\n".join(lines)


def manual(root, program):
    """{file: text as it should be}"""
    wishes, variables = wishes_of(program), variables_of(program)
    if not wishes or not variables:
        raise SystemExit(f"{program} help policy names {len(wishes)} wishes, help variables {len(variables)} variables")
    page = (root / "docs/dropin.md").read_text()
    missing = [name for name, *_ in variables if f"`{name}`" not in page]
    if missing:
        raise SystemExit(f"docs/dropin.md does not name {', '.join(missing)}")
    path = root / "docs/kizami.1"
    text = replaced(path.read_text(), "commands", commands_in_man(program))
    text = replaced(text, "exit codes", exit_codes_in_man(program))
    text = replaced(text, "wishes", in_man(wishes))
    return {path: replaced(text, "variables", variables_in_man(variables))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail where a face is not what it should be")
    parser.add_argument("--wishes", metavar="PROGRAM", help="the command line, for the manual page")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    texts = faces(options.root) | (manual(options.root, options.wishes) if options.wishes else {})
    stale = [path for path, text in texts.items() if path.read_text() != text]
    if options.check:
        for path in stale:
            print(f"{path.relative_to(options.root)} is not what tools/write_faces.py writes")
        return 1 if stale else 0
    for path in stale:
        path.write_text(texts[path])
    print(f"{len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
