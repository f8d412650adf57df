# SPDX-License-Identifier: MIT
"""What the tests of the drop-in libraries' exports share: symbols, needed libraries, and the table in docs/dropin.md."""
import re
import subprocess
from pathlib import Path

# Of the C library. A C++ library or a BLAS would stand before the one that the program brings.
NEEDED = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux-[\w-]+)\.so\.\d+")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_by(nm, library):
    return {line.split()[2].split("@")[0] for line in output(nm, "-D", "--defined-only", library).splitlines()}


def needed_by(readelf, library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output(readelf, "-d", library))


def foreign(needed):
    return [f"needs {name}" for name in needed if not NEEDED.fullmatch(name)]


def table_problems(document, name, table, is_written):
    """Compares the table between two marks of the document with this one, or writes it."""
    begin, end = f"<!-- {name}: written by library_test.py --write -->\n", f"<!-- end of {name} -->\n"
    text = Path(document).read_text()
    wanted = text.split(begin)[0] + begin + table + end + text.split(end)[-1]
    if is_written:
        Path(document).write_text(wanted)
    elif text != wanted:
        return [f"{document}: the table of {name} is not that of the library; write it with --write"]
    return []
