#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a public repository says of itself holds: versions agree, forms ask for what a report needs, pages and workflows call what there is, every file has a licence.

usage: upkeep_test.py SOURCE_DIR
"""
import re
import subprocess
import sys
from pathlib import Path

import yaml


def version_problems(root):
    """The version stands in four places."""
    version = re.search(r"project\(kizami VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    header = (root / "include/kizami/kizami.h").read_text()
    found = {
        "CITATION.cff": str(yaml.safe_load((root / "CITATION.cff").read_text())["version"]),
        "kizami.h": ".".join(re.search(rf"#define KIZAMI_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")),
        "CHANGELOG.md": next(iter(re.findall(r"^## \[([\d.]+)\]", (root / "CHANGELOG.md").read_text(), re.M)), "none"),
    }
    problems = [f"{place} has version {value}, CMakeLists.txt {version}" for place, value in found.items() if value != version]
    minor = ".".join(version.split(".")[:2])
    if f"| {minor}.x | yes |" not in (root / "SECURITY.md").read_text():
        problems.append(f"SECURITY.md does not say that {minor}.x gets mends")
    return problems


def form_problems(root):
    problems = []
    for form in sorted((root / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        if form.name == "config.yml":
            continue
        body = yaml.safe_load(form.read_text())["body"]
        if len({field["id"] for field in body}) != len(body):
            problems.append(f"{form.name}: an id stands twice")
        asks = [field for field in body if "kizami info --json" in field["attributes"]["label"] and field["validations"]["required"]]
        if form.name in ("mistake.yml", "speed.yml") and not asks:
            problems.append(f"{form.name} does not ask for `kizami info --json`")
    return problems


def commands_of_kz(root):
    return set(re.findall(r"^    ([\w-]+) ?(?:\)|\|)", (root / "kz").read_text().partition("case $command in")[2], re.M))


def page_problems(root):
    """Commands of ./kz that pages name are there."""
    commands, problems, names = commands_of_kz(root), [], 0
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        for command in re.findall(r"\./kz ([\w-]+)", page.read_text()):
            names += 1
            if command not in commands:
                problems.append(f"{page.relative_to(root)}: there is no ./kz {command}")
    return problems + ([] if names > 20 else ["pages name next to no command of ./kz"])


def workflow_problems(root):
    """Commands of ./kz and presets that workflows call are there."""
    commands = commands_of_kz(root)
    presets = set(re.findall(r'"name": "([\w-]+)"', (root / "CMakePresets.json").read_text()))
    problems, calls = [], 0
    for file in sorted((root / ".github/workflows").glob("*.yml")):
        for name, job in yaml.safe_load(file.read_text())["jobs"].items():
            for step in job["steps"]:
                run = step.get("run", "")
                for command in re.findall(r"\./kz ([\w-]+)", run):
                    calls += 1
                    if command not in commands:
                        problems.append(f"{file.name}, {name}: there is no ./kz {command}")
                for preset in re.findall(r"--preset ([\w-]+)", run):
                    calls += 1
                    if preset not in presets:
                        problems.append(f"{file.name}, {name}: there is no preset {preset}")
    return problems + ([] if calls > 4 else ["the workflows call next to nothing"])


def licence_problems(root):
    if not (root / ".git").exists():
        return []  # of an archive: REUSE would read build folders, too
    done = subprocess.run([sys.executable, "-m", "reuse", "--root", str(root), "lint", "--quiet"], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"reuse lint: {done.stdout}{done.stderr}"]


def main():
    root = Path(sys.argv[1])
    problems = [*version_problems(root), *form_problems(root), *page_problems(root), *workflow_problems(root), *licence_problems(root)]
    print("\n".join([*problems, f"{len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
