# SPDX-License-Identifier: MIT
"""Runs a program with a library preloaded, and reads the summary that it leaves."""
import os
import re
import subprocess
import tempfile
from pathlib import Path


class Done:
    """What a program printed, and the lines of its summaries."""

    def __init__(self, process, summary):
        self.status, self.out, self.errors, self.summary = process.returncode, process.stdout, process.stderr, summary

    def calls(self, kind):
        """The calls "emulated" or "native", of all processes."""
        return sum(int(n) for n in re.findall(rf"(\d+) calls? {kind}", self.summary))

    def ratios(self):
        """Error / bound of all samples."""
        return [float(x) for x in re.findall(r"sample error / bound (\S+?),", self.summary)]


def run(command, preload="", libraries="", stdin=None, **variables):
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KIZAMI_", "LD_"))}
        environment["KIZAMI_SUMMARY"] = f"{folder}/summary"
        environment.update(variables)
        if preload:
            environment["LD_PRELOAD"] = preload
        if libraries:
            environment["LD_LIBRARY_PATH"] = libraries
        done = subprocess.run(command, env=environment, cwd=folder, stdin=stdin, capture_output=True, text=True,
                              timeout=500)
        summary = Path(folder, "summary")
        done = Done(done, summary.read_text() if summary.exists() else "")
        done.files = {path.name: path.read_text() for path in Path(folder).iterdir() if path.name != "summary"}
        return done
