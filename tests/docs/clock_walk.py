#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Walks through pages of the documentation as a reader does, and clocks it: files that blocks name are written, and the commands of sh and console blocks run
in order, in one shell, in the current folder, until one fails. A line of JSON for each command, and one for the whole.

usage: clock_walk.py [--machine WORDS] [--commit TEXT] [--json FILE] PAGE...    in a source tree that nothing was built in; PAGE with #ANCHOR: that section alone
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tutorials_test import BLOCK, NAMED, steps_of


def section_of(text, anchor):
    """The text below the heading of an anchor, to the next heading of its level."""
    if not anchor:
        return text
    parts = re.split(r"^(#+ .*)$", text, flags=re.M)
    for title, body in zip(parts[1::2], parts[2::2]):
        if re.sub(r"[^\w-]", "", title.lstrip("# ").lower().replace(" ", "-")) == anchor:
            return body
    sys.exit(f"there is no section #{anchor}")


def steps_of_page(page):
    """[("file", name, text) or ("command", text)] in the order of the page."""
    name, _, anchor = page.partition("#")
    steps = []
    for language, block in BLOCK.findall(section_of(Path(name).read_text(), anchor)):
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


def main():
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
