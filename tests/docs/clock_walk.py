#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Walks through pages of the documentation as a reader does, and clocks it: files that blocks name are written, and the commands of sh and console blocks run
in order, in one shell, in the current folder, until one fails. A line of JSON for each command, and one for the whole.

usage: clock_walk.py [--machine WORDS] [--commit TEXT] [--json FILE] PAGE...    in a source tree that nothing was built in
       PAGE with #ANCHOR or #ANCHOR,ANCHOR: these sections alone, in that order
       clock_walk.py --self-test    walk through a page of its own
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tutorials_test import BLOCK, NAMED, steps_of


def sections_of(text, anchors):
    """The text below the headings of some anchors, each to the next heading; lines of code are none."""
    if not anchors:
        return text
    sections, name, is_code = {}, "", False
    for line in text.splitlines(keepends=True):
        is_code ^= line.startswith("```")
        if not is_code and re.match(r"#+ ", line):
            name = re.sub(r"[^\w-]", "", line.lstrip("# ").strip().lower().replace(" ", "-"))
        sections[name] = sections.get(name, "") + line
    absent = [anchor for anchor in anchors.split(",") if anchor not in sections]
    if absent:
        sys.exit(f"there is no section #{absent[0]}")
    return "".join(sections[anchor] for anchor in anchors.split(","))


def steps_of_page(page):
    """[("file", name, text) or ("command", text)] in the order of the page."""
    name, _, anchors = page.partition("#")
    steps = []
    for language, block in BLOCK.findall(sections_of(Path(name).read_text(), anchors)):
        named = NAMED.match(block)
        if named and language not in ("console", "sh"):
            steps.append(("file", named[1], block))
        elif language == "console":
            steps += [("command", command) for command, _ in steps_of(block)]
        elif language == "sh":
            lines = re.sub(r"\\\n\s*", "", block).splitlines()
            steps += [("command", line.strip()) for line in lines if line.strip()]
    return steps


class Shell:
    """One bash for all commands, so that what one exports the next one has."""

    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        """Status and seconds; what is printed goes to stderr. A command that reads would take the next one."""
        start = time.monotonic()
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nstatus=$?; echo; echo \"status-of-the-step $status\"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            ended = re.match(r"status-of-the-step (\d+)$", line)
            if ended:
                return int(ended[1]), time.monotonic() - start
            sys.stderr.write(line)
        return 1, time.monotonic() - start


SELF_TEST = """# A page
## Left out
```sh
false
```
## Left out, too
```sh
false
```
## Walked first
```sh
export X=4  # what one exports
cat  # reads nothing, not the next command
```
## Walked then
```
# note.txt
```
```console
$ grep -q note note.txt && test $X = 4 && sleep 0.3
$ (exit 3)
$ echo never
```
"""


def self_test():
    """Commands in one shell, files before them, an end at the first failure; seconds that pass."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.md").write_text(SELF_TEST)
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "page.md#walked-first,walked-then"], cwd=folder, capture_output=True, text=True, timeout=60)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    statuses = [record["status"] for record in records]
    if done.returncode == 0 or statuses != [0, 0, 0, 3, 3] or not records[-1]["seconds"] >= records[2]["seconds"] >= 0.3:
        sys.exit(f"clock_walk.py does not see what its page does: {done.stdout}{done.stderr}")
    print("the page was walked through")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page", nargs="+")
    parser.add_argument("--machine", default="", help="what the record says of the machine, beside processors and load")
    parser.add_argument("--commit", default="unknown", help="what the record calls the tree")
    parser.add_argument("--json", help="append the lines to this file, too")
    options = parser.parse_args()
    facts = {"date": datetime.date.today().isoformat(), "machine": options.machine, "commit": options.commit, "processors": len(os.sched_getaffinity(0))}
    status = 0
    for page in options.page:
        shell, total = Shell(), 0.0
        records = []
        for kind, *what in steps_of_page(page):
            if kind == "file":
                Path(what[0]).write_text(what[1])
                continue
            load = os.getloadavg()[0]
            status, seconds = shell.run(what[0])
            total += seconds
            records.append({"page": page, "command": what[0], "seconds": round(seconds, 1), "status": status, "load_before": round(load, 2), **facts})
            if status:
                break
        records.append({"page": page, "command": "all", "seconds": round(total, 1), "status": status, **facts})
        text = "".join(json.dumps(record) + "\n" for record in records)
        sys.stdout.write(text)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as out:
                out.write(text)
        if status:
            break
    return status


if __name__ == "__main__":
    sys.exit(main())
