# SPDX-License-Identifier: MIT
"""Pages of reference from what the program says of itself (commands, wishes), from tables in sources (variables), and from the
Fortran module."""
import re
import subprocess


def output_of(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, env={"COLUMNS": "100", "LC_ALL": "C"}).stdout


def commands_page(program):
    top = output_of(program, "--help")
    names = re.findall(r"^  (\w+) {2,}", top.partition("Subcommands:")[2].partition("\n\n")[0], re.M)
    if "gemm" not in names:
        raise SystemExit(f"{program} --help names no command gemm")
    lines = ["# Command line", "", "What `kizami --help` and `kizami COMMAND --help` print. The wishes have a page of their own: [wishes](wishes.md).", "",
             "```text", top.rstrip(), "```", ""]
    for name in names:
        if name != "help":
            lines += [f"## kizami {name}", "", "```text", output_of(program, name, "--help").rstrip(), "```", ""]
    return "\n".join(lines)


def wishes_of(program):
    """[(word, values, default, meaning)]"""
    return re.findall(r"^  (\w+) = (.*) \[(.*)\]\n      (.*)$", output_of(program, "help", "policy"), re.M)


def in_table(text):
    return text.replace("|", "\\|")


def wishes_page(program):
    wishes = wishes_of(program)
    if not wishes:
        raise SystemExit(f"{program} help policy names no wish")
    lines = ["# Wishes", "", "What may be asked of a product. A wish has one word everywhere:", "",
             "| face | `slice_format`, for instance |", "|---|---|",
             "| command line | `--slice-format int8` |", "| C++ | `set_wish(policy, \"slice_format\", \"int8\")`, or the field of `Policy` |",
             "| C and Fortran | `kizami_policy_set(policy, \"slice_format\", \"int8\")` |", "| Python | `Policy(slice_format=\"int8\")` |",
             "| programs under the drop-in libraries | `KIZAMI_SLICE_FORMAT=int8`, or `slice_format=int8` in a rule |", ""]
    for word, values, default, meaning in wishes:
        lines += [f"## {word}", "", meaning[0].upper() + meaning[1:] + ".", "", f"- values: {values.replace('*', chr(92) + '*')}", f"- default: `{default}`", ""]
    return "\n".join(lines)


def settings_of(root):
    """The settings of the drop-in libraries that are no wishes, and all variables that are none: by the tables of the sources."""
    own = re.findall(r'^    \{"(\w+)", \[\]\(Settings&', (root / "dropin/policy/settings.cpp").read_text(), re.M)
    alone = re.findall(r'^    \{"(KIZAMI_\w+)",', (root / "src/wishes/variables.cpp").read_text(), re.M)
    return own, sorted(alone)


def described_rows(text):
    """{variable: [(values, default, meaning)]} of the tables of docs/dropin.md."""
    return {name: [cell.strip() for cell in rest.strip().strip("|").split(" | ")]
            for name, rest in re.findall(r"^\| `(KIZAMI_\w+)` \| (.*)$", text, re.M)}


def variables_page(root, program):
    own, alone = settings_of(root)
    wishes = {f"KIZAMI_{word.upper()}": (values, default, meaning) for word, values, default, meaning in wishes_of(program) if word != "sync"}
    names = sorted(set(wishes) | {f"KIZAMI_{word.upper()}" for word in own} | set(alone))
    rows = described_rows((root / "docs/dropin.md").read_text())
    unsaid = [name for name in names if name not in wishes and name not in rows]
    if unsaid:
        raise SystemExit(f"docs/dropin.md has no row for {', '.join(unsaid)}")
    lines = ["# Environment variables", "",
             "Read by the libraries that stand before a BLAS or cuBLAS ([unchanged programs](../docs/dropin.md)), once, when they are loaded. The library itself and",
             "its other faces read none. All but the last group may also stand in a rule, in lower case and without `KIZAMI_`.", ""]
    groups = [("Settings of a call", [n for n in names if n not in wishes and n not in alone or n == "KIZAMI_LOG"]),
              ("Of the process", [n for n in alone if n != "KIZAMI_LOG"])]
    lines += ["## Wishes", "", "| variable | values | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {in_table(values)} | {in_table(meaning)} |" for name, (values, _, meaning) in wishes.items()]
    lines += ["", "`KIZAMI_ACCURACY` does not take `correct` here, and no promise of bits is made unless `KIZAMI_REPRODUCIBILITY=engine` or a scheme is asked for.", ""]
    for title, group in groups:
        lines += [f"## {title}", "", "| variable | values | default | meaning |", "|---|---|---|---|"]
        for name in group:
            cells = rows[name]
            cells = [cells[0], "", cells[-1]] if len(cells) < 3 else cells[:2] + [" | ".join(cells[2:])]
            lines.append(f"| `{name}` | " + " | ".join(re.sub(r"\]\((?!https?:)", "](../docs/", re.sub(r"\]\(#", "](dropin.md#", cell)) for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def fortran_page(module):
    """Every procedure of the module, as it is declared there; kizami.h says what its arguments mean."""
    text = module.read_text()
    header = re.findall(r"^! ?(.*)$", text.partition("\nmodule ")[0], re.M)[1:]
    lines = ["# Fortran: module kizami", "", "```fortran\nuse kizami\n```", "", *[re.sub(r"^ - ", "- ", line) if not line.startswith("   ") else line[1:] for line in header], "",
             "How to compile and link it: [compiled languages](../docs/howto/compiled_languages.md). What the arguments mean: [kizami.h](c.md).", ""]
    for index, line in enumerate(lines):
        if line.startswith("- ") and not lines[index - 1].startswith((" ", "- ", "\n")) and lines[index - 1]:
            lines[index] = "\n" + line
    types = re.findall(r"^  (type, bind\(C\), public :: (\w+)\n.*?end type \w+)$", text, re.M | re.S)
    lines += ["## Types", ""]
    for code, name in types:
        lines += [f"### {name}", "", "```fortran", *[row[2:] if row.startswith("  ") else row for row in code.splitlines()], "```", ""]
    for comment, name, body in re.findall(r"^((?:  !.*\n)+)  interface (\w+)\n(.*?)^  end interface \w+$", text, re.M | re.S):
        lines += [f"## {name.replace('_', chr(92) + '_')}", "", " ".join(row.strip().lstrip("! ") for row in comment.splitlines()).replace("|", chr(92) + "|"), ""]
        for procedure in re.search(r"module procedure (.*)", body)[1].split(", "):
            code = re.search(rf"^  subroutine {procedure}\(.*?\n(?=\n)", text, re.M | re.S)[0]
            lines += ["```fortran", *[row[2:] for row in code.rstrip().splitlines()], "```", ""]
    lines += ["## Functions of kizami.h", ""]
    for kind, name, body in re.findall(r'^    (function|subroutine) (\w+)(\(.*?)^    end \1 \2$', text, re.M | re.S):
        if "bind(C" in body:
            lines += [f"### {name.replace('_', chr(92) + '_')}", "", "```fortran",
                      *[row[4:] for row in f"    {kind} {name}{body}    end {kind} {name}".splitlines() if "import ::" not in row], "```", ""]
    lines += ["## Constants", "", "```fortran", *re.findall(r"^  (integer\(c_int\), parameter.*)$", text, re.M), "```", ""]
    return "\n".join(lines)
